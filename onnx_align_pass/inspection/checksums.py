"""The `checksum` of external data entries: SHA1 of the whole data file, by the specification.

https://onnx.ai/onnx/repo-docs/ExternalData.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.transfer.hashing import sha1_of_file

__all__ = ["checksum_findings", "checksums_in"]

_PART_BYTES = 1 << 20


def checksums_in(inventory: Inventory) -> Mapping[str, Sequence[Entry]]:
    """Find the tensors that give a checksum, by the name of their data file."""
    found: dict[str, list[Entry]] = {}
    for entry in inventory.entries:
        if entry.home is not None and entry.fault is None and _checksum(entry) is not None:
            found.setdefault(entry.home, []).append(entry)
    return found


def checksum_findings(
    inventory: Inventory,
    claimed: Mapping[str, Sequence[Entry]],
    advance: Callable[[int, str], None],
) -> Iterator[Finding]:
    """List the checksums that their files do not have; each file is read once.

    Args:
        inventory: The model.
        claimed: What `checksums_in` found in it.
        advance: Told of bytes that were read, and the tensor that gives the checksum.

    Raises:
        ModelError: A file cannot be read.
        OSError: `filename` is the file where reading it failed.
    """
    buffer = memoryview(bytearray(_PART_BYTES))
    for home, entries in claimed.items():
        path, tensor = inventory.skeleton.data_path(home), entries[0].slot.name
        found = sha1_of_file(path, tensor, inventory.files, buffer, advance)
        wrong: dict[str, Entry] = {}
        for entry in entries:
            wanted = f"{_checksum(entry)}".strip().lower()
            if wanted != found:
                wrong.setdefault(wanted, entry)
        for wanted, entry in wrong.items():
            yield _mismatch(inventory, home, wanted, found, entry)


def _checksum(entry: Entry) -> str | None:
    if not entry.notes:
        return None  # location, offset and length, as nearly always
    pairs = {one.key: one.value for one in entry.tensor.external_data}
    text = pairs.get("checksum")
    return None if text is None else f"{text}"


def _mismatch(inventory: Inventory, home: str, wanted: str, found: str, entry: Entry) -> Finding:
    error = VerifyError(
        "the data file does not have the checksum that the model gives",
        tensor=entry.slot.name,
        file=inventory.skeleton.data_path(home),
        needed=f"SHA1 {wanted}",
        found=found,
        hint="Was the file changed, or only written anew? `onnx-align align` drops the checksum.",
        code="checksum-mismatch",
    )
    return Finding.of("error", error)

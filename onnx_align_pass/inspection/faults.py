"""What is wrong with a model by itself, without a look at its weights.

Errors. One finding a tensor:

- `bad-shape`: a dimension is negative, or the shape multiplies to more than a file can hold
- `wrong-size`: the bytes are not as many as element type and shape need
- `bad-numbers`: protobuf or the element type cannot make anything of them
- `bytes-twice`: the bytes are given twice, or in a data file and inline
- `stray-bytes`: an empty tensor, or one of strings, has bytes
- `unsized-type`: strings, or an unknown element type, in a data file
- `segment`: a part of a larger tensor, which no reader supports
- `bad-location`, `unsafe-location`: the location is no name, or leads out of the model's folder
- `bad-range`: offset and length are no numbers that a file can have

One finding a data file, however many tensors it has:

- `data-file-missing`, `data-file-unreadable`, `data-file-irregular` (a pipe, a folder ...)
- `data-file-outside` (a link out of the model's folder), `data-file-foreign-links`
- `data-file-too-short`: tensors end behind its end
- `overlap`: two tensors share bytes, and not just one range

One finding a graph: `no-name`, of initializers; and `duplicate-name`, one a name.

Warnings: `checksum-unverified`, one a data file: it has a checksum, and nobody looked whether it is
right.

Numbers in typed fields (`int32_data` ...) are not decoded: whether they are as many as the shape
needs is known when they are read, or where the inventory is a thorough one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Final

import onnx

from onnx_align_pass.errors import ExternalDataError, TensorError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.found import Found, found, found_together
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.inspection.ranges import overlaps
from onnx_align_pass.model.sources import STALE_CHECKSUM

__all__ = ["CHECKSUM_UNVERIFIED", "faults_of", "find_faults"]

CHECKSUM_UNVERIFIED: Final = "checksum-unverified"

_OF_FILES: Final = "data-file-"
_INITIALIZER: Final = ".initializer["


def faults_of(inventory: Inventory) -> Iterator[Finding]:
    """List what is wrong with a model; the codes are those of this module's docstring."""
    return (one.finding for one in find_faults(inventory))


def find_faults(inventory: Inventory) -> Iterator[Found]:
    """List what is wrong with a model, with the tensors that it is about."""
    yield from _of_tensors(inventory)
    yield from _stray_bytes(inventory)
    yield from _overlaps(inventory)
    yield from _bad_names(inventory)
    yield from _checksums(inventory)


def _of_tensors(inventory: Inventory) -> Iterator[Found]:
    """The faults of entries, in order; those of a data file once."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        if entry.fault is not None:
            code = entry.fault.code
            of_file = code.startswith(_OF_FILES)
            groups[(code, entry.fault.file) if of_file else index].append(index)
    for group in groups.values():
        fault = inventory.entries[group[0]].fault
        assert fault is not None, "entries without a fault were left out"
        yield found_together("error", fault, group, where=" of this file")


def _stray_bytes(inventory: Inventory) -> Iterator[Found]:
    for index, entry in enumerate(inventory.entries):
        if entry.tensor.data_type == onnx.TensorProto.STRING and entry.tensor.raw_data:
            error = TensorError(
                "strings cannot be raw_data",
                tensor=entry.slot.name,
                file=inventory.skeleton.path,
                code="stray-bytes",
            )
            yield found("error", error, index)


def _overlaps(inventory: Inventory) -> Iterator[Found]:
    entries, homes = inventory.entries, inventory.homes
    for name, claims in inventory.claims.items():
        pairs = list(overlaps(claims))
        if not pairs:
            continue
        one, other = pairs[0]
        more = f"; and {len(pairs) - 1:,} more of this file" if pairs[1:] else ""
        error = ExternalDataError(
            "it shares bytes with another tensor, and not just one range",
            tensor=entries[other.tensor].slot.name,
            file=homes[name],
            needed="bytes of its own, or the same range",
            found=f"bytes {other.offset:,} to {other.offset + other.length:,}, and "
            f"{one.offset:,} to {one.offset + one.length:,} of "
            f"'{entries[one.tensor].slot.name}'{more}",
            hint="If it loads as it should, repack it: each tensor gets bytes of its own. "
            "Else its offsets are wrong: export it again.",
            code="overlap",
        )
        yield found("error", error, *sorted({one.tensor for pair in pairs for one in pair}))


def _bad_names(inventory: Inventory) -> Iterator[Found]:
    """Names that several initializers of one graph have, and initializers that have none."""
    groups: dict[tuple[str, str | bytes], list[int]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        graph, initializer, _ = entry.slot.place.rpartition(_INITIALIZER)
        if initializer:
            groups[graph, entry.tensor.name].append(index)
    for (_, name), group in groups.items():
        if not name or len(group) > 1:
            entries = [inventory.entries[one] for one in group]
            error = (_named_alike if name else _nameless)(entries, inventory.skeleton.path)
            yield found("error", error, *group)


def _named_alike(entries: list[Entry], file: Path) -> TensorError:
    return TensorError(
        "several initializers of one graph have this name",
        tensor=entries[0].slot.name,
        file=file,
        found=f"{len(entries):,} of them, the last is {entries[-1].slot.place}",
        hint="onnx refuses it, and onnxruntime takes one or the other: export it again.",
        code="duplicate-name",
    )


def _nameless(entries: list[Entry], file: Path) -> TensorError:
    return TensorError(
        "an initializer has no name",
        tensor=entries[0].slot.name,
        file=file,
        found=f"{len(entries):,} in this graph",
        hint="onnx and onnxruntime refuse it: export the model again.",
        code="no-name",
    )


def _checksums(inventory: Inventory) -> Iterator[Found]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        if entry.home is not None and STALE_CHECKSUM in entry.notes:
            groups[entry.home].append(index)
    for home, group in groups.items():
        first = inventory.entries[group[0]].slot.name
        error = _unverified(first, inventory.homes[home])
        yield found_together("warning", error, group, where=" of this file")


def _unverified(tensor: str, file: Path) -> ExternalDataError:
    return ExternalDataError(
        "it carries a checksum of its data file, which was not looked at",
        tensor=tensor,
        file=file,
        hint="Run `onnx-align verify`. A repack drops it: it would be stale.",
        code=CHECKSUM_UNVERIFIED,
    )

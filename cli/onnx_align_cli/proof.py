"""Repacks a model of its own, and proves the result with onnx alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.printable import printable

if TYPE_CHECKING:
    from onnx_align_pass.report import ModelAlignment

__all__ = ["ALIGNMENT", "Proof", "Say", "prove"]

ALIGNMENT: Final = 4096

Say = Callable[[str], None]
Range = tuple[Path, int, int]
"""File, offset and length of a tensor."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A repack whose result was checked with onnx alone."""

    folder: str
    model: ModelAlignment
    tensors: int
    unaligned_before: int


def prove(folder: Path, side: int, say: Say) -> Proof:
    """Build, repack, and check every tensor's offset and bytes.

    Raises:
        VerifyError: A tensor is off its boundary, or has other bytes than its source.
    """
    from onnx_align_pass.align import align_file
    from onnx_align_pass.bench.workloads import build_gallery
    from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

    here = folder / "proof"
    here.mkdir()
    say(f"building a model in {printable(str(folder))}")
    source = build_gallery(here, side=side, odd=True)
    say(f"repacking it at alignment {ALIGNMENT}, with --verify")
    report = align_file(
        source,
        here / "aligned" / source.name,
        storage=StoragePolicy(size_threshold_bytes=None),
        layout=LayoutPolicy(alignment=ALIGNMENT),
        verify=True,
    )
    say("proving alignment and equality")
    model = report.models[0]
    before, after = _ranges(source), _ranges(model.destination)
    if before.keys() != after.keys():
        raise _disproved("a tensor is missing", file=model.destination)
    for name, found in after.items():
        if found[1] % ALIGNMENT:
            raise _disproved("it is off its boundary", tensor=name, found=f"offset {found[1]}")
        if _read(found) != _read(before[name]):
            raise _disproved("its bytes are not its source's", tensor=name)
    unaligned = sum(offset % ALIGNMENT != 0 for _, offset, _ in before.values())
    return Proof(str(folder), model, len(after), unaligned)


def _disproved(problem: str, **facts: Any) -> VerifyError:
    return VerifyError(problem, **facts, hint="This is a defect of onnx-align-pass: report it.")


def _ranges(model: Path) -> dict[str, Range]:
    """Where each initializer's bytes are, as onnx reads the model."""
    import onnx

    ranges = {}
    for tensor in onnx.load(model, load_external_data=False).graph.initializer:
        entry = {pair.key: pair.value for pair in tensor.external_data}
        file = model.parent / entry["location"]
        ranges[tensor.name] = (file, int(entry["offset"]), int(entry["length"]))
    return ranges


def _read(where: Range) -> bytes:
    file, offset, length = where
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(length)

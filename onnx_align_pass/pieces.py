"""What goes into the files of a result: each piece with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from onnx_align_pass.errors import FileLimitError
from onnx_align_pass.layout.plan import LayoutPlan, PlannedFile
from onnx_align_pass.model.bind import bind
from onnx_align_pass.model.emit import Part, assemble, size_of
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.spans import FileSpan, MemoryBytes
from onnx_align_pass.transfer.engine import Piece
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = [
    "begins_as_planned",
    "bind_plan",
    "check_model_size",
    "data_pieces",
    "model_pieces",
]


def bind_plan(prepared: Prepared) -> None:
    """Write the planned ranges into the model; doing it twice changes nothing."""
    bind(
        prepared.skeleton,
        chain(zip(prepared.plan.placements, prepared.placed, strict=True), prepared.pointing),
        prepared.returned,
    )


def check_model_size(prepared: Prepared, limit: int | None) -> None:
    """Prove that the model file will have at most `limit` bytes, if there is a limit.

    Raises:
        FileLimitError: It will have more; the error says how many.
    """
    if limit is None:
        return
    bind_plan(prepared)
    size = size_of(assemble(prepared.skeleton))
    if size > limit:
        raise FileLimitError(
            "the model file would be too large",
            file=prepared.skeleton.path,
            needed=f"at most {limit:,} bytes",
            found=f"{size:,} bytes",
            hint="Keep weights in data files: `onnx-align align` moves them there, too.",
        )


def data_pieces(plan: LayoutPlan) -> Iterator[tuple[PlannedFile, list[Piece]]]:
    """List each data file with what goes into it; tied tensors are one piece."""
    pieces: dict[str, list[Piece]] = {file.name: _header(file) for file in plan.files}
    for request, file, offset, _, _, _, tied_to in plan.placements:
        if tied_to is None:
            assert request.source is not None, "a placement has bytes"
            pieces[file].append(Piece(request.source, offset, request.facts.slot.name))
    return ((one, pieces[one.name]) for one in plan.files)


def _header(file: PlannedFile) -> list[Piece]:
    return [Piece(MemoryBytes(file.header), 0, "the header")] if file.header else []


def begins_as_planned(file: PlannedFile, path: Path, files: SourceFiles) -> bool:
    """Whether a file that is as long as planned has the header that is planned.

    Raises:
        ModelError: It cannot be read.
        OSError: Reading failed.
    """
    if not file.header:
        return True
    view = memoryview(bytearray(len(file.header)))
    found = parts_of(FileSpan(path, 0, len(view)), "the header", files, view)
    return all(part == file.header for _, part in found)


def model_pieces(parts: Sequence[Part]) -> list[Piece]:
    """List what goes into the model file."""
    pieces: list[Piece] = []
    offset = 0
    for part in parts:
        source = MemoryBytes(part) if isinstance(part, bytes) else part
        pieces.append(Piece(source, offset, "the model"))
        offset += source.length
    return pieces

"""Whether the files at a destination are those that a run would write."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import VerifyError
from onnx_align_pass.layout.plan import LayoutPlan, PlannedFile
from onnx_align_pass.model.emit import emit, size_of
from onnx_align_pass.pieces import begins_as_planned, bind_plan, data_pieces, model_pieces
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.compare import compare_pieces
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.steps import Piece

__all__ = ["data_holds", "holds", "is_published", "model_holds"]


def holds(
    prepared: Prepared, destination: Destination, files: SourceFiles, buffer: memoryview
) -> bool:
    """Whether the destination is, byte for byte, what would be written already.

    Args:
        prepared: The model; bound by this.
        destination: Where it would go.
        files: The sources, which are read as far as they agree with what is there.
        buffer: For the comparison; its content is lost.

    Raises:
        ModelError: A source cannot be read.
    """
    wanted = [_model(prepared, destination.model), *_data(prepared.plan, destination.folder)]
    return _are_there(wanted, files, buffer)


def model_holds(prepared: Prepared, model: Path, files: SourceFiles, buffer: memoryview) -> bool:
    """Whether the model file alone is what would be written; see `holds`."""
    return _are_there([_model(prepared, model)], files, buffer)


def data_holds(plan: LayoutPlan, folder: Path, files: SourceFiles, buffer: memoryview) -> bool:
    """Whether the data files alone are what would be written; see `holds`."""
    return _are_there(list(_data(plan, folder)), files, buffer)


class _Wanted(NamedTuple):
    """A file as it would be written."""

    path: Path
    size: int
    pieces: Sequence[Piece]
    file: PlannedFile | None = None
    """As it is planned, where it is a data file."""


def _model(prepared: Prepared, model: Path) -> _Wanted:
    bind_plan(prepared)
    parts = emit(prepared.skeleton)
    return _Wanted(model, size_of(parts), model_pieces(parts))


def _data(plan: LayoutPlan, folder: Path) -> Iterator[_Wanted]:
    return (
        _Wanted(folder / file.name, file.size, pieces, file) for file, pieces in data_pieces(plan)
    )


def _are_there(wanted: Sequence[_Wanted], files: SourceFiles, buffer: memoryview) -> bool:
    if any(_plain_size(one.path) != one.size for one in wanted):
        return False
    try:
        for path, _, pieces, file in wanted:
            header = file is not None and bool(file.header)
            if file is None or not _lies_there(pieces[header:], path):
                compare_pieces(path, pieces, files, buffer)
            elif not begins_as_planned(file, path, files):
                return False
    except (VerifyError, OSError):
        return False
    files.verify_unchanged()  # those too that are pointed at and were not read
    return True


def is_published(prepared: Prepared, model: Path) -> bool:
    """Whether the model file is the one that was meant: the data files are in place before it is.

    Weights that are inline in it are taken on trust.
    """
    bind_plan(prepared)
    parts = emit(prepared.skeleton)
    if _plain_size(model) != size_of(parts):
        return False
    with model.open("rb") as file:
        for part in parts:
            if not isinstance(part, bytes):
                file.seek(part.length, os.SEEK_CUR)
            elif file.read(len(part)) != part:
                return False
    return True


def _lies_there(pieces: Sequence[Piece], path: Path) -> bool:
    """Whether what would be written is where it would be written to already."""
    return all(one.source == FileSpan(path, one.offset, one.source.length) for one in pieces)


def _plain_size(path: Path) -> int | None:
    """Bytes of a regular file of one link; None for all else."""
    try:
        found = path.lstat()
    except OSError:
        return None
    plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    return found.st_size if plain else None

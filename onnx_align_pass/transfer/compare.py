"""Read a written file back and compare it with its sources, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.transfer.kernel import let_go
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of
from onnx_align_pass.transfer.positional import read_full
from onnx_align_pass.transfer.steps import Piece

__all__ = ["compare_pieces"]


def compare_pieces(
    path: Path, pieces: Sequence[Piece], sources: SourceFiles, buffer: memoryview
) -> None:
    """Compare each piece of a written file with its source, and all else of it with zeros.

    Args:
        path: The written file.
        pieces: What it was written from, disjoint.
        sources: Opens the files of the spans.
        buffer: Halved, one half for each side; its content is lost.

    Raises:
        VerifyError: A byte differs, or the file is too short.
        ExternalDataError, SourceChangedError: A source cannot be read, or ended early.
        OSError: `filename` is the source where reading it failed, else the written file.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        half = max(1, len(buffer) // 2)
        written = _Written(path, fd, buffer[half:] or memoryview(bytearray(1)))
        end = 0
        for piece in sorted(pieces, key=attrgetter("offset")):
            written.expect_zeros(end, piece.offset)
            for at, wanted in parts_of(piece.source, piece.name, sources, buffer[:half]):
                written.expect(piece.offset + at, wanted, piece.name)
            end = max(end, piece.offset + piece.source.length)
        written.expect_zeros(end, os.fstat(fd).st_size)
    finally:
        let_go(fd)


class _Written:
    """The written file, as it is read back."""

    def __init__(self, path: Path, fd: int, buffer: memoryview) -> None:
        self._path = path
        self._fd = fd
        self._buffer = buffer

    def expect(self, offset: int, wanted: memoryview, tensor: str) -> None:
        if self._read(offset, len(wanted)) != bytes(wanted):
            raise self._differs("what was written is not what was read", offset, wanted, tensor)

    def expect_zeros(self, start: int, end: int) -> None:
        for offset in range(start, end, len(self._buffer)):
            wanted = memoryview(bytes(min(len(self._buffer), end - offset)))
            if self._read(offset, len(wanted)) != wanted:
                raise self._differs("what lies between the tensors is not zero", offset, wanted)

    def _read(self, offset: int, length: int) -> bytes:
        view = self._buffer[:length]
        try:
            count = read_full(self._fd, view, offset)
        except OSError as error:
            error.filename = str(self._path)
            raise
        # As bytes: memoryviews are compared element by element.
        return bytes(view[:count])

    def _differs(
        self, problem: str, offset: int, wanted: memoryview, tensor: str | None = None
    ) -> VerifyError:
        return VerifyError(
            problem,
            tensor=tensor,
            file=self._path.name,
            found=f"a difference within the {len(wanted):,} bytes from {offset:,}",
            hint="Nothing was published. Check the disk and the memory of this machine.",
        )

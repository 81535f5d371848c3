"""Read a written file back and compare it with its sources, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.gather import load
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import read_full
from onnx_align_pass.transfer.steps import Piece

__all__ = ["compare_pieces"]


def compare_pieces(
    path: Path, pieces: Sequence[Piece], sources: SourceFiles, buffer: memoryview
) -> None:
    """Compare each piece of a written file with its source.

    Args:
        path: The written file.
        pieces: What it was written from.
        sources: Opens the files of the spans.
        buffer: Halved, one half for each side; its content is lost.

    Raises:
        VerifyError: A byte differs, or the file is too short.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        half = max(1, len(buffer) // 2)
        other = buffer[half:] or memoryview(bytearray(1))
        for piece in pieces:
            for at, wanted in _source_parts(piece, sources, buffer[:half]):
                found = other[: len(wanted)]
                count = read_full(fd, found, piece.offset + at)
                # Compared as bytes: memoryviews compare element by element.
                if count < len(wanted) or bytes(found[:count]) != bytes(wanted):
                    raise _differs(piece, path, piece.offset + at, len(wanted))
    finally:
        os.close(fd)


def _source_parts(
    piece: Piece, sources: SourceFiles, view: memoryview
) -> Iterator[tuple[int, memoryview]]:
    """The bytes that a piece was made from, part by part: (offset in the piece, bytes)."""
    source = piece.source
    if not isinstance(source, FileSpan):
        data = load(source, piece.name)
        yield from ((at, data[at : at + len(view)]) for at in range(0, len(data), len(view)))
        return
    for at in range(0, source.length, len(view)):
        part = view[: source.length - at]
        fd = sources.fd(source.path, tensor=piece.name)
        read_full(fd, part, source.offset + at)
        yield at, part


def _differs(piece: Piece, path: Path, offset: int, length: int) -> VerifyError:
    return VerifyError(
        "what was written is not what was read",
        tensor=piece.name,
        file=path.name,
        found=f"a difference within the {length:,} bytes from {offset:,}",
        hint="Nothing was published. Check the disk and the memory of this machine.",
    )

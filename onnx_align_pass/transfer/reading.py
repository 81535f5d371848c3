"""Reads from a source, and names the source in what goes wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onnx_align_pass.errors import SourceChangedError
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.ladder import SourceEndedError
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.steps import Piece

__all__ = ["reading"]


@contextmanager
def reading(sources: SourceFiles, path: Path, pieces: Sequence[Piece]) -> Iterator[int]:
    """Give a descriptor of a source; in the block, it alone is read.

    Args:
        sources: Opens it.
        path: The source.
        pieces: What it is read for.

    Raises:
        ExternalDataError: It is missing, unsafe or too short.
        SourceChangedError: It ended early though it was long enough when first seen.
        OSError: `filename` is the source's path where reading it failed.
    """
    fd = sources.fd(path, tensor=pieces[0].name)
    try:
        yield fd
    except SourceEndedError:
        for piece in pieces:
            if isinstance(piece.source, FileSpan):
                sources.check(piece.source, piece.name)
        raise SourceChangedError("the file became shorter while it was read", file=path) from None
    except OSError as error:
        if error.filename == fd:
            error.filename = str(path)
        raise

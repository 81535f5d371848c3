"""The bytes of a source, part by part, in a buffer of constant size."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.gather import load
from onnx_align_pass.transfer.ladder import SourceEndedError
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import read_full
from onnx_align_pass.transfer.reading import reading
from onnx_align_pass.transfer.steps import Piece

__all__ = ["parts_of"]


def parts_of(
    source: Source, name: str, files: SourceFiles, view: memoryview
) -> Iterator[tuple[int, memoryview]]:
    """Read a source: (offset in it, bytes), in order.

    Args:
        source: The bytes.
        name: Of the tensor, for errors.
        files: Opens the files of spans.
        view: Each part of a span is read into it, and valid until the next.

    Raises:
        ExternalDataError, SourceChangedError: The source cannot be read, or ended early.
        OSError: `filename` is the source where reading it failed.
    """
    if not isinstance(source, FileSpan):
        data = load(source, name)
        yield from ((at, data[at : at + len(view)]) for at in range(0, len(data), len(view)))
        return
    piece = Piece(source, 0, name)
    for at in range(0, source.length, len(view)):
        part = view[: source.length - at]
        with reading(files, source.path, [piece]) as fd:
            if read_full(fd, part, source.offset + at) < len(part):
                raise SourceEndedError("a span is cut short")
        yield at, part

"""Where bytes are: a range of a file, or a buffer that can be made when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias

from onnx_align_pass.errors import SpanError

__all__ = ["MAX_FILE_BYTES", "BufferSource", "FileSpan", "MemoryBytes", "Source"]

MAX_FILE_BYTES: Final = 2**63 - 1
"""What a file can hold: offsets are signed numbers of 64 bits."""


class _Span(NamedTuple):
    path: Path
    offset: int
    length: int


class FileSpan(_Span):
    """Bytes `[offset, offset + length)` of one file; `length` 0 is an empty tensor.

    A tuple that proves itself at birth: a model has hundreds of thousands of them, and a frozen
    dataclass takes three times as long to make.

    Raises:
        SpanError: Offset or length is negative.
    """

    __slots__ = ()

    def __new__(cls, path: Path, offset: int, length: int) -> FileSpan:
        """Make a span of `length` bytes from `offset` on."""
        if offset < 0 or length < 0:
            raise SpanError(str(path), offset, length)
        return tuple.__new__(cls, (path, offset, length))

    @property
    def end(self) -> int:
        """First byte after the span."""
        return self.offset + self.length


class BufferSource(Protocol):
    """Bytes that are not a range of a file: they are made, written and dropped, one at a time."""

    @property
    def length(self) -> int:
        """Number of bytes that `load` returns."""

    def load(self) -> bytes | memoryview:
        """Make the bytes. The caller keeps them no longer than it takes to write them."""


@dataclass(frozen=True, slots=True)
class MemoryBytes:
    """Bytes that are in memory already."""

    data: bytes

    @property
    def length(self) -> int:
        """Number of bytes."""
        return len(self.data)

    def load(self) -> bytes:
        """Return the bytes."""
        return self.data


Source: TypeAlias = FileSpan | BufferSource

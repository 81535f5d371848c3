"""Where bytes are: a range of a file, or a buffer that can be made when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from onnx_align_pass.errors import SpanError

__all__ = ["BufferSource", "FileSpan", "MemoryBytes", "Source"]


@dataclass(frozen=True, slots=True)
class FileSpan:
    """Bytes `[offset, offset + length)` of one file."""

    path: Path
    offset: int
    """First byte, counted from the start of the file."""
    length: int
    """Number of bytes; zero is an empty tensor."""

    def __post_init__(self) -> None:
        if self.offset < 0 or self.length < 0:
            raise SpanError(str(self.path), self.offset, self.length)

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

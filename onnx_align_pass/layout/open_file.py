"""A data file while it fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from onnx_align_pass.layout.safetensors import Header
from onnx_align_pass.tensors import TensorFacts

__all__ = ["OpenFile", "round_up"]


def round_up(value: int, alignment: int) -> int:
    """Return the first multiple of `alignment`, a power of two, that is not below `value`."""
    return (value + alignment - 1) & -alignment


@dataclass(slots=True)
class OpenFile:
    """A data file while it fills. All numbers are bytes, counted from the end of its header."""

    base: str
    """Name before sharding."""
    shard: int
    """1 for the first file of its base."""
    pad: Literal["none", "file", "tensor"]
    header: Header | None = None
    """Of a safetensors file; what lies behind it begins on the largest boundary in the file."""
    end: int = 0
    alignment: int = 1
    """The largest alignment in it."""

    def size_with(self, facts: TensorFacts, alignment: int) -> int:
        """Size of the whole file if it held one tensor more."""
        offset = round_up(self.end, alignment)
        largest = max(self.alignment, alignment)
        end = offset + facts.nbytes
        if self.pad != "none":
            end = round_up(end, alignment if self.pad == "tensor" else largest)
        if self.header is None:
            return end
        return end + self.header.size_with(facts, offset, end, largest)

    @property
    def data_size(self) -> int:
        """Size without the header."""
        return round_up(self.end, self.alignment) if self.pad == "file" else self.end

    @property
    def header_size(self) -> int:
        """Size of the header alone."""
        return 0 if self.header is None else self.header.size(self.data_size, self.alignment)

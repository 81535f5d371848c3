"""Where two sources differ, in constant memory.

Bytes are compared as bytearrays: that is memcmp, at the speed of memory, where memoryviews are
compared element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from onnx_align_pass.spans import Source
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["Comparer", "Side"]

_PART_BYTES: Final = 1 << 20
"""Of a read: larger ones fall out of the processor's cache."""


class Side(NamedTuple):
    """One of two sources that should be equal."""

    source: Source
    name: str
    """The tensor, for errors."""
    files: SourceFiles


class Comparer:
    """Compares sources; owns a buffer for each side."""

    def __init__(self) -> None:
        self._left = memoryview(bytearray(_PART_BYTES))
        self._right = memoryview(bytearray(_PART_BYTES))

    def first_difference(
        self, left: Side, right: Side, advance: Callable[[int, str], None]
    ) -> int | None:
        """Find the first byte in which two sources of one length differ; None: they are equal.

        Args:
            left: One of them.
            right: The other.
            advance: Told of bytes that were compared, and the tensor.

        Raises:
            ExternalDataError, SourceChangedError: A source cannot be read, or ended early.
            OSError: `filename` is the source where reading it failed.
        """
        ours = parts_of(left.source, left.name, left.files, self._left)
        theirs = parts_of(right.source, right.name, right.files, self._right)
        for (at, one), (_, other) in zip(ours, theirs, strict=True):
            if not _equal(one, other):
                return at + _first(one, other)
            advance(len(one), left.name)
        return None


def _equal(left: memoryview, right: memoryview) -> bool:
    whole = left.obj
    if isinstance(whole, bytearray) and len(whole) == len(left):
        return whole == right
    return bytearray(left) == right


def _first(left: memoryview, right: memoryview) -> int:
    """First of the bytes in which two parts differ."""
    low, high = 0, len(left)
    while high - low > 1:
        middle = (low + high) // 2
        if _equal(left[low:middle], right[low:middle]):
            low = middle
        else:
            high = middle
    return low

"""A data file as its tensors divide it: which bytes are whose, and which are nobody's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Claim", "Gap", "Overlap", "gaps", "natural_alignment", "overlaps"]

_MOST = 1 << 30


class Claim(NamedTuple):
    """Bytes `[offset, offset + length)` that a tensor has in a file."""

    offset: int
    length: int
    tensor: int
    """Its index among the model's tensors."""


class Gap(NamedTuple):
    """Bytes that no tensor claims; `after` and `before` are the tensors around it, or None."""

    offset: int
    length: int
    after: int | None
    before: int | None


class Overlap(NamedTuple):
    """Two tensors that claim some of the same bytes, and not just the same range."""

    first: Claim
    second: Claim


def natural_alignment(offset: int) -> int:
    """The largest power of two that an offset is a multiple of; 1 GiB at most, and of 0."""
    return min(offset & -offset, _MOST) if offset else _MOST


def gaps(claims: Iterable[Claim], size: int) -> Iterator[Gap]:
    """List the bytes of a file of `size` bytes that no claim covers, in order."""
    end, last = 0, None
    for one in sorted(claims):
        if not one.length:
            continue
        if end < min(one.offset, size):
            yield Gap(end, min(one.offset, size) - end, last, one.tensor)
        if one.offset + one.length > end:
            end, last = one.offset + one.length, one.tensor
    if size > end:
        yield Gap(end, size - end, last, None)


def overlaps(claims: Sequence[Claim]) -> Iterator[Overlap]:
    """List claims that share bytes with one before them; equal ranges are tied, and none."""
    furthest: Claim | None = None
    for one in sorted(claims):
        if not one.length:
            continue
        if furthest is None or one.offset >= furthest.offset + furthest.length:
            furthest = one
            continue
        if one[:2] != furthest[:2]:
            yield Overlap(furthest, one)
        if one.offset + one.length > furthest.offset + furthest.length:
            furthest = one

"""A data file divided: every byte is a tensor's, padding, a header's, or dead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from onnx_align_pass.inspection.ranges import Claim, Gap, gaps, natural_alignment
from onnx_align_pass.inspection.report import Range, RangeKind

__all__ = ["MAX_PADDING", "Region", "divide"]

MAX_PADDING: Final = 16 << 20
"""Gaps of more bytes than this are dead whatever they hold: they are not read."""


class Region(NamedTuple):
    """Bytes of which a file's own header says what they are."""

    offset: int
    length: int
    kind: RangeKind


def divide(
    claims: Sequence[Claim],
    size: int,
    regions: Iterable[Region],
    is_zero: Callable[[int, int], bool] | None,
) -> tuple[Range, ...]:
    """Say of every byte of a file what it is.

    A gap is padding where an alignment explains it: it is smaller than what the tensor behind it is
    aligned to, or the end of the file is, and holds zeros.

    Args:
        claims: What the tensors have in the file.
        size: Bytes of the file.
        regions: What is known of bytes that no tensor claims, in order, not overlapping.
        is_zero: Reads bytes `(offset, length)`; None: no gap is padding.

    Returns:
        Ranges in order. One that several tensors have stands there once, as the first one's.
    """
    within = [_clipped(one, size) for one in claims if one.length and one.offset < size]
    first: dict[tuple[int, int], int] = {}
    for offset, length, tensor in within:
        known = first.setdefault((offset, length), tensor)
        if tensor < known:
            first[offset, length] = tensor
    ranges = [Range(*place, "tensor", tensor) for place, tensor in first.items()]
    largest = max((natural_alignment(one.offset) for one in within), default=1)
    for gap, kind in _parted(gaps(within, size), regions):
        if kind is None:
            kind = "dead"
            if is_zero is not None and _could_be_padding(gap, largest, size):
                kind = "padding" if is_zero(gap.offset, gap.length) else "dead"
        ranges.append(Range(gap.offset, gap.length, kind))
    return tuple(sorted(ranges, key=lambda one: one[:2]))


def _clipped(claim: Claim, size: int) -> Claim:
    room = size - claim.offset
    return claim if claim.length <= room else claim._replace(length=room)


def _could_be_padding(gap: Gap, largest: int, size: int) -> bool:
    end = gap.offset + gap.length
    room = natural_alignment(end)
    return gap.length <= MAX_PADDING and gap.length < (room if end < size else min(room, largest))


def _parted(
    found: Iterable[Gap], regions: Iterable[Region]
) -> Iterator[tuple[Gap, RangeKind | None]]:
    """Part gaps at the edges of regions; None where nothing is known."""
    waiting = iter(regions)
    region = next(waiting, None)
    for gap in found:
        at, end = gap.offset, gap.offset + gap.length
        while at < end:
            while region is not None and region.offset + region.length <= at:
                region = next(waiting, None)
            if region is None or region.offset >= end:
                stop, kind = end, None
            elif region.offset > at:
                stop, kind = region.offset, None
            else:
                stop, kind = min(end, region.offset + region.length), region.kind
            yield gap._replace(offset=at, length=stop - at), kind
            at = stop

"""Which sources hold the same bytes: next to nothing is read where they do not.

Of contents of one kind and size the ends are compared first, by a hash. Those that agree are
compared byte for byte with one of them; what differs from that one is told apart by a full hash,
and compared again. A hash alone never makes two contents equal.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.gather import load
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["Content", "groups_of_equal", "identity_of"]

_END_BYTES: Final = 4096
"""How much of each end is looked at first."""
_GAP_BYTES: Final = 16 << 10
"""What lies between two ends is read along up to this size: it costs less than a second read."""
_BUFFER_BYTES: Final = 1 << 20


class Content(NamedTuple):
    """Bytes that may be another's too."""

    key: int
    """What the caller knows it by; no two have the same."""
    kind: Hashable
    """Only contents of one kind are compared: an element type, and what else must be the same."""
    name: str
    """Of the tensor, for errors."""
    source: Source


class _Held(NamedTuple):
    """Bytes that were made, for as long as others are compared with them."""

    length: int
    data: memoryview

    def load(self) -> memoryview:
        return self.data


class _End(NamedTuple):
    """A range of a file that is hashed."""

    start: int
    end: int
    one: Content


def identity_of(source: Source) -> Hashable:
    """What two sources have in common that are one: a range of a file, or the object."""
    return source if isinstance(source, FileSpan) else id(source)


def groups_of_equal(contents: Iterable[Content], files: SourceFiles) -> list[list[int]]:
    """Find contents that are equal: of one kind and one length, and the same byte for byte.

    Bytes decide, not numbers: NaNs of one payload are equal, 0.0 and -0.0 are not. Shapes are not
    looked at. Memory is a buffer of constant size, and where sources are made, two of them.

    Args:
        contents: A source that occurs twice is looked at once, under its first key.
        files: Opens the files of spans.

    Returns:
        The keys of each group of two or more, in the order of the contents.

    Raises:
        ModelError: A source cannot be read.
        OSError: `filename` is the source where reading it failed.
    """
    alike: dict[Hashable, dict[Hashable, Content]] = defaultdict(dict)
    for one in contents:
        if one.source.length:
            alike[one.kind, one.source.length].setdefault(identity_of(one.source), one)
    candidates = [list(ones.values()) for ones in alike.values() if len(ones) > 1]
    if not candidates:
        return []
    found = _Search(files).equal(candidates)
    return [[one.key for one in ones] for ones in found]


class _Search:
    """Reads for one call of `groups_of_equal`."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))

    def equal(self, candidates: Sequence[Sequence[Content]]) -> Iterator[list[Content]]:
        ends = self._ends(one for ones in candidates if not _is_made_pair(ones) for one in ones)
        for ones in candidates:
            for alike in _parted(ones, lambda one: ends.get(one.key)):
                yield from self._compared(alike)

    def _compared(self, ones: Sequence[Content]) -> Iterator[list[Content]]:
        first, *others = ones
        if not isinstance(first.source, FileSpan):
            held = load(first.source, first.name)
            first = first._replace(source=_Held(len(held), held))
        rest = [one for one in others if not self._same(first, one)]
        if len(rest) < len(others):
            differs = {one.key for one in rest}
            yield [one for one in ones if one.key not in differs]
        for alike in _parted(rest, self._digest):
            yield from self._compared(alike)

    def _same(self, one: Content, other: Content) -> bool:
        half = len(self._buffer) // 2
        left = parts_of(one.source, one.name, self._files, self._buffer[:half])
        right = parts_of(other.source, other.name, self._files, self._buffer[half:])
        # As bytes: memoryviews are compared element by element.
        return all(bytes(a) == bytes(b) for (_, a), (_, b) in zip(left, right, strict=True))

    def _digest(self, one: Content) -> bytes:
        digest = hashlib.blake2b(digest_size=32)
        for _, part in parts_of(one.source, one.name, self._files, self._buffer):
            digest.update(part)
        return digest.digest()

    def _ends(self, contents: Iterable[Content]) -> dict[int, tuple[int, ...]]:
        """Hash both ends of each content, in the order in which they lie in their files."""
        found: dict[int, tuple[int, ...]] = {}
        by_file: dict[Path, list[_End]] = defaultdict(list)
        for one in contents:
            if isinstance(one.source, FileSpan):
                by_file[one.source.path] += _ends_of(one, one.source)
            else:
                data = load(one.source, one.name)
                found[one.key] = _hashed(data[:_END_BYTES], data[_END_BYTES:][-_END_BYTES:])
        for path, ends in by_file.items():
            for stretch in _stretches(ends):
                start = stretch[0].start
                span = FileSpan(path, start, max(one.end for one in stretch) - start)
                ((_, data),) = parts_of(span, stretch[0].one.name, self._files, self._buffer)
                for end in stretch:
                    part = _hashed(data[end.start - start : end.end - start])
                    found[end.one.key] = found.get(end.one.key, ()) + part
        return found


def _is_made_pair(ones: Sequence[Content]) -> bool:
    """Whether the ends are not worth a look: a source is made for it, as it is to be compared."""
    return len(ones) == 2 and any(not isinstance(one.source, FileSpan) for one in ones)


def _parted(ones: Sequence[Content], key: Callable[[Content], Hashable]) -> list[list[Content]]:
    """Part contents by what a key says of them; those that are alone are left out."""
    if len(ones) < 2:
        return []
    parts: dict[Hashable, list[Content]] = defaultdict(list)
    for one in ones:
        parts[key(one)].append(one)
    return [part for part in parts.values() if len(part) > 1]


def _hashed(*parts: memoryview) -> tuple[int, ...]:
    # Python's own hash: quick, and its collisions cost a comparison, no more.
    return tuple(hash(bytes(part)) for part in parts if part)


def _ends_of(one: Content, span: FileSpan) -> list[_End]:
    middle = span.offset + min(span.length, _END_BYTES)
    head = _End(span.offset, middle, one)
    if middle == span.end:
        return [head]
    return [head, _End(max(middle, span.end - _END_BYTES), span.end, one)]


def _stretches(ends: list[_End]) -> Iterator[list[_End]]:
    """Part the ends in one file into those that are read at once: near each other, and few."""
    stretch: list[_End] = []
    reached = 0
    for end in sorted(ends, key=lambda one: one.start):
        if stretch and (
            end.start > reached + _GAP_BYTES or end.end > stretch[0].start + _BUFFER_BYTES
        ):
            yield stretch
            stretch = []
        stretch.append(end)
        reached = max(reached, end.end)
    if stretch:
        yield stretch

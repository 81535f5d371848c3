"""Which sources hold the same bytes: next to nothing is read where they do not.

Of contents of one kind and size the heads are compared first, then the tails, by a hash. Those that
agree are compared byte for byte with one of them; what differs from that one is told apart by a
full hash, and compared again. A hash alone never makes two contents equal.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

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
        self._tails: dict[int, int] = {}
        """Hashes of the tails of what was made when heads were hashed."""

    def equal(self, candidates: Sequence[Sequence[Content]]) -> Iterator[list[Content]]:
        """Part candidates of one kind and length by their bytes."""
        for ends in (self._heads, self._tails_of):
            hashes = ends(one for ones in candidates if not _is_made_pair(ones) for one in ones)
            candidates = list(_alike(candidates, hashes))
        for ones in candidates:
            yield from self._compared(ones)

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

    def _heads(self, contents: Iterable[Content]) -> dict[int, int]:
        """Hash the first bytes; of what is made, the last too, while it is there."""
        found: dict[int, int] = {}
        spans: list[Content] = []
        for one in contents:
            if isinstance(one.source, FileSpan):
                spans.append(one)
                continue
            data = load(one.source, one.name)
            found[one.key] = _hash(bytes(data[:_END_BYTES]))
            self._tails[one.key] = _hash(bytes(data[-_END_BYTES:]))
        found.update(self._hashed(spans, tail=False))
        return found

    def _tails_of(self, contents: Iterable[Content]) -> dict[int, int]:
        """Hash the last bytes, where these are others than the first."""
        longer = [one for one in contents if one.source.length > _END_BYTES]
        found = {one.key: self._tails[one.key] for one in longer if one.key in self._tails}
        spans = [one for one in longer if one.key not in found]
        found.update(self._hashed(spans, tail=True))
        return found

    def _hashed(self, spans: Iterable[Content], *, tail: bool) -> Iterator[tuple[int, int]]:
        """Hash one end of each, in the order in which they lie in their files."""
        by_file: dict[Path, list[_End]] = defaultdict(list)
        names: dict[int, str] = {}
        for key, _, name, source in spans:
            assert isinstance(source, FileSpan), "what is made is no range"
            path, offset, length = source
            size = min(length, _END_BYTES)
            start = offset + length - size if tail else offset
            by_file[path].append((start, start + size, key))
            names[key] = name
        for path, ends in by_file.items():
            ends.sort()
            for stretch in _stretches(ends):
                at, reached = stretch[0][0], max(end for _, end, _ in stretch)
                span = FileSpan(path, at, reached - at)
                ((_, view),) = parts_of(span, names[stretch[0][2]], self._files, self._buffer)
                data = bytes(view)
                for start, end, key in stretch:
                    yield key, _hash(data[start - at : end - at])


_End: TypeAlias = tuple[int, int, int]
"""A range of a file that is hashed: its start, its end, and the key of its content."""


def _hash(data: bytes) -> int:
    # Python's own: it is quick, and what it confuses is compared all the same.
    return hash(data)


def _is_made_pair(ones: Sequence[Content]) -> bool:
    """Whether the ends are not worth a look: a source is made for it, as it is to be compared."""
    return len(ones) == 2 and any(not isinstance(one.source, FileSpan) for one in ones)


def _alike(
    candidates: Iterable[Sequence[Content]], hashes: Mapping[int, int]
) -> Iterator[list[Content]]:
    for ones in candidates:
        yield from _parted(ones, lambda one: hashes.get(one.key))


def _parted(ones: Sequence[Content], key: Callable[[Content], Hashable]) -> list[list[Content]]:
    """Part contents by what a key says of them; those that are alone are left out."""
    if len(ones) < 2:
        return []
    parts: dict[Hashable, list[Content]] = defaultdict(list)
    for one in ones:
        parts[key(one)].append(one)
    return [part for part in parts.values() if len(part) > 1]


def _stretches(ends: Sequence[_End]) -> Iterator[Sequence[_End]]:
    """Part the ends in one file, sorted, into those that are read at once: near, and not many."""
    first, reached = 0, 0
    for index, (start, end, _) in enumerate(ends):
        if index > first and (start > reached + _GAP_BYTES or end > ends[first][0] + _BUFFER_BYTES):
            yield ends[first:index]
            first = index
        reached = max(reached, end)
    if ends:
        yield ends[first:]

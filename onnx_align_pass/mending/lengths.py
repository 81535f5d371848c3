"""Lengths that count more bytes than a tensor has: which of them may be cut, and why."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

from onnx_align_pass.inspection.divide import MAX_PADDING
from onnx_align_pass.inspection.ranges import natural_alignment
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["Surplus"]


class Surplus:
    """Looks at the bytes that a length counts beyond what dtype and shape need.

    A length may be too long for two reasons. Some writers count the padding behind a tensor, or all
    that follows it; then its bytes are the first ones. Or the dtype or the shape is wrong (FLOAT16
    over bytes of FLOAT, 4-bit elements in a byte each, a view of a larger tensor); then the first
    bytes are wrong weights. A length is cut where only the first can be: each byte of the surplus
    is another tensor's, by a range of its own, or it is zero in a stretch that is shorter than the
    boundary which it leads up to. In the second case the surplus holds the rest of the weights,
    which nobody else claims, and which are not all zero.

    In a file in which tensors overlap no range is a tensor's own: nothing is cut there.

    Args:
        spans: What every tensor of the model has, with lengths by dtype and shape.
        files: Opens the data files.
        buffer: What is read goes there.
    """

    def __init__(self, spans: Iterable[FileSpan], files: SourceFiles, buffer: memoryview) -> None:
        claims: dict[Path, set[tuple[int, int]]] = defaultdict(set)
        for path, offset, length in spans:
            claims[path].add((offset, offset + length))
        self._stretches = {
            path: _Stretches(path, sorted(found), files, buffer) for path, found in claims.items()
        }

    def is_padding(self, span: FileSpan, length: int, name: str) -> bool:
        """Whether the bytes that a length counts too many are nothing of the tensor's.

        Args:
            span: The tensor's bytes.
            length: The length that it claims, larger than the span's; it may end past the file.
            name: The tensor, for errors.

        Raises:
            ExternalDataError, SourceChangedError: The file cannot be read.
            OSError: `filename` is the file where reading it failed.
        """
        found = self._stretches[span.path]
        return not found.overlap and found.is_nobodys(span, length, name)


class _Stretches:
    """The bytes between the tensors of one file.

    Each is read once, however many lengths count it: thousands may claim all that follows them.
    """

    def __init__(
        self, path: Path, claims: list[tuple[int, int]], files: SourceFiles, buffer: memoryview
    ) -> None:
        self._path = path
        self._claims: Final = claims
        self._files = files
        self._buffer = buffer
        self._zero_to: dict[int, int] = {}
        """Where the zeros behind a claim are known to reach, by its end."""
        self._ended: set[int] = set()
        """Ends of claims whose zeros reach no further than that."""
        self._bad: list[int] | None = None

    @cached_property
    def overlap(self) -> bool:
        """Whether tensors share bytes, and not just one range."""
        return any(start < end for (_, end), (start, _) in pairwise(self._claims))

    def is_nobodys(self, span: FileSpan, length: int, name: str) -> bool:
        """Whether what follows a tensor, up to the end of its length, is padding or others'."""
        size = self._files.size(self._path)
        end = min(span.offset + length, size)
        own = bisect_left(self._claims, (span.offset, span.end))
        last = bisect_left(self._claims, (end, 0)) - 1
        bad = self._bad_places(name)
        first = bisect_left(bad, own)
        if first < len(bad) and bad[first] < last:
            return False
        # Up to the length's own end, which may be past the file's.
        boundary = max(natural_alignment(span.offset + length), natural_alignment(length))
        return self._is_padding(self._claims[last][1], end, boundary, name)

    def _bad_places(self, name: str) -> list[int]:
        """The claims behind which, up to the next, there is something else than padding."""
        if self._bad is None:
            self._bad = [
                index
                for index, ((_, end), (start, _)) in enumerate(pairwise(self._claims))
                if not self._is_padding(end, start, natural_alignment(start), name)
            ]
        return self._bad

    def _is_padding(self, start: int, end: int, boundary: int, name: str) -> bool:
        if start >= end:
            return True
        return end - start < min(boundary, MAX_PADDING) and self._is_zero(start, end, name)

    def _is_zero(self, start: int, end: int, name: str) -> bool:
        known = self._zero_to.get(start, start)
        if known < end and start not in self._ended:
            rest = FileSpan(self._path, known, end - known)
            for _, part in parts_of(rest, name, self._files, self._buffer):
                zeros = len(part) - len(bytes(part).lstrip(b"\0"))
                known += zeros
                if zeros < len(part):
                    self._ended.add(start)
                    break
            self._zero_to[start] = known
        return known >= end

"""Lengths that count more bytes than a tensor has: which of them may be cut, and why."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from onnx_align_pass.inspection.divide import MAX_PADDING
from onnx_align_pass.inspection.ranges import Claim, gaps, natural_alignment
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

    Args:
        spans: What every tensor of the model has, with lengths by dtype and shape.
        files: Opens the data files.
        buffer: What is read goes there.
    """

    def __init__(self, spans: Iterable[FileSpan], files: SourceFiles, buffer: memoryview) -> None:
        self._claims: dict[Path, list[Claim]] = defaultdict(list)
        for number, (path, offset, length) in enumerate(spans):
            self._claims[path].append(Claim(offset, length, number))
        for claims in self._claims.values():
            claims.sort()
        self._files = files
        self._buffer = buffer
        self._known: dict[tuple[FileSpan, int], bool] = {}

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
        key = (span, length)
        if key not in self._known:
            self._known[key] = self._look(span, length, name)
        return self._known[key]

    def _look(self, span: FileSpan, length: int, name: str) -> bool:
        start = span.end
        end = min(span.offset + length, self._files.size(span.path))
        claims = self._claims[span.path]
        first, last = (bisect_left(claims, at, key=lambda one: one.offset) for at in (start, end))
        inside = (
            Claim(one.offset - start, min(one.length, end - one.offset), one.tensor)
            for one in claims[first:last]
        )
        for gap in gaps(inside, end - start):
            boundary = natural_alignment(start + gap.offset + gap.length)
            if gap.before is None:  # up to the length's own end, which may be past the file's
                boundary = max(natural_alignment(span.offset + length), natural_alignment(length))
            rest = FileSpan(span.path, start + gap.offset, gap.length)
            if gap.length >= min(boundary, MAX_PADDING) or not self._is_zero(rest, name):
                return False
        return True

    def _is_zero(self, span: FileSpan, name: str) -> bool:
        parts = parts_of(span, name, self._files, self._buffer)
        return all(bytes(part).count(0) == len(part) for _, part in parts)

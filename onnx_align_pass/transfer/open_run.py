"""Grows a run piece by piece, within what one buffer and one vectored write can hold."""

from __future__ import annotations

from pathlib import Path

from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.positional import IOV_MAX
from onnx_align_pass.transfer.steps import Piece, Run, Stretch

__all__ = ["GAP_BELOW", "SKIP_MAX", "OpenRun"]

GAP_BELOW = 4096
"""Gaps of fewer bytes are written, as zeros, inside a run; larger ones end the run."""
SKIP_MAX = 16 << 10
"""Most bytes of the source that are read in vain to keep a run going."""


class OpenRun:
    """A run that still takes pieces."""

    __slots__ = (
        "_end",
        "_high",
        "_low",
        "_path",
        "_places",
        "_slices",
        "_start",
        "_stretches",
        "_used",
        "_window",
        "pieces",
    )

    def __init__(self, window: int) -> None:
        self._window = window
        self._reset()

    def _reset(self) -> None:
        self.pieces: list[Piece] = []
        self._places: list[int] = []
        self._stretches: list[Stretch] = []
        self._path: Path | None = None
        self._start = self._end = self._low = self._high = self._used = self._slices = 0

    def take(self, piece: Piece) -> bool:
        """Add a piece, unless the run would break a limit."""
        source = piece.source
        offset, length = piece.offset, source.length
        end = offset + length
        if not self.pieces:
            self._start = self._end = offset
        elif (
            offset - self._end >= GAP_BELOW
            or end - self._start > self._window
            or self._slices + 2 > IOV_MAX
        ):
            return False
        place = self._place(source) if isinstance(source, FileSpan) else -1
        if place is None:
            return False
        self._slices += 1 if offset == self._end else 2
        self._end = end
        self.pieces.append(piece)
        self._places.append(place)
        return True

    def _place(self, source: FileSpan) -> int | None:
        """Read the span with the stretch at hand, or in one of its own; None: no room."""
        start, end = source.offset, source.offset + source.length
        low, high, path = self._low, self._high, self._path
        near = low <= start <= high + SKIP_MAX and (source.path is path or source.path == path)
        base = self._used - (high - low) if near else self._used
        low, high = (low, max(high, end)) if near else (start, end)
        if base + high - low > self._window:
            return None
        if not near:
            self._end_stretch()
        self._path, self._low, self._high, self._used = source.path, low, high, base + high - low
        return base + start - low

    def _end_stretch(self) -> None:
        if self._path is not None:
            at = self._used - (self._high - self._low)
            self._stretches.append(Stretch(self._path, self._low, self._high, at))

    def close(self) -> Run:
        """Return the run and begin a new one."""
        self._end_stretch()
        run = Run(tuple(self.pieces), tuple(self._places), tuple(self._stretches))
        self._reset()
        return run

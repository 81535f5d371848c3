"""Copies a span by the fastest way that works, and goes on where the last way stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from onnx_align_pass.errors import PolicyError
from onnx_align_pass.transfer.rungs import Rung, SplicePipe, standard_rungs

__all__ = ["CHUNK_BYTES", "Ladder", "Rung", "SourceEndedError"]

CHUNK_BYTES = 4 << 20
"""Most bytes that one call transfers, unless told otherwise."""

_BUFFER_BYTES = 1 << 20  # a larger one falls out of the CPU's cache


class SourceEndedError(EOFError):
    """The source has fewer bytes than the span. The engine says which file and tensor."""


class Ladder:
    """Owns one pipe and one buffer, made when first needed. A context manager; not thread-safe.

    Args:
        chunk_size: Most bytes that one call transfers; bounds the buffer too.
        rungs: The ways to try, in order; None: the standard ones.

    Raises:
        PolicyError: `chunk_size` is not positive.
    """

    def __init__(
        self, *, chunk_size: int = CHUNK_BYTES, rungs: Sequence[Rung] | None = None
    ) -> None:
        if not isinstance(chunk_size, int) or isinstance(chunk_size, bool) or chunk_size <= 0:
            raise PolicyError("chunk_size", chunk_size, "a number of bytes, 1 or more")
        self.chunk_size = chunk_size
        self._pipe = SplicePipe()
        self._buffer: memoryview | None = None
        self._rungs = tuple(rungs or standard_rungs(self._pipe, lambda: self.buffer))
        self.moved = dict.fromkeys((*(rung.name for rung in self._rungs), "gathered", "loaded"), 0)
        """Bytes that each rung moved; the engine adds those in runs, and those made in memory."""
        self._declined: set[tuple[str, int, int]] = set()

    @property
    def window(self) -> int:
        """Bytes that the buffer has, or would have."""
        return min(self.chunk_size, _BUFFER_BYTES)

    @property
    def buffer(self) -> memoryview:
        """The one buffer; its content is anyone's between two calls."""
        if self._buffer is None:
            self._buffer = memoryview(bytearray(self.window))
        return self._buffer

    def copy(
        self,
        src_fd: int,
        src_off: int,
        dst_fd: int,
        dst_off: int,
        length: int,
        on_bytes: Callable[[int], None],
    ) -> None:
        """Copy `length` bytes; `on_bytes` is told of each transfer.

        Raises:
            SourceEndedError: The source has no byte where one is needed.
            OSError: Neither a success nor a reason to try the next rung. `filename` is `src_fd`
                where it is known that reading failed.
        """
        devices = (os.fstat(src_fd).st_dev, os.fstat(dst_fd).st_dev)
        done = 0
        for rung in self._willing(devices):
            for count in self._moves(
                rung, devices, (src_fd, src_off + done, dst_fd, dst_off + done), length - done
            ):
                done += count
                on_bytes(count)
            if done == length:
                return
        raise SourceEndedError(f"{length - done} bytes are missing")

    def _willing(self, devices: tuple[int, int]) -> Iterator[Rung]:
        return (rung for rung in self._rungs if (rung.name, *devices) not in self._declined)

    def _moves(
        self,
        rung: Rung,
        devices: tuple[int, int],
        where: tuple[int, int, int, int],
        length: int,
    ) -> Iterator[int]:
        """Move by one rung until the span is done, the rung has no more, or it declines."""
        src_fd, src_off, dst_fd, dst_off = where
        done = 0
        while done < length:
            step = min(length - done, self.chunk_size)
            try:
                count = rung.move(src_fd, src_off + done, dst_fd, dst_off + done, step)
            except OSError as error:
                if error.errno not in rung.declines or rung is self._rungs[-1]:
                    raise
                self._declined.add((rung.name, *devices))
                return
            if count == 0:
                return
            self.moved[rung.name] += count
            done += count
            yield count

    def close(self) -> None:
        """Close the pipe and let go of the buffer."""
        self._pipe.close()
        self._buffer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

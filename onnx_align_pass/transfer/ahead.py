"""Makes tensors ahead of their writing, in threads: making one and writing another overlap."""

from __future__ import annotations

import threading
from typing import Self

from onnx_align_pass.spans import BufferSource, Source

__all__ = ["Ahead", "bare"]


def bare(source: Source) -> Source:
    """The source that was wrapped, so that to load it takes nothing from what is made ahead."""
    return source.source if isinstance(source, _Wrapped) else source


class Ahead:
    """Loads sources in the order in which they were wrapped, up to a limit of bytes.

    A context manager. Whoever asks for a source that no thread has begun loads it himself, so that
    another order is slower and never stuck.

    Args:
        workers: Number of threads.
        max_bytes: Most bytes that are loaded and not yet taken; one larger source still is loaded
            alone.
    """

    def __init__(self, workers: int, max_bytes: int) -> None:
        self._workers = workers
        self._max_bytes = max_bytes
        self._held_bytes = 0
        self._waiting: list[_Wrapped] = []
        self._next = 0
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def wrap(self, source: BufferSource) -> BufferSource:
        """Return a source with the same bytes, loaded ahead; before the first is asked for."""
        wrapped = _Wrapped(self, source)
        self._waiting.append(wrapped)
        return wrapped

    def skip(self, source: Source) -> None:
        """Load a source no more ahead, as it will not be asked for; before the first is."""
        if isinstance(source, _Wrapped):
            with self._changed:
                source.begun = source.taken = True

    def take(self, wrapped: _Wrapped) -> bytes | memoryview:
        """The bytes of a source, loaded here if nowhere else."""
        with self._changed:
            self._start()
            ahead = wrapped.begun and not wrapped.taken
            wrapped.begun = wrapped.taken = True
            if ahead:
                self._changed.wait_for(lambda: wrapped.finished)
                self._held_bytes -= wrapped.length
                self._changed.notify_all()
        return wrapped.result() if ahead else wrapped.source.load()

    def _start(self) -> None:
        while len(self._threads) < self._workers and not self._closed:
            thread = threading.Thread(target=self._work, name="onnx-align ahead", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                wrapped = self._begin()
                if wrapped is None:
                    return
            wrapped.load_ahead()
            with self._changed:
                wrapped.finished = True
                self._changed.notify_all()

    def _begin(self) -> _Wrapped | None:
        """The next source that nobody has begun, once there is room for it; None at the end."""
        while not self._closed:
            while self._next < len(self._waiting) and self._waiting[self._next].begun:
                self._next += 1
            if self._next == len(self._waiting):
                return None
            wrapped = self._waiting[self._next]
            if not self._held_bytes or self._held_bytes + wrapped.length <= self._max_bytes:
                self._held_bytes += wrapped.length
                wrapped.begun = True
                return wrapped
            self._changed.wait()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()


class _Wrapped:
    """A source that may be loaded ahead, once; asked again, it is loaded again."""

    __slots__ = ("_ahead", "_data", "_error", "begun", "finished", "length", "source", "taken")

    def __init__(self, ahead: Ahead, source: BufferSource) -> None:
        self._ahead = ahead
        self.source = source
        self.length = source.length
        self._data: bytes | memoryview | None = None
        self._error: BaseException | None = None
        self.begun = self.taken = self.finished = False

    def load(self) -> bytes | memoryview:
        return self._ahead.take(self)

    def load_ahead(self) -> None:
        try:
            self._data = self.source.load()
        except BaseException as error:  # noqa: BLE001 - raised where the bytes are asked for
            self._error = error

    def result(self) -> bytes | memoryview:
        """What was loaded, or raise what went wrong; nothing of it is kept."""
        data, error, self._data, self._error = self._data, self._error, None, None
        if error is not None:
            raise error
        assert data is not None, "it was loaded"
        return data

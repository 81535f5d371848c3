"""SIGINT, SIGTERM and SIGHUP become an exception, so that the core cleans up behind itself.

The first signal counts. Those that follow are ignored, because they would meet the clean-up. One
that still comes after `PATIENCE_SECONDS` counts again: nobody is locked out of a run that hangs.

This is the first module that a run imports, so it imports next to nothing itself.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType
    from typing import Any, Final, Self

__all__ = ["PATIENCE_SECONDS", "SIGNALS", "Interrupted", "Signals"]

PATIENCE_SECONDS: Final = 10.0
NOTHING: Final = "nothing was changed"
_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(BaseException):
    """A signal asked the run to stop. No KeyboardInterrupt: typer would swallow that."""

    def __init__(self, signum: int, outcome: str) -> None:
        super().__init__(signum, outcome)
        self.signum = signum
        self.outcome = outcome
        """What the run had done by then."""


class Signals:
    """The handlers of this process, as a context manager that installs them.

    A signal that is ignored when the process starts (`nohup`, a background job) stays ignored.
    Outside the main thread, which alone may have handlers, nothing is installed.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._received: int | None = None
        self._at = 0.0
        self._held = False
        self.outcome = NOTHING
        """What is true of the run if a signal ends it now."""

    def __enter__(self) -> Self:
        self._received, self._held, self.outcome = None, False, NOTHING
        for number in (getattr(signal, name, None) for name in _NAMES):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                try:
                    before = signal.signal(number, self.handle)
                except ValueError:
                    break
                self._before[number] = before or signal.SIG_DFL
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Once interrupted, the process ends: a signal more would change its exit code, because
        # Python gives up its own handlers, but not this one, before it has taken itself down.
        ended = self._received is not None
        while self._before:
            number, before = self._before.popitem()
            signal.signal(number, signal.SIG_IGN if ended else before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put off a signal: what runs now must not be cut in two.

        Such as an import: a class body turns the signal into a RuntimeError, and numpy and onnx
        crash when the import of a compiled module is cut.

        Raises:
            Interrupted: A signal came in the meantime.
        """
        self.hold()
        try:
            yield
        except BaseException:
            self.drop_hold()
            raise
        self.release()

    def hold(self) -> None:
        """Put off a signal until `release`."""
        self._held = True

    def release(self) -> None:
        """Let signals through again.

        Raises:
            Interrupted: One came in the meantime.
        """
        held, self._held = self._held, False
        if held and self._received is not None:
            raise Interrupted(self._received, self.outcome)

    def drop_hold(self) -> None:
        """Let signals through again; one that came in the meantime is forgotten."""
        self._held = False

    def handle(self, signum: int, frame: FrameType | None = None) -> None:
        """Do what a signal asks for; what `signal.signal` is given.

        Raises:
            Interrupted: Unless signals are held, or this one follows another closely.
        """
        now, first = time.monotonic(), self._received is None
        if not first and now - self._at < PATIENCE_SECONDS:
            return
        self._received, self._at = signum, now
        if not (first and self._held):
            raise Interrupted(signum, self.outcome)


SIGNALS: Final = Signals()
"""The one of this process, as its handlers are."""

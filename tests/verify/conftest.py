"""What the tests of `verify` share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def _nothing_hangs() -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError("a bad model held the reader up")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)

"""A test that is marked `ends_within` fails when it takes longer, whatever the code catches."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

__all__ = ["HeldUp", "ends_within"]


class HeldUp(BaseException):
    """Not an `Exception`, which the code under test might take for an error of the system."""


@pytest.fixture(autouse=True)
def ends_within(request: pytest.FixtureRequest) -> Iterator[None]:
    """Raise in a test when the seconds of its mark are over."""
    mark = request.node.get_closest_marker("ends_within")
    if mark is None:
        yield
        return
    (seconds,) = mark.args

    def stop(signum: int, frame: object) -> None:
        raise HeldUp(f"not over after {seconds} seconds")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)

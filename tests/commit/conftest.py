"""What the tests of the commit share: a tracer, and scenes played once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .judge import Judge
from .scenes import SCENES
from .traced import Tracer, why_not


@pytest.fixture(scope="session")
def tracer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracer]:
    """Runs tasks under strace."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Tracer(tmp_path_factory.mktemp("strace") / "log") as result:
        yield result


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Judge]:
    """Plays a scene once for all tests."""

    @functools.cache
    def play(name: str) -> Judge:
        return Judge.of(SCENES[name], tmp_path_factory.mktemp(name))

    return play

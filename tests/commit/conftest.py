"""What the tests of the commit share: a tracer, and scenes played once."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.commit.judge import Judge
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer, why_not
from tests.transfer.conftest import cloning_folder

__all__ = ["cloning_folder"]


@pytest.fixture(scope="session", autouse=True)
def _on_linux() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("needs Linux: /proc, and the calls that it has")


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracer]:
    """Runs tasks in processes of their own."""
    with Tracer(tmp_path_factory.mktemp("strace") / "log") as result:
        yield result


@pytest.fixture(scope="session")
def tracer(runner: Tracer) -> Tracer:
    """Runs tasks under strace."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    return runner


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Judge]:
    """Plays a scene once for all tests."""

    @functools.cache
    def play(name: str) -> Judge:
        return Judge.of(SCENES[name], tmp_path_factory.mktemp(name))

    return play

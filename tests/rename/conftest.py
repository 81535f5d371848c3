"""What the tests of renaming share: a tracer, and scenes played once."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from tests.commit.conftest import runner, tracer

from .judge import RenameJudge
from .scenes import RENAMES

__all__ = ["runner", "tracer"]


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RenameJudge]:
    """Plays a scene once for all tests."""

    @functools.cache
    def play(name: str) -> RenameJudge:
        return RenameJudge.of(RENAMES[name], tmp_path_factory.mktemp(name))

    return play

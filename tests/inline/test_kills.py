"""Inlined in place and killed: the old model with its data, or the new one; never one without."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.conftest import runner, tracer
from tests.commit.judge import Judge, loads_everywhere
from tests.commit.kills import Wrongs, killed
from tests.commit.perform import perform
from tests.commit.scenes import INLINE
from tests.commit.traced import Tracer

__all__ = ["runner", "tracer"]

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

LEAST = 20
"""Kill points: fewer, and the tests have gone blind."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge.of(INLINE, tmp_path_factory.mktemp("inline"))


def test_a_killed_run_leaves_a_whole_model_and_recover_settles_it(
    tracer: Tracer, judge: Judge, tmp_path: Path
) -> None:
    root, wrongs = tmp_path / "scene", Wrongs()
    model = root / INLINE.model
    number = 0
    for number, point in enumerate(killed(tracer, INLINE, root)):
        with wrongs.at(point):
            assert judge.whole(root)
            loads_everywhere(model, runtime=number % 5 == 0)
            recover_folder(model.parent)
            judge.settled(root)
            assert recover_folder(model.parent) == ()
    wrongs.none()
    assert number > LEAST


def test_the_next_run_finishes_what_a_killed_one_began(
    tracer: Tracer, judge: Judge, tmp_path: Path
) -> None:
    root, wrongs = tmp_path / "scene", Wrongs()
    for point in killed(tracer, INLINE, root, only=("rename", "link", "unlink", "rmdir")):
        with wrongs.at(point):
            assert "done" in perform(INLINE.task(root))
            judge.is_after(root)
    wrongs.none()

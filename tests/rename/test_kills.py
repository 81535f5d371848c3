"""A rename killed at any call that changes the disk: old or new is whole, and again means done.

The kill comes on entry of the call: between two calls, every state that another process can see.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commit.kills import CHANGES, Wrongs, killed
from tests.commit.traced import Tracer

from .judge import RenameJudge
from .scenes import RENAMES

pytestmark = pytest.mark.needs_strace

Judges = Callable[[str], RenameJudge]
NO_LINKS = "link,linkat:error=EPERM"
WITHOUT_LINKS = [call for call in CHANGES if "link" not in call or "unlink" in call]
LEAST = 25
"""Kill points of the shortest scene: fewer, and the tests have gone blind."""


@pytest.mark.parametrize("name", RENAMES)
def test_a_killed_rename_leaves_a_whole_model_and_the_same_command_ends_it(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    number = 0
    for number, point in enumerate(killed(tracer, one.scene, root)):
        with wrongs.at(point):
            one.whole(root, runtime=number % 7 == 0)
            one.finish(root)
    wrongs.none()
    assert number > LEAST


@pytest.mark.parametrize("name", RENAMES)
def test_recovering_first_destroys_nothing(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    for point in killed(tracer, one.scene, root):
        with wrongs.at(point):
            one.recover(root)
            one.finish(root)
    wrongs.none()

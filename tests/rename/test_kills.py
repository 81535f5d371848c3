"""A rename killed at any call that changes the disk: old or new is whole, and again means done.

The kill comes on entry of the call: between two calls, every state that another process can see.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commit.judge import content
from tests.commit.kills import CHANGES, Wrongs, killed
from tests.commit.traced import Tracer

from .judge import RenameJudge
from .scenes import RENAMES

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

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


@pytest.mark.parametrize("name", ["one_file", "moved_and_renamed", "over_another"])
def test_without_hard_links_the_data_is_copied_and_nothing_is_lost_either(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    loud = 0
    for point in killed(tracer, one.scene, root, NO_LINKS, only=WITHOUT_LINKS):
        with wrongs.at(point):
            try:
                one.whole(root)
            except FileNotFoundError:
                loud += 1  # the replaced model, half way to the new one; the old one is there
                assert content(root / one.scene.source) == one.wanted
            ended = tracer.run(one.scene.task(root), ["link", "linkat"], NO_LINKS)
            one.ended(ended.result, root)
    wrongs.none()
    assert bool(loud) == (name == "over_another")


@pytest.mark.parametrize("error", ["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"])
@pytest.mark.parametrize("name", RENAMES)
def test_a_rename_whose_links_are_refused_succeeds(
    name: str, error: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root = judge(name), tmp_path / "scene"
    one.scene.build(root)
    ended = tracer.run(one.scene.task(root), ["link"], f"link,linkat:error={error}")
    assert ended.result == {"done": ["renamed"], "leaked": []}
    one.is_after(root)

"""A run killed at any call that changes the disk leaves the old pair or the new one.

The kill comes on entry of the call: between two calls, every state that another process can see.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.judge import Judge, loads_everywhere
from tests.commit.kills import CHANGES, Wrongs, changes_of, kill, killed
from tests.commit.perform import perform
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer

pytestmark = pytest.mark.needs_strace

NAMES = ("rename", "link", "unlink", "rmdir", "unlinkat", "mkdir")
"""Calls that change what is where."""
LEAST = 25
"""Kill points of the shortest scene: fewer, and the tests have gone blind."""


@pytest.mark.parametrize("name", [name for name in SCENES if name != "large"])
def test_a_killed_run_leaves_a_whole_pair_and_recover_settles_it(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    model = root / one.scene.model
    number = 0
    for number, point in enumerate(killed(tracer, one.scene, root)):
        with wrongs.at(point):
            if one.whole(root):
                loads_everywhere(model, runtime=number % 5 == 0)
            recover_folder(model.parent)
            one.settled(root)
            assert recover_folder(model.parent) == ()
    wrongs.none()
    assert number > LEAST


@pytest.mark.parametrize("name", [name for name in SCENES if name != "large"])
def test_the_next_run_finishes_what_a_killed_one_began(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    for point in killed(tracer, one.scene, root, only=NAMES[:4]):
        with wrongs.at(point):
            result = perform(one.scene.task(root, overwrite=True))
            assert "done" in result, result
            one.is_after(root)
            assert recover_folder((root / one.scene.model).parent) == ()
    wrongs.none()


@pytest.mark.parametrize(
    ("name", "call", "numbers"),
    [
        ("fresh", "link", [1, 2]),  # the data, the model
        ("in_place", "rename", [2, 3, 4]),  # the bridge, the data, the model; 1 is the journal
        ("in_place_three", "rename", [4, 6]),  # the second data file, the model
    ],
)
def test_a_recovery_that_is_killed_is_recovered(
    name: str,
    call: str,
    numbers: list[int],
    tracer: Tracer,
    judge: Callable[[str], Judge],
    tmp_path: Path,
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    task = {"call": "recover", "folder": str((root / one.scene.model).parent)}
    one.scene.build(root)
    run = changes_of(tracer, one.scene.task(root))
    for outer in (one for one in run if one.name == call and one.number in numbers):
        one.rebuild(root)
        kill(tracer, one.scene.task(root), outer)
        for inner in (call for call in changes_of(tracer, task) if call.name in NAMES):
            one.rebuild(root)
            kill(tracer, one.scene.task(root), outer)
            kill(tracer, task, inner)
            with wrongs.at(f"{outer}, then {inner}"):
                one.whole(root)
                recover_folder((root / one.scene.model).parent)
                one.settled(root)
    wrongs.none()


@pytest.mark.parametrize("name", ["in_place", "in_place_three", "overwrite", "fresh"])
def test_without_hard_links_a_killed_run_fails_loudly_at_worst_and_recover_mends_it(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    no_links = "link,linkat:error=EPERM"
    only = [call for call in CHANGES if "link" not in call or "unlink" in call]
    task = {"call": "recover", "folder": str((root / one.scene.model).parent)}
    loud = 0
    for point in killed(tracer, one.scene, root, no_links, only=only):
        with wrongs.at(point):
            try:
                one.whole(root)
            except FileNotFoundError:
                loud += 1
            ended = tracer.run(task, ["link", "linkat"], no_links)
            assert "done" in ended.result, ended.result
            one.settled(root)
            assert recover_folder(Path(task["folder"])) == ()
    wrongs.none()
    assert bool(loud) == (name != "fresh")

"""A run killed at every call that it makes, whatever the call: no list that may lack one.

The kill comes on entry, so that on the next call shows what the call before has done.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import align_file
from onnx_align_pass.recovering import recover_folder
from tests.commit.judge import Judge
from tests.commit.kills import CHANGES, Wrongs, calls_of, killed
from tests.commit.perform import perform
from tests.commit.scenes import INLINE, REPAIR, SAVE, SCENES, Scene
from tests.commit.shared_scenes import SHARED_SCENES
from tests.commit.traced import Tracer
from tests.rename.scenes import RENAMES

pytestmark = pytest.mark.needs_strace

EVERY: dict[str, int] = {"fresh": 200, "in_place": 350, "overwrite": 450}
"""Scenes that are killed at every call, and how many calls they make at least."""
PLAYED = [*SCENES.values(), *RENAMES.values(), INLINE, REPAIR, SAVE]
COPYING = ("ioctl", "ftruncate", "splice", "copy_file_range", "preadv2", "pwrite64", "pwritev2")
NO_SPLICE = "splice:error=EINVAL"
NO_RANGE = "copy_file_range:error=EXDEV"


@pytest.mark.parametrize("scene", PLAYED, ids=lambda one: one.name)
def test_every_call_is_one_that_is_tried(scene: Scene, tracer: Tracer, tmp_path: Path) -> None:
    scene.build(tmp_path)
    assert {one.name for one in calls_of(tracer, scene.task(tmp_path))} & {*CHANGES}


@pytest.mark.parametrize("name", SHARED_SCENES)
def test_every_call_of_a_shared_run_is_one_that_is_tried(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    scene = SHARED_SCENES[name]
    scene.build(tmp_path)
    assert {one.name for one in calls_of(tracer, scene.task(tmp_path))} & {*CHANGES}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EVERY)
def test_a_run_killed_at_any_call_leaves_a_whole_pair_that_recover_settles(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    folder = (root / one.scene.model).parent
    number = 0
    for number, point in enumerate(killed(tracer, one.scene, root, every=True), 1):
        with wrongs.at(point):
            one.whole(root)
            if number % 2:
                recover_folder(folder)
                one.settled(root)
            else:  # the next run alone
                result = perform(one.scene.task(root, overwrite=True))
                assert "done" in result, result
                one.is_after(root)
            assert recover_folder(folder) == ()
    wrongs.none()
    assert number > EVERY[name]


@pytest.mark.exhaustive
@pytest.mark.parametrize("scene", [REPAIR, SAVE], ids=lambda one: one.name)
def test_a_killed_repair_or_save_leaves_a_whole_pair_that_recover_settles(
    scene: Scene, tracer: Tracer, tmp_path: Path
) -> None:
    one, root, wrongs = Judge.of(scene, tmp_path / "once"), tmp_path / "scene", Wrongs()
    for point in killed(tracer, scene, root):
        with wrongs.at(point):
            one.whole(root)
            recover_folder((root / scene.model).parent)
            one.settled(root)
            result = perform(scene.task(root, overwrite=True))
            assert "done" in result, result
            one.is_after(root)
    wrongs.none()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rung", "faults"),
    [
        ("splice", []),
        ("copy_file_range", [NO_SPLICE]),
        ("pwrite64", [NO_SPLICE, NO_RANGE]),
    ],
)
def test_a_run_killed_within_a_copy_leaves_the_old_pair_and_no_litter(
    rung: str,
    faults: list[str],
    tracer: Tracer,
    judge: Callable[[str], Judge],
    tmp_path: Path,
) -> None:
    one, root, wrongs = judge("large"), tmp_path / "scene", Wrongs()
    only = [call for call in COPYING if not any(call in fault for fault in faults)]
    seen = set()
    for point in killed(tracer, one.scene, root, *faults, only=only):
        seen.add(point.name)
        with wrongs.at(point):
            one.whole(root)
            assert [left.outcome for left in recover_folder(root / "folder")] == ["discarded"]
            one.settled(root)
    wrongs.none()
    assert rung in seen


def large_and_aligned(root: Path) -> None:
    SCENES["large"].build(root)
    align_file(root / SCENES["large"].source, durable=False)


@pytest.mark.exhaustive
@pytest.mark.needs_reflink
def test_a_run_killed_while_it_clones_leaves_the_old_pair_and_no_litter(
    tracer: Tracer, cloning_folder: Path
) -> None:
    options = {"alignment": 1 << 16}
    scene = Scene("cloned", large_and_aligned, SCENES["large"].source, None, options)
    one, root, wrongs = Judge.of(scene, cloning_folder / "once"), cloning_folder / "at", Wrongs()
    clones = 0
    for point in killed(tracer, scene, root, only=("ioctl", "ftruncate", "splice")):
        clones += "FICLONERANGE" in point.arguments
        with wrongs.at(point):
            one.whole(root)
            assert [left.outcome for left in recover_folder(root / "folder")] == ["discarded"]
            one.settled(root)
    wrongs.none()
    assert clones

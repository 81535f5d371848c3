"""A run on several models that is killed leaves each of them the old one or the new one, whole.

And the same command, called again, completes the group.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.judge import loads_everywhere
from tests.commit.kills import Wrongs, changes_of, kill, killed
from tests.commit.perform import perform
from tests.commit.shared_judge import Group
from tests.commit.shared_scenes import MODELS, SHARED_SCENES
from tests.commit.traced import Tracer

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

NAMES = ("rename", "link", "unlink", "rmdir", "unlinkat", "mkdir")
LEAST = 25


@pytest.mark.parametrize("name", SHARED_SCENES)
def test_a_killed_run_leaves_whole_models_and_is_completed_by_the_same_command(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    group, root, wrongs = Group(SHARED_SCENES[name], tmp_path / "once"), tmp_path / "at", Wrongs()
    number = 0
    for number, point in enumerate(killed(tracer, group.scene, root, only=NAMES)):
        with wrongs.at(point):
            group.whole(root)
            for model in MODELS:
                if (root / "folder" / model).exists():
                    loads_everywhere(root / "folder" / model, runtime=number % 9 == 0)
            result = perform(group.scene.task(root))
            assert "done" in result, result
            group.complete(root)
            again = perform(group.scene.task(root))
            assert again.get("done") == ["unchanged"] * 3, again
    wrongs.none()
    assert number > LEAST


@pytest.mark.parametrize("name", ["fresh", "over_itself"])
def test_recover_alone_leaves_whole_models_and_no_litter(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    group, root, wrongs = Group(SHARED_SCENES[name], tmp_path / "once"), tmp_path / "at", Wrongs()
    for point in killed(tracer, group.scene, root, only=NAMES[:3]):
        with wrongs.at(point):
            recover_folder(root / "folder")
            group.whole(root)
            assert not [path for path in (root / "folder").iterdir() if ".align-" in path.name]
            assert recover_folder(root / "folder") == ()
    wrongs.none()


@pytest.mark.parametrize("name", ["fresh", "over_itself"])
def test_a_run_that_completes_and_is_killed_is_completed(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    group, root, wrongs = Group(SHARED_SCENES[name], tmp_path / "once"), tmp_path / "at", Wrongs()
    task = group.scene.task(root)
    group.scene.build(root)
    points = [one for one in changes_of(tracer, task) if one.name in ("rename", "link")]
    shutil.rmtree(root)
    for outer in points[::4]:
        group.scene.build(root)
        kill(tracer, task, outer)
        inner = [one for one in changes_of(tracer, task) if one.name in ("rename", "link")]
        shutil.rmtree(root)
        for point in inner[::3]:
            group.scene.build(root)
            kill(tracer, task, outer)
            kill(tracer, task, point)
            with wrongs.at(f"{outer}, then {point}"):
                group.whole(root)
                assert "done" in perform(task)
                group.complete(root)
            shutil.rmtree(root)
    wrongs.none()

"""Runs on several models that are interrupted, or that fail: whole models, and no litter."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commit.interrupts import interrupting
from tests.commit.kills import Wrongs, changes_of
from tests.commit.perform import perform
from tests.commit.shared_judge import Group
from tests.commit.shared_scenes import SHARED_SCENES
from tests.commit.traced import Tracer

pytestmark = pytest.mark.exhaustive
NAMES = ["fresh", "over_itself", "over_one"]


def no_litter(root: Path) -> None:
    assert not [path for path in (root / "folder").iterdir() if ".align-" in path.name]


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupt_leaves_whole_models_and_no_litter(name: str, tmp_path: Path) -> None:
    group, root, wrongs = Group(SHARED_SCENES[name], tmp_path / "once"), tmp_path / "at", Wrongs()
    task = group.scene.task(root, durable=False)
    group.scene.build(root)
    with interrupting(after=False) as counted:
        assert "done" in perform(task)
    assert counted.count > 150
    for number in range(0, counted.count, 1 + counted.count // 60):
        shutil.rmtree(root)
        group.scene.build(root)
        with interrupting(number, after=False) as found:
            result = perform(task)
        with wrongs.at(f"{number} {found.fired}"):
            assert result.get("error") == "NOT OURS: KeyboardInterrupt", result
            group.whole(root)
            no_litter(root)
            # A lock that was not closed, by the test itself, would be waited for.
            if not found.fired[0].startswith("close"):
                assert "done" in perform(task)
                group.complete(root)
    wrongs.none()


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_fails_is_a_named_error_and_the_same_command_completes(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    group, root, wrongs = Group(SHARED_SCENES[name], tmp_path / "once"), tmp_path / "at", Wrongs()
    task = group.scene.task(root)
    group.scene.build(root)
    points = changes_of(tracer, task)
    steps = [one for one in points if one.name in ("rename", "link", "fsync", "ioctl", "write")]
    errors = 0
    for point in steps[::2]:
        shutil.rmtree(root)
        group.scene.build(root)
        fault = f"{point.name}:error=ENOSPC:when={point.number}"
        ended = tracer.run(task, [point.name], fault)
        with wrongs.at(point):
            if "done" not in ended.result:  # where there are no links, files are moved
                errors += 1
                assert ended.result["error"] in ("DiskFullError", "WriteError"), ended.result
            group.whole(root)
            no_litter(root)
            assert "done" in perform(task)
            group.complete(root)
    wrongs.none()
    assert errors > 5

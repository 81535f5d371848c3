"""A rename on a file system without hard links, owners and modes: USB sticks, SD cards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.judge import content
from tests.commit.kills import Wrongs, killed
from tests.commit.perform import perform
from tests.commit.test_without_links import stick
from tests.commit.traced import Tracer

from .scenes import RENAMES

__all__ = ["stick"]

DONE = {"done": ["renamed"], "leaked": []}


@pytest.mark.needs_mount
@pytest.mark.parametrize("name", RENAMES)
def test_a_rename_on_a_stick_succeeds(name: str, stick: Path) -> None:
    root, scene = stick / name, RENAMES[name]
    scene.build(root)
    wanted = content(root / scene.source)
    assert perform(scene.task(root)) == DONE
    assert content(root / scene.model) == wanted
    assert not (root / scene.source).exists()
    assert not list(root.rglob("*.align-*"))


@pytest.mark.needs_mount
@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["one_file", "moved_and_renamed"])
def test_a_rename_killed_on_a_stick_is_finished_by_the_same_command(
    name: str, stick: Path, tracer: Tracer
) -> None:
    root, scene, wrongs = stick / "killed", RENAMES[name], Wrongs()
    wanted = None
    for point in killed(tracer, scene, root, only=("rename", "unlink", "unlinkat", "mkdir")):
        with wrongs.at(point):
            there = [root / one for one in (scene.source, scene.model) if (root / one).exists()]
            wanted = wanted or content(there[0])
            assert [content(one) for one in there] == [wanted] * len(there)
            result = perform(scene.task(root))
            assert "done" in result or result["error"] == "ModelNotFoundError", result
            assert content(root / scene.model) == wanted
            assert not (root / scene.source).exists()
            assert not list(root.rglob("*.align-*"))
            names = os.listdir((root / scene.source).parent)
            assert not [one for one in names if one.startswith("old") and scene.name == "one_file"]
            assert recover_folder((root / scene.model).parent) == ()
    wrongs.none()

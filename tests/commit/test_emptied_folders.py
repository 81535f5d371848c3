"""Folders that held nothing but data that is gone go with it; no other folder does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnx_align_pass import LayoutPolicy, align_file
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.recovering import recover_folder
from onnx_align_pass.renaming import rename_file
from tests.commit.judge import content
from tests.commit.kills import changes_of, kill
from tests.commit.scenes import Scene, weights, write
from tests.commit.traced import Tracer
from tests.corpus.build import showing

NAMES = ("a/b/one.data", "a/two.data", "three.data")


def build(root: Path) -> None:
    write(root / "folder", showing(weights(root / "folder", *NAMES)[1:]))


ONE_FILE = LayoutPolicy(data_name="new.data", max_shard_size_bytes=1 << 20)
SCENE = Scene(
    "",
    build,
    "folder/model.onnx",
    None,
    {"data_name": "new.data", "max_shard_size_bytes": 1 << 20},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build(tmp_path)
    return tmp_path / "folder"


def test_folders_of_superseded_data_are_removed(folder: Path) -> None:
    align_file(folder / "model.onnx", layout=ONE_FILE)
    assert sorted(os.listdir(folder)) == ["model.onnx", "new.data"]


def test_folders_of_data_that_came_back_inside_are_removed(folder: Path) -> None:
    inline_file(folder / "model.onnx")
    assert os.listdir(folder) == ["model.onnx"]


def test_folders_of_data_that_moved_are_removed_and_the_models_own_stays(folder: Path) -> None:
    wanted = content(folder / "model.onnx")
    rename_file(folder / "model.onnx", folder.parent / "moved" / "model.onnx")
    assert os.listdir(folder) == []
    assert content(folder.parent / "moved" / "model.onnx") == wanted


@pytest.mark.parametrize("kept", ["a/note.txt", "a/b/note.txt", "a/empty/", "empty/"])
def test_a_folder_with_anything_else_in_it_stays(kept: str, folder: Path) -> None:
    path = folder / kept
    if kept.endswith("/"):
        path.mkdir()
    else:
        path.write_text("mine")
    align_file(folder / "model.onnx", layout=ONE_FILE)
    assert path.exists()
    assert (folder / "a" / "b").exists() == ("b" in Path(kept).parts)


def test_a_link_to_a_folder_stays_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "folder" / "real").mkdir(parents=True)
    (tmp_path / "folder" / "a").symlink_to("real")
    build(tmp_path)
    align_file(tmp_path / "folder" / "model.onnx", layout=ONE_FILE)
    assert sorted(os.listdir(tmp_path / "folder")) == ["a", "model.onnx", "new.data", "real"]


@pytest.mark.needs_strace
def test_folders_that_a_killed_run_was_about_to_remove_go_when_it_is_recovered(
    tracer: Tracer, tmp_path: Path
) -> None:
    build(tmp_path / "counted")
    calls = changes_of(tracer, SCENE.task(tmp_path / "counted"))
    emptied = [one for one in calls if one.name == "rmdir" and "folder/a" in one.arguments]
    assert len(emptied) == 2
    for point in emptied:
        root = tmp_path / str(point)
        build(root)
        kill(tracer, SCENE.task(root), point)
        assert (root / "folder" / "a").exists()
        assert [one.outcome for one in recover_folder(root / "folder")] == ["finished"]
        assert sorted(os.listdir(root / "folder")) == ["model.onnx", "new.data"]

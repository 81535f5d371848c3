"""Runs that keep the old data: killed, or failing, at any call, the model that is there is whole.

The new data's name is another one in each run, so that folders are judged by what lies in them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from onnx_align_pass import prune_file, recover_folder
from onnx_align_pass.transfer.kept import is_record_name
from tests.commit.judge import Content, content, data_files
from tests.commit.kills import Wrongs, changes_of, kill, killed
from tests.commit.perform import perform
from tests.commit.scenes import IN_PLACE, Scene, one_file, over_another_model, three_files
from tests.commit.traced import Tracer

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

KEPT = {"keep_old_data": True}
SCENES = [
    Scene("one file", one_file, IN_PLACE, options=KEPT),
    Scene("three files", three_files, IN_PLACE, options=KEPT),
    Scene(
        "over another model",
        over_another_model,
        "source/model.onnx",
        IN_PLACE,
        {"overwrite": True, **KEPT},
    ),
]
ERRORS = ("ENOSPC", "EIO", "EACCES")


class Expected:
    """What the folder may be."""

    def __init__(self, scene: Scene, root: Path) -> None:
        scene.build(root)
        self.model = root / scene.model
        self.old = content(self.model)
        self.new = content(root / scene.source)
        self.kept = {path: path.read_bytes() for path in data_files(self.model)}
        self.files = set(_files(self.model.parent))

    def whole(self) -> Content:
        """Hold the model to be one of the two, and the old data to be there; say which it is."""
        found = content(self.model)
        assert found in (self.old, self.new)
        for path, data in self.kept.items():
            assert path.read_bytes() == data
        return found

    def settled(self) -> None:
        """Hold nothing to be there but what was, the data of the model that is there, records."""
        self.whole()
        found = {one for one in _files(self.model.parent) if not is_record_name(one.name)}
        assert found == self.files | data_files(self.model), found
        assert all(path.stat().st_nlink == 1 for path in found)

    def pruned(self) -> None:
        """Hold the old data to go when it is asked to, if the new model is there."""
        new = data_files(self.model).isdisjoint(self.kept)
        report = prune_file(self.model)
        assert {one.path for one in report.removed} == (set(self.kept) if new else set())
        left = (self.files | data_files(self.model)) - (set(self.kept) if new else set())
        assert _files(self.model.parent) <= left
        assert content(self.model) in (self.old, self.new)


def _files(folder: Path) -> set[Path]:
    return {Path(place, name) for place, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_kill_leaves_a_whole_pair_and_the_old_data(
    scene: Scene, tracer: Tracer, tmp_path: Path
) -> None:
    expected, wrongs = Expected(scene, tmp_path / "scene"), Wrongs()
    shutil.rmtree(tmp_path / "scene")
    for number, point in enumerate(killed(tracer, scene, tmp_path / "scene")):
        with wrongs.at(point):
            expected.whole()
            if number % 2:
                recover_folder(expected.model.parent)
                expected.settled()
                expected.pruned()
            else:
                assert "done" in perform(scene.task(tmp_path / "scene"))
                assert expected.whole() == expected.new
            assert recover_folder(expected.model.parent) == ()
    wrongs.none()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_failed_call_costs_nothing(scene: Scene, tracer: Tracer, tmp_path: Path) -> None:
    root, wrongs = tmp_path / "scene", Wrongs()
    expected = Expected(scene, root)
    points = changes_of(tracer, scene.task(root))
    for number, point in enumerate(points):
        shutil.rmtree(root)
        scene.build(root)
        error = ERRORS[number % len(ERRORS)]
        fault = f"{point.name}:error={error}:when={point.number}"
        ended = tracer.run(scene.task(root), [point.name], fault)
        with wrongs.at(f"{error} at {point}"):
            assert "(INJECTED)" in ended.log
            assert not ended.result.get("error", "").startswith("NOT OURS"), ended.result
            recover_folder(expected.model.parent)  # a removal may have failed
            expected.settled()
    wrongs.none()


def test_a_prune_that_is_killed_is_done_by_the_next(tracer: Tracer, tmp_path: Path) -> None:
    scene, root, wrongs = SCENES[1], tmp_path / "scene", Wrongs()
    one_prune = {"call": "prune", "source": str(root / IN_PLACE)}

    def build() -> None:
        shutil.rmtree(root, ignore_errors=True)
        scene.build(root)
        assert "done" in perform(scene.task(root))

    build()
    wanted = content(root / IN_PLACE)
    points = changes_of(tracer, one_prune)
    assert sum(one.name == "unlink" for one in points) == 4
    for point in points:
        build()
        kill(tracer, one_prune, point)
        with wrongs.at(point):
            assert content(root / IN_PLACE) == wanted
            prune_file(root / IN_PLACE)
            assert content(root / IN_PLACE) == wanted
            assert not prune_file(root / IN_PLACE, dry_run=True).removed
    wrongs.none()

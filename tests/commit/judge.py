"""What a folder may be after a run was cut off: the old pair or the new one, nothing else."""

from __future__ import annotations

import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.checker import ValidationError

from tests.align.snapshot import snapshot
from tests.commit.perform import perform
from tests.commit.scenes import Scene
from tests.corpus import oracle
from tests.corpus.running import run, same_outputs

__all__ = ["Judge", "loads_everywhere"]

Snapshot = dict[str, tuple[Any, ...]]
Content = tuple[dict[str, oracle.TensorContent], bytes]
"""Every tensor, and the rest of the model."""


@dataclass(frozen=True)
class Judge:
    """A scene with what its folder is before the run and after it."""

    scene: Scene
    before: Snapshot
    after: Snapshot
    contents: tuple[Content, ...]
    """Of the old model, if there is one, and of the new one."""

    @classmethod
    def of(cls, scene: Scene, folder: Path) -> Judge:
        """Play the scene once, undisturbed, in an empty folder."""
        scene.build(folder)
        before = snapshot(folder)
        model = folder / scene.model
        found = [model] if model.exists() else []
        contents = [content(path) for path in found]
        assert perform(scene.task(folder)) == {"done": ["written"], "leaked": []}
        tensors, rest = content(model)
        source_tensors, source_rest = content_of_source(scene, folder, contents)
        assert tensors == source_tensors
        assert rest == source_rest or scene.call == "save"  # where onnx-ir adds what it infers
        result = cls(scene, before, snapshot(folder), (*contents, content(model)))
        shutil.rmtree(folder)
        return result

    def whole(self, root: Path) -> bool:
        """Hold the model to be the old one or the new one, and everything else to be untouched.

        Returns:
            Whether there is a model.
        """
        self.nothing_else_changed(root)
        model = root / self.scene.model
        if not model.exists():
            assert self.scene.model not in self.before, "the old model is gone"
            return False
        assert content(model) in self.contents
        return True

    def nothing_else_changed(self, root: Path) -> None:
        """Hold what is the same before and after the run to be the same in the middle."""
        found = snapshot(root)
        for name, facts in self.before.items():
            # A folder's own entry counts the folders in it, the staging folder too.
            if self.after.get(name) == facts and not (root / name).is_dir():
                assert found.get(name) == facts, name

    def is_after(self, root: Path, *, superseded_may_stay: bool = False) -> None:
        """Hold the folder to be as after the run."""
        found, after = snapshot(root), self.after
        if superseded_may_stay:
            old = {name: facts for name, facts in self.before.items() if name not in self.after}
            found = {name: facts for name, facts in found.items() if old.get(name) != facts}
            found, after = without_folders(found), without_folders(after)
        assert found == after, difference(found, after)

    def rebuild(self, root: Path) -> None:
        """Make the scene anew."""
        shutil.rmtree(root, ignore_errors=True)
        self.scene.build(root)

    def settled(self, root: Path) -> None:
        """Hold the folder to be as before the run or as after it, to the last link and mode."""
        found = snapshot(root)
        assert found in (self.before, self.after), difference(found, self.before, self.after)


def content(model: Path) -> Content:
    """What a model holds, by the oracle."""
    return oracle.tensors(model), oracle.rest(model)


def content_of_source(scene: Scene, folder: Path, old: list[Content]) -> Content:
    """What the new model must hold."""
    return old[0] if scene.destination is None else content(folder / scene.source)


def loads_everywhere(model: Path, *, runtime: bool) -> None:
    """Hold onnx to load what the oracle reads, or to refuse a data file that has two links."""
    wanted = oracle.tensors(model)
    links = [entry for entry in data_files(model) if entry.stat().st_nlink > 1]
    if links:
        with pytest.raises(ValidationError):
            onnx.load(model)
        return
    loaded = onnx.load(model)
    assert {place: tensor.raw_data for place, tensor in oracle.walk(loaded)} == {
        place: found.raw for place, found in wanted.items()
    }
    if runtime:
        assert same_outputs(run(model), run(oracle.inlined(model).SerializeToString()))


def data_files(model: Path) -> set[Path]:
    """The files that a model points at."""
    return {
        model.parent / oracle.entries_of(tensor)["location"]
        for _, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }


def without_folders(found: Snapshot) -> Snapshot:
    """The files alone: a folder has a link for each folder in it."""
    return {name: facts for name, facts in found.items() if not stat.S_ISDIR(facts[0])}


def difference(found: Snapshot, *wanted: Snapshot) -> str:
    """Which names differ from each of the folders that would do."""
    lines = []
    for one in wanted:
        names = {*found, *one}
        lines.append(", ".join(sorted(n for n in names if found.get(n) != one.get(n))))
    return " / ".join(lines)

"""What the folders may be while a model is renamed: the old one, the new one or both are whole."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import Content, Snapshot, content, difference, loads_everywhere
from tests.commit.perform import perform
from tests.commit.scenes import Scene

__all__ = ["RenameJudge"]


@dataclass(frozen=True)
class RenameJudge:
    """A scene with what its folder is before the rename and after it."""

    scene: Scene
    before: Snapshot
    after: Snapshot
    wanted: Content
    """Of the model that gets another name."""
    replaced: Content | None
    """Of the model that is replaced, if there is one."""

    @classmethod
    def of(cls, scene: Scene, root: Path) -> RenameJudge:
        """Play the scene once, undisturbed, in an empty folder."""
        scene.build(root)
        before, new = snapshot(root), root / scene.model
        wanted = content(root / scene.source)
        replaced = content(new) if new.exists() else None
        assert perform(scene.task(root)) == {"done": ["renamed"], "leaked": []}
        assert content(new) == wanted
        assert not (root / scene.source).exists()
        result = cls(scene, before, snapshot(root), wanted, replaced)
        shutil.rmtree(root)
        return result

    def whole(self, root: Path, *, runtime: bool = False) -> None:
        """Hold the old model or the new one to be whole, whatever is there, and all else untouched.

        Args:
            root: The scene.
            runtime: Run the models, too.
        """
        found = snapshot(root)
        for name, facts in self.before.items():
            if self.after.get(name) == facts and not (root / name).is_dir():
                assert found.get(name) == facts, name
        old, new = root / self.scene.source, root / self.scene.model
        there = [path for path in (old, new) if path.exists()]
        contents = {path: content(path) for path in there}
        assert contents.get(old, self.wanted) == self.wanted
        assert contents.get(new, self.wanted) in (self.wanted, self.replaced)
        assert self.wanted in contents.values(), "neither the old model nor the new one is whole"
        for path in there:
            loads_everywhere(path, runtime=runtime)

    def rebuild(self, root: Path) -> None:
        """Make the scene anew."""
        shutil.rmtree(root, ignore_errors=True)
        self.scene.build(root)

    def recover(self, root: Path) -> None:
        """Recover both folders, twice; there is nothing left to recover then."""
        folders = {(root / self.scene.source).parent, (root / self.scene.model).parent}
        for folder in folders:
            recover_folder(folder)
        self.whole(root)
        for folder in folders:
            assert recover_folder(folder) == ()

    def finish(self, root: Path) -> None:
        """Run the same command again: it is done, or there is nothing left to do."""
        gone = not (root / self.scene.source).exists()
        self.ended(perform(self.scene.task(root)), root, gone=gone)

    def ended(self, result: dict[str, Any], root: Path, *, gone: bool = True) -> None:
        """Hold the command to have done it, or to have said that there is nothing to rename."""
        if "done" not in result:
            assert gone, result
            assert result["error"] == "ModelNotFoundError", result
            assert "Was it renamed already?" in result["text"]
        self.is_after(root)

    def is_after(self, root: Path, *, superseded_may_stay: bool = False) -> None:
        """Hold the folder to be as after the rename, to the last link and mode."""
        found = snapshot(root)
        if superseded_may_stay and self.replaced is not None:
            found.pop("folder/second.data", None)  # of the model that was replaced
        assert found == self.after, difference(found, self.after)

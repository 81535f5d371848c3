"""What a folder of models that share data may be after a run was cut off."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.align.snapshot import snapshot
from tests.commit.judge import Content, content, difference
from tests.commit.perform import perform
from tests.commit.shared_scenes import MODELS, SharedScene

__all__ = ["Group"]

BYSTANDERS = ("README.md", "other.onnx", "other.data")


class Group:
    """A scene with what its models are before the run and after it."""

    def __init__(self, scene: SharedScene, root: Path) -> None:
        self.scene = scene
        scene.build(root)
        self.before = contents(root)
        self.bystanders = bystanders(root)
        assert "done" in perform(scene.task(root))
        self.after = contents(root)
        self.snapshot = snapshot(root)
        assert self.after == contents(root, "source")
        assert bystanders(root) == self.bystanders
        assert not [one for one in self.before if self.before[one] == self.after[one]]
        shutil.rmtree(root)

    def whole(self, root: Path) -> None:
        """Hold each model to be the old one or the new one, and everything else untouched."""
        found = contents(root)
        for name in MODELS:
            allowed = [self.before.get(name), self.after[name]]
            assert found.get(name) in allowed, name
        assert bystanders(root) == self.bystanders

    def complete(self, root: Path) -> None:
        """Hold the folder to be as after a run that nothing disturbed."""
        found = snapshot(root)
        assert found == self.snapshot, difference(found, self.snapshot)


def contents(root: Path, place: str = "folder") -> dict[str, Content]:
    """What the models hold that are there."""
    models = [root / place / name for name in MODELS]
    return {model.name: content(model) for model in models if model.exists()}


def bystanders(root: Path) -> dict[str, bytes]:
    return {name: (root / "folder" / name).read_bytes() for name in BYSTANDERS}

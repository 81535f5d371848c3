"""Folders in which a run on several models is killed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onnx_align_pass.shared import align_shared
from tests.commit.scenes import Task, bystanders, write
from tests.corpus.build import external, showing, tensor

__all__ = ["MODELS", "SHARED_SCENES", "SharedScene"]

MODELS = ("encoder.onnx", "decoder.onnx", "joiner.onnx")
NAME = "shared.data"


@dataclass(frozen=True)
class SharedScene:
    """A folder before a run on several models, and the run."""

    name: str
    build: Callable[[Path], None]
    options: dict[str, object] = field(default_factory=dict)

    def task(self, root: Path, **more: object) -> Task:
        """The run, for `server` and `perform`."""
        return {
            "call": "share",
            "sources": [str(root / "source" / name) for name in MODELS],
            "destination": str(root / "folder"),
            "shared_data": NAME,
            **self.options,
            **more,
        }


def sources(root: Path, version: str = "", place: str = "source") -> list[Path]:
    """Three models with a tensor of their own each, and one that all have."""
    folder = root / place
    for name in MODELS:
        own = external(tensor(f"{name}{version}", [300]), folder, f"{name}.data")
        common = tensor(f"common{version}", [1100])
        common.name = "common"
        own.name = f"{name}.own"
        write(folder, showing([own, common]), name)
    return [folder / name for name in MODELS]


def fresh(root: Path) -> None:
    sources(root)
    bystanders(root / "folder")


def over_models_of_their_own_data(root: Path) -> None:
    fresh(root)
    sources(root, "old", "folder")


def over_its_older_version(root: Path) -> None:
    """All models point at the data file that is to be replaced."""
    fresh(root)
    older = sources(root, "old", "older")
    align_shared(older, root / "folder", shared_data=NAME, durable=False)


def over_an_older_version_of_one(root: Path) -> None:
    fresh(root)
    older = sources(root, "old", "older")
    align_shared(older[1:2], root / "folder", shared_data=NAME, durable=False)


SHARED_SCENES = {
    scene.name: scene
    for scene in (
        SharedScene("fresh", fresh),
        SharedScene("in_shards", fresh, {"max_shard_size_bytes": 4096}),
        SharedScene("over_others", over_models_of_their_own_data, {"overwrite": True}),
        SharedScene("over_itself", over_its_older_version, {"overwrite": True}),
        SharedScene(
            "over_its_shards",
            over_its_older_version,
            {"overwrite": True, "max_shard_size_bytes": 4096},
        ),
        SharedScene("over_one", over_an_older_version_of_one, {"overwrite": True}),
    )
}

"""Folders in which a run is killed, and the run itself; each small, and each told from the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnx import GraphProto, TensorProto

from tests.corpus.build import external, model_of, showing, tensor

__all__ = [
    "INLINE",
    "REPAIR",
    "SAVE",
    "SCENES",
    "Scene",
    "Task",
    "bystanders",
    "task",
    "weights",
    "write",
]

Task = dict[str, object]
"""What `server` is told to do: JSON."""


@dataclass(frozen=True)
class Scene:
    """A folder before a run, and the run."""

    name: str
    build: Callable[[Path], None]
    source: str
    """The model, relative to the folder."""
    destination: str | None = None
    """None: in place."""
    options: Mapping[str, object] = field(default_factory=dict)
    call: str = "align"

    @property
    def model(self) -> str:
        """The model that the run writes, relative to the folder."""
        return self.destination or self.source

    def task(self, root: Path, **more: object) -> Task:
        """The run, for `server` and `perform`."""
        return task(
            root / self.source,
            None if self.destination is None else root / self.destination,
            **{"call": self.call, **self.options, **more},
        )


def task(source: Path, destination: Path | None = None, **options: object) -> Task:
    """A call of `align_file`, unless `call` names another."""
    target = None if destination is None else str(destination)
    return {"call": "align", "source": str(source), "destination": target, **options}


def write(folder: Path, graph: GraphProto, name: str = "model.onnx") -> None:
    """Write a model, and give it and its data modes that no umask makes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(model_of(graph).SerializeToString(deterministic=True))
    path.chmod(0o640)
    for data in folder.rglob("*.data"):
        data.chmod(0o604)


def bystanders(folder: Path) -> None:
    """Files that no run may touch: a text, and a model with data of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("not a model\n")
    write(folder, showing([external(tensor("z", [600]), folder, "other.data")]), "other.onnx")


def weights(folder: Path, *locations: str, seed: str = "w") -> list[TensorProto]:
    """Two tensors in each data file, none of a page's size, and one that is still inline."""
    inline = tensor(f"{seed}.inline", [400])
    folder.mkdir(parents=True, exist_ok=True)
    return [
        inline,
        *(
            external(tensor(f"{seed}.{index}", [300 + 101 * index]), folder, location)
            for index, location in enumerate([*locations, *locations])
        ),
    ]


def one_file(root: Path) -> None:
    bystanders(root / "folder")
    folder = root / "folder"
    write(folder, showing(weights(folder, "model.onnx.data")))


def three_files(root: Path) -> None:
    bystanders(root / "folder")
    folder = root / "folder"
    names = ("a.data", "below/b.data", "c.data")
    write(folder, showing([*weights(folder, *names)[1:]]))


def three_shards(root: Path) -> None:
    """Shards whose names some of the new ones have, too."""
    bystanders(root / "folder")
    names = ("model.onnx_data", "model.onnx_data_1", "model.onnx_data_2")
    write(root / "folder", showing([*weights(root / "folder", *names)[1:]]))


def to_a_fresh_folder(root: Path) -> None:
    write(root / "source", showing(weights(root / "source", "model.onnx.data")))
    bystanders(root / "folder")


def over_another_model(root: Path) -> None:
    to_a_fresh_folder(root)
    folder = root / "folder"
    graph = showing(weights(folder, "model.onnx.data", "second.data", seed="old"))
    write(folder, graph)


def a_large_one(root: Path) -> None:
    """Tensors that are moved one by one, and tensors that are gathered."""
    folder = root / "folder"
    folder.mkdir(parents=True)
    large = external(tensor("large", [1500, 401]), folder, "model.onnx.data")
    write(folder, showing([*weights(folder, "model.onnx.data"), large]))


IN_PLACE = "folder/model.onnx"
SCENES = {
    scene.name: scene
    for scene in (
        Scene("fresh", to_a_fresh_folder, "source/model.onnx", "folder/model.onnx"),
        Scene(
            "fresh_in_shards",
            to_a_fresh_folder,
            "source/model.onnx",
            "folder/model.onnx",
            {"max_shard_size_bytes": 4096, "data_name": "new/{stem}.data"},
        ),
        Scene(
            "overwrite",
            over_another_model,
            "source/model.onnx",
            "folder/model.onnx",
            {"overwrite": True},
        ),
        Scene("in_place", one_file, IN_PLACE),
        Scene("large", a_large_one, IN_PLACE),
        Scene("in_place_three", three_files, IN_PLACE, None, {"alignment": 64}),
        Scene(
            "two_shards_of_three",
            three_shards,
            IN_PLACE,
            None,
            {"max_shard_size_bytes": 12_288, "data_name": "{model}_data{_n}"},
        ),
        Scene("in_place_other_names", one_file, IN_PLACE, None, {"max_shard_size_bytes": 4096}),
    )
}


def an_unknown_key(root: Path) -> None:
    """A model that onnxruntime refuses, and `repair` mends."""
    tensors = weights(root / "source", "model.onnx.data")
    tensors[1].external_data.add(key="origin", value="a training run")
    write(root / "source", showing(tensors))
    bystanders(root / "folder")


SAVE = Scene("save", one_file, IN_PLACE, call="save")
"""An `ir.Model` that is saved over the files that it reads from."""
REPAIR = Scene("repair", an_unknown_key, "source/model.onnx", "folder/model.onnx", call="repair")
INLINE = Scene("inline", three_files, IN_PLACE, call="inline")
"""The data of a model comes back into it, and its files go."""

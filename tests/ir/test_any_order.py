"""Random orders of loading, changing and writing: every file and every model stays right."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import onnx_ir as ir
import pytest

from onnx_align_pass import (
    AlignError,
    LayoutPolicy,
    StoragePolicy,
    WriteAlignedPass,
    align_file,
    load,
    save,
    save_shared,
)
from onnx_align_pass.with_passes import align_with_passes

from .models import contents, stored_bytes, weight, with_weights

Weights = dict[str, bytes]


class World:
    """A folder of models, and models in memory, with what each of them must hold."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.files: dict[Path, Weights] = {}
        self.held: list[tuple[ir.Model, Weights]] = []
        self.made = 0

    def step(self) -> str:
        """Do something at random; what is refused changes nothing."""
        action = self.random.choice(ACTIONS)
        try:
            action(self)
        except AlignError as error:
            return f"{action.__name__}: {type(error).__name__}"
        return action.__name__

    def check(self) -> None:
        """Every file holds what was written last, every model in memory what it held or nothing."""
        for path, weights in self.files.items():
            assert stored_bytes(path) == weights, path
        for model, weights in self.held:
            try:
                found = contents(model)
            except (AlignError, ValueError):  # it refuses to read a file that was replaced
                continue
            assert found == weights
        assert not [path for path in self.folder.iterdir() if path.name.startswith(".")]

    def path(self) -> Path:
        return self.folder / f"{self.random.choice('abv')}.onnx"

    def layout(self) -> LayoutPolicy:
        name = self.random.choice([None, None, "{stem}.bin", "shared.bin"])
        limit = self.random.choice([None, None, 20_000])
        alignment = self.random.choice([1, 64, 4096])
        return LayoutPolicy(alignment=alignment, data_name=name, max_shard_size_bytes=limit)

    def storage(self) -> StoragePolicy:
        thresholds = [1024, 1024, None, 0, 1 << 40]
        return StoragePolicy(size_threshold_bytes=self.random.choice(thresholds))

    def model(self) -> tuple[ir.Model, Weights]:
        if not self.held:
            build(self)
        return self.random.choice(self.held)


def build(world: World) -> None:
    model = with_weights()
    world.held.append((model, contents(model)))


def read(world: World) -> None:
    if world.files:
        path = world.random.choice(sorted(world.files))
        world.held.append((load(path), world.files[path]))


def copy(world: World) -> None:
    model, weights = world.model()
    world.held.append((model.clone(), weights))


def drop(world: World) -> None:
    world.held[:] = world.held[-4:]


def change(world: World) -> None:
    index = world.random.randrange(len(world.held)) if world.held else 0
    world.model()
    model, weights = world.held[index]
    name = world.random.choice("abc")
    value = model.graph.initializers[name]
    assert value.const_value is not None
    world.made += 1
    array = weight(f"{world.made}", tuple(value.const_value.shape.numpy()))
    value.const_value = ir.tensor(array, name=name)
    place = f"graph.initializer[{'abc'.index(name)}]"
    world.held[index] = model, {**weights, place: array.tobytes()}


def write(world: World) -> None:
    (model, weights), path = world.model(), world.path()
    save(model, path, storage=world.storage(), layout=world.layout(), durable=False)
    world.files[path] = weights


def write_pass(world: World) -> None:
    (model, weights), path = world.model(), world.path()
    rebind = world.random.random() < 0.5
    layout, storage = world.layout(), world.storage()
    WriteAlignedPass(path, storage=storage, layout=layout, rebind=rebind, durable=False)(model)
    world.files[path] = weights


def share(world: World) -> None:
    (model, weights), path = world.model(), world.path()
    save_shared(model, path, durable=False)
    world.files[path] = weights


def repack(world: World) -> None:
    if world.files:
        path = world.random.choice(sorted(world.files))
        align_file(path, storage=world.storage(), layout=world.layout(), durable=False)


def repack_with_passes(world: World) -> None:
    if world.files:
        path = world.random.choice(sorted(world.files))
        layout, storage = world.layout(), world.storage()
        align_with_passes(
            path, before=["remove-unused-nodes"], storage=storage, layout=layout, durable=False
        )


def remove(world: World) -> None:
    if len(world.files) > 2:
        path = world.random.choice(sorted(world.files))
        path.unlink()
        del world.files[path]


ACTIONS: list[Callable[[World], None]] = [
    *(build, read, read, copy, drop, change, change, remove),
    *(write, write, write_pass, share, share, repack, repack_with_passes),
]


@pytest.mark.parametrize("seed", [*range(12), 160, 251])
def test_in_any_order_every_file_and_every_model_stays_right(seed: int, tmp_path: Path) -> None:
    world = World(tmp_path, seed)
    done = []
    for _ in range(60):
        done.append(world.step())
        try:
            world.check()
        except AssertionError as error:
            raise AssertionError("\n".join([*done, str(error)])) from error
    assert len(set(done)) > 8

"""Saved from memory, too, equal bytes are stored once when that is asked for."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from onnx_align_pass import LayoutPolicy, align_file, load, save, save_shared
from tests.align.snapshot import snapshot
from tests.align.test_dedupe import ranges

from .models import contents, stored_bytes, weight, with_weights

DEDUPE = LayoutPolicy(dedupe=True)
NAMES = ("a", "b", "c", "d")


def lazy(name: str, content: str, made: Counter[str]) -> ir.LazyTensor:
    """A tensor that counts how often it is made."""

    def make() -> ir.TensorProtocol:
        made[name] += 1
        return ir.tensor(weight(content), name=name)

    return ir.LazyTensor(make, dtype=ir.DataType.FLOAT, shape=ir.Shape((64, 64)), name=name)


@pytest.fixture
def model() -> ir.Model:
    """Four tensors in memory of which three hold the same."""
    return with_weights(
        {name: ir.tensor(weight("other" if name == "b" else "same"), name=name) for name in NAMES}
    )


def test_tensors_in_memory(model: ir.Model, tmp_path: Path) -> None:
    before = contents(model)
    report = save(model, tmp_path / "m.onnx", layout=DEDUPE, verify=True)
    found = ranges(tmp_path / "m.onnx")
    assert found["a"] == found["c"] == found["d"] != found["b"]
    assert report.data_bytes == 2 * 64 * 64 * 4
    assert stored_bytes(tmp_path / "m.onnx") == before == contents(model)
    assert report.models[0].notes == (
        "dedupe: 2 tensors share the bytes of others, 32,768 bytes saved",
    )


def test_a_second_time_nothing_is_written(model: ir.Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", layout=DEDUPE)
    before = snapshot(tmp_path)
    assert save(model, tmp_path / "m.onnx", layout=DEDUPE).models[0].unchanged
    loaded = load(tmp_path / "m.onnx")
    assert save(loaded, tmp_path / "m.onnx", layout=DEDUPE).models[0].unchanged
    assert save(loaded, tmp_path / "m.onnx").models[0].unchanged
    assert snapshot(tmp_path) == before


def test_over_itself_the_model_follows_its_bytes(model: ir.Model, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save(model, path)
    loaded = load(path)
    before = contents(loaded)
    assert not save(loaded, path, layout=DEDUPE).models[0].unchanged
    assert path.with_name("m.onnx.data").stat().st_size == 2 * 64 * 64 * 4
    assert contents(loaded) == before == stored_bytes(path)
    assert save(loaded, path, layout=DEDUPE).models[0].unchanged


def test_it_gives_the_files_that_the_way_from_file_to_file_gives(
    model: ir.Model, tmp_path: Path
) -> None:
    save(model, tmp_path / "source.onnx")
    for folder in ("files", "memory"):
        (tmp_path / folder).mkdir()
    align_file(tmp_path / "source.onnx", tmp_path / "files" / "m.onnx", layout=DEDUPE)
    save(load(tmp_path / "source.onnx"), tmp_path / "memory" / "m.onnx", layout=DEDUPE)
    assert ranges(tmp_path / "files" / "m.onnx") == ranges(tmp_path / "memory" / "m.onnx")
    data = [(tmp_path / folder / "m.onnx.data").read_bytes() for folder in ("files", "memory")]
    assert data[0] == data[1]


@pytest.mark.parametrize("workers", [None, 3])
def test_lazy_tensors_are_made_once_to_look_and_once_to_write(
    workers: int | None, tmp_path: Path
) -> None:
    made: Counter[str] = Counter()
    content = {"a": "one", "b": "two", "c": "three"}
    model = with_weights({name: lazy(name, content[name], made) for name in content})
    save(model, tmp_path / "m.onnx", layout=DEDUPE, max_workers=workers)
    assert made == dict.fromkeys(content, 2)


@pytest.mark.parametrize("workers", [None, 3])
def test_a_lazy_tensor_that_shares_anothers_bytes_is_not_made_to_be_written(
    workers: int | None, tmp_path: Path
) -> None:
    made: Counter[str] = Counter()
    names = {"a": "same", "b": "same", "c": "alone"}
    model = with_weights({name: lazy(name, content, made) for name, content in names.items()})
    alone = ir.tensor(np.ones(5000, np.float32), name="c")
    model.graph.initializers["c"].const_value = alone
    save(model, tmp_path / "m.onnx", layout=DEDUPE, max_workers=workers, max_in_flight_bytes=20_000)
    assert made == {"a": 2, "b": 1}
    assert ranges(tmp_path / "m.onnx")["a"] == ranges(tmp_path / "m.onnx")["b"]


def test_to_look_at_tensors_takes_nothing_from_what_is_made_ahead(tmp_path: Path) -> None:
    made: Counter[str] = Counter()
    second = threading.Event()

    def made_by(name: str) -> ir.TensorProtocol:
        made[name] += 1
        # The first is made by who writes; the second meanwhile, ahead.
        if made[name] == 2 and name == "a":
            assert second.wait(30)
        elif made[name] == 2:
            second.set()
        return ir.tensor(weight(name), name=name)

    lazies = {
        name: ir.LazyTensor(
            partial(made_by, name), dtype=ir.DataType.FLOAT, shape=ir.Shape((64, 64)), name=name
        )
        for name in "ab"
    }
    save(with_weights({**lazies}), tmp_path / "m.onnx", layout=DEDUPE, max_workers=2)
    assert made == {"a": 2, "b": 2}


def test_a_callback_is_told_of_every_tensor(model: ir.Model, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    save(
        model,
        tmp_path / "m.onnx",
        layout=DEDUPE,
        callback=lambda tensor, info: told.append((str(tensor.name), info.offset)),
    )
    assert told == [("a", 0), ("c", 0), ("d", 0), ("b", 16384)]


def test_a_variant_stores_its_own_new_tensors_once(model: ir.Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx")
    variant = load(tmp_path / "m.onnx")
    for name in ("c", "d"):
        variant.graph.initializers[name].const_value = ir.tensor(weight("new"), name=name)
    save_shared(variant, tmp_path / "v.onnx", layout=DEDUPE)
    found = ranges(tmp_path / "v.onnx")
    assert found["c"] == found["d"]
    assert found["a"][0] == "m.onnx.data"
    assert stored_bytes(tmp_path / "v.onnx") == contents(variant)

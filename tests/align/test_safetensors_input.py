"""Models whose data is a safetensors file already: repacked like any other, and it stays one."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onnx_align_pass import DataFileSharedError, LayoutPolicy, align_file, load, save
from tests.corpus import CASES, oracle

from .safetensors_files import (
    ARRAYS,
    IN_PLACE,
    LAYOUT,
    assert_valid,
    folder,
    model_of,
    opened,
    pointing,
)
from .small_models import external_model
from .snapshot import snapshot

save_file: Any = import_module("safetensors.numpy").save_file
needs_onnx_safetensors = pytest.mark.skipif(
    find_spec("onnx_safetensors") is None,
    reason="needs onnx-safetensors: pip install --no-deps onnx-safetensors tqdm",
)


@pytest.fixture
def from_safetensors(tmp_path: Path) -> Path:
    """A model that points into what safetensors wrote: packed, sorted by dtype."""
    place = folder(tmp_path / "st")
    save_file(ARRAYS, str(place / "w.safetensors"))
    return pointing(place / "m.onnx", ARRAYS, place / "w.safetensors")


def test_a_model_that_points_into_a_safetensors_file_is_repacked_like_any_other(
    from_safetensors: Path, tmp_path: Path
) -> None:
    before = oracle.tensors(from_safetensors)
    for layout in (LayoutPolicy(), LAYOUT):
        align_file(from_safetensors, tmp_path / "out.onnx", layout=layout, overwrite=True)
        assert oracle.tensors(tmp_path / "out.onnx") == before
    assert_valid(tmp_path / "out.onnx")


def test_in_place_it_is_a_safetensors_file_again_now_aligned(from_safetensors: Path) -> None:
    before, data = oracle.tensors(from_safetensors), from_safetensors.with_name("w.safetensors")
    old = opened(data)
    report = align_file(from_safetensors, layout=IN_PLACE)
    assert [file.name for file in report.models[0].data_files] == [data.name]
    assert oracle.tensors(from_safetensors) == before
    assert opened(data) == old
    assert_valid(from_safetensors)
    assert align_file(from_safetensors, layout=IN_PLACE).models[0].unchanged


def other_tensor(folder: Path) -> None:
    more = {**ARRAYS, "d": np.arange(500)}
    save_file(more, str(folder / "w.safetensors"))
    pointing(folder / "m.onnx", ARRAYS, folder / "w.safetensors")


def metadata(folder: Path) -> None:
    save_file(ARRAYS, str(folder / "w.safetensors"), metadata={"format": "pt"})
    pointing(folder / "m.onnx", ARRAYS, folder / "w.safetensors")


@pytest.mark.parametrize(
    ("build", "found"),
    [(other_tensor, "d"), (metadata, "__metadata__")],
    ids=["tensor", "metadata"],
)
def test_a_file_that_says_more_than_the_model_is_somebody_elses_too(
    build: Callable[[Path], None], found: str, tmp_path: Path
) -> None:
    build(tmp_path)
    model, data = tmp_path / "m.onnx", tmp_path / "w.safetensors"
    before, old = snapshot(tmp_path), oracle.tensors(model)
    with pytest.raises(DataFileSharedError, match="more than this model points at") as error:
        align_file(model)
    assert error.value.found == found
    with pytest.raises(DataFileSharedError, match="more than this model points at"):
        save(load(model), model, external_data=data.name)
    assert snapshot(tmp_path) == before
    report = align_file(model, layout=LayoutPolicy(data_name="own.data"))
    assert report.models[0].removed == ()
    assert data.exists()
    assert oracle.tensors(model) == old


def test_by_force_it_is_replaced_all_the_same(tmp_path: Path) -> None:
    other_tensor(tmp_path)
    align_file(tmp_path / "m.onnx", layout=IN_PLACE, overwrite=True)
    assert set(opened(tmp_path / "w.safetensors")) == set(ARRAYS)


def test_a_file_of_that_name_that_is_none_is_made_one(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", data="w.safetensors")
    before = oracle.tensors(model)
    align_file(model, layout=IN_PLACE)
    assert oracle.tensors(model) == before
    assert_valid(model)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"a":"b"}', '{"a":{}}', '{"a":{"data_offsets":1}}']
)
def test_what_cannot_be_read_as_safetensors_is_nobody_elses(text: str, tmp_path: Path) -> None:
    content = len(text).to_bytes(8, "little") + text.encode()
    model = external_model(tmp_path / "m.onnx", data="w.safetensors")
    old = external_model(tmp_path / "out" / "n.onnx", data="n.safetensors")
    data = old.with_name("n.safetensors")
    data.write_bytes(content + data.read_bytes()[len(content) :])
    align_file(model, old, layout=LAYOUT, overwrite=True)
    assert_valid(old)


@needs_onnx_safetensors
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("dtype_")])
def test_onnx_safetensors_puts_the_weights_back_with_their_types(name: str, tmp_path: Path) -> None:
    source = CASES[name].build(folder(tmp_path / "source"))
    result = tmp_path / "m.onnx"
    align_file(source, result, layout=LAYOUT, durable=False)
    bare = ir.load(result)
    back = import_module("onnx_safetensors").load_file_as_external_data(
        bare, "m.safetensors", tmp_path
    )
    wanted = {one.name: one for one in oracle.tensors(result).values()}
    for value in back.graph.initializers.values():
        held, one = value.const_value, wanted[value.name]
        if name.removeprefix("dtype_") not in ("COMPLEX128", "FLOAT6E2M3", "FLOAT6E3M2"):
            # which onnx-safetensors cannot write either
            assert (held.dtype.value, tuple(held.shape)) == (one.dtype, one.dims)
        assert held.tobytes() == one.raw


@needs_onnx_safetensors
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shard", [None, 3000])
def test_what_onnx_safetensors_wrote_is_repacked(shard: int | None, tmp_path: Path) -> None:
    place = folder(tmp_path / "theirs")
    model = ir.from_proto(oracle.parse(model_of(ARRAYS, tmp_path / "m.onnx")))
    import_module("onnx_safetensors").save_model(model, str(place / "m.onnx"), max_shard_size=shard)
    theirs, before = place / "m.onnx", oracle.tensors(tmp_path / "m.onnx")
    assert oracle.tensors(theirs) == before
    align_file(theirs, tmp_path / "out.onnx", layout=LAYOUT)
    assert oracle.tensors(tmp_path / "out.onnx") == before
    assert_valid(tmp_path / "out.onnx")
    names = sorted(os.listdir(place))
    align_file(theirs, layout=IN_PLACE)
    assert sorted(os.listdir(place)) == names
    assert oracle.tensors(theirs) == before
    assert_valid(theirs)


@pytest.mark.parametrize("layout", [LAYOUT, LayoutPolicy(data_name="m.bin"), LayoutPolicy()])
def test_what_other_readers_know_by_other_names_is_neither_renamed_nor_removed(
    tmp_path: Path, layout: LayoutPolicy
) -> None:
    place = folder(tmp_path / "st")
    data = place / "w.safetensors"
    save_file(ARRAYS, str(data))
    model = pointing(place / "m.onnx", ARRAYS, data)
    proto = oracle.parse(model)
    for tensor in proto.graph.initializer:
        tensor.name = f"onnx::{tensor.name}"
    model.write_bytes(proto.SerializeToString())
    before, content = oracle.tensors(model), data.read_bytes()
    if layout.data_name is None:
        with pytest.raises(DataFileSharedError, match="holds more"):
            align_file(model, layout=layout)
    else:
        report = align_file(model, layout=layout).models[0]
        assert any("w.safetensors is left" in note for note in report.notes)
    assert data.read_bytes() == content
    assert oracle.tensors(model) == before
    align_file(model, layout=LayoutPolicy(), overwrite=True)
    assert oracle.tensors(model) == before


@pytest.mark.parametrize("other", ["__pad_token_embedding", "__padding_idx", "__pad_0"])
def test_a_weight_that_is_called_like_padding_is_somebodys(tmp_path: Path, other: str) -> None:
    place = folder(tmp_path / "st")
    save_file({**ARRAYS, other: np.ones(9, np.uint8)}, str(place / "w.safetensors"))
    model = pointing(place / "m.onnx", ARRAYS, place / "w.safetensors")
    before = snapshot(place)
    with pytest.raises(DataFileSharedError, match=other):
        align_file(model, layout=IN_PLACE)
    assert snapshot(place) == before

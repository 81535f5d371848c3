"""Data files split otherwise: old ones go when the new stand, and only if nobody else uses them."""

from __future__ import annotations

import os
import shutil
from itertools import permutations
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationExistsError,
    LayoutPolicy,
    StoragePolicy,
    align_external_data_streaming,
    align_file,
    load,
    save,
    save_shared,
)
from onnx_align_pass.checks import PLACEHOLDERS
from onnx_align_pass.errors import DestinationError, FileLimitError
from tests.corpus import oracle

from .small_models import external_model, weights_model
from .snapshot import snapshot

KEEP = StoragePolicy(size_threshold_bytes=None)
SHAPES: dict[str, tuple[int, ...]] = {f"w{number}": (30 + number, 33) for number in range(6)}
"""Of 3,960 to 4,620 bytes: a block or two of 4,096 each."""
NAMES = (None, "{model}_data{_n}", "w/{shard}.bin", "{stem}-{shard}-of-{shards}.safetensors")
ONE, TWO, THREE, SIX = 1 << 20, 30_000, 20_000, 1
"""The size of a shard that makes as many of them."""
SIZES = {1: ONE, 2: TWO, 3: THREE, 6: SIX}


def layout(shards: int, name: str | None) -> LayoutPolicy:
    return LayoutPolicy(max_shard_size_bytes=SIZES[shards], data_name=name)


def files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def model_of(path: Path, shards: int, name: str | None, *, seed: int = 0) -> list[str]:
    """Write a model in so many shards; a text and another model are beside it."""
    source = external_model(path.parent.parent / f"source{seed}" / "m.onnx", SHAPES, seed=seed)
    report = align_file(source, path, layout=layout(shards, name), durable=False)
    names = [file.name for file in report.models[0].data_files]
    assert len(names) == shards
    return names


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("before", "after"), list(permutations(SIZES, 2)))
def test_in_place_old_shards_go_and_new_ones_stand(
    before: int, after: int, name: str | None, tmp_path: Path
) -> None:
    model = tmp_path / "models" / "m.onnx"
    old = model_of(model, before, name)
    (model.parent / "m.onnx.data.txt").write_text("precious")
    tensors = oracle.tensors(model)
    report = align_file(model, layout=layout(after, name), durable=False, verify=True).models[0]
    new = [file.name for file in report.data_files]
    assert len(new) == after
    assert files(model.parent) == sorted(["m.onnx", "m.onnx.data.txt", *new])
    assert sorted(report.removed) == sorted(set(old) - set(new))
    assert oracle.tensors(model) == tensors
    onnx.load(model)
    assert align_file(model, layout=layout(after, name), durable=False).models[0].unchanged


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3), (1, 6), (6, 1)])
def test_over_a_model_that_is_there_its_shards_go_too(
    before: int, after: int, name: str | None, tmp_path: Path
) -> None:
    old_model = tmp_path / "out" / "m.onnx"
    old = model_of(old_model, before, name, seed=1)
    source = external_model(tmp_path / "m.onnx", SHAPES)
    before_all = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        align_file(source, old_model, layout=layout(after, name))
    assert snapshot(tmp_path) == before_all
    report = align_file(source, old_model, layout=layout(after, name), overwrite=True).models[0]
    new = [file.name for file in report.data_files]
    assert files(old_model.parent) == sorted(["m.onnx", *new])
    assert sorted(report.removed) == sorted(set(old) - set(new))
    assert oracle.tensors(old_model) == oracle.tensors(source)


def test_the_way_through_memory_reshards_as_well(tmp_path: Path) -> None:
    model = tmp_path / "models" / "m.onnx"
    model_of(model, 3, NAMES[1])
    tensors = oracle.tensors(model)
    for shards in (2, 6, 1):
        # By force: shards that a model in memory was read from are left, and nobody's after that.
        save(load(model), model, layout=layout(shards, NAMES[1]), force=True, durable=False)
        names = ["m.onnx_data", *(f"m.onnx_data_{number}" for number in range(1, shards))]
        assert oracle.tensors(model) == tensors
        held = {oracle.entries_of(one)["location"] for _, one in oracle.walk(oracle.parse(model))}
        assert held == set(names)


def one_file_a_tensor(path: Path, count: int) -> Path:
    """A model as onnx saves it with `all_tensors_to_one_file=False`."""
    path.parent.mkdir(parents=True)
    proto = weights_model({f"w{number}": (3, 5 + number % 7) for number in range(count)})
    for tensor in proto.graph.initializer:
        (path.parent / tensor.name).write_bytes(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=tensor.name)
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.parametrize("in_place", [True, False])
def test_three_hundred_files_become_one(in_place: bool, tmp_path: Path) -> None:
    model = one_file_a_tensor(tmp_path / "many" / "m.onnx", 300)
    tensors = oracle.tensors(model)
    target = None if in_place else tmp_path / "many" / "n.onnx"
    asked = LayoutPolicy(alignment=64, data_name="all.data")
    report = align_file(model, target, storage=KEEP, layout=asked, durable=False).models[0]
    assert oracle.tensors(target or model) == tensors
    left = [] if in_place else ["m.onnx", *(f"w{number}" for number in range(300))]
    assert files(model.parent) == sorted([(target or model).name, "all.data", *left])
    assert len(report.removed) == (300 if in_place else 0)


def test_three_hundred_files_stay_in_place_and_may_be_too_many(tmp_path: Path) -> None:
    model = one_file_a_tensor(tmp_path / "many" / "m.onnx", 300)
    before = snapshot(tmp_path)
    with pytest.raises(FileLimitError, match="Name a data file for all"):
        align_file(model, storage=KEEP, layout=LayoutPolicy(max_files=100))
    assert snapshot(tmp_path) == before
    tensors = oracle.tensors(model)
    align_file(model, storage=KEEP, layout=LayoutPolicy(pad="file"), durable=False)
    assert len(files(model.parent)) == 301
    assert oracle.tensors(model) == tensors


def test_a_shard_that_another_model_uses_is_neither_removed_nor_replaced(tmp_path: Path) -> None:
    model = tmp_path / "models" / "m.onnx"
    old = model_of(model, 3, NAMES[1])
    shutil.copyfile(model, model.with_name("twin.onnx"))
    twin, before = oracle.tensors(model), snapshot(tmp_path)
    with pytest.raises(DataFileSharedError, match=r"twin\.onnx"):
        align_file(model, layout=layout(2, NAMES[1]))
    assert snapshot(tmp_path) == before
    report = align_file(model, layout=layout(2, None), durable=False).models[0]
    assert report.removed == ()
    assert set(old) < set(files(model.parent))
    assert oracle.tensors(model.with_name("twin.onnx")) == twin == oracle.tensors(model)
    model.with_name("twin.onnx").unlink()
    align_file(model, layout=layout(3, None), durable=False)
    assert set(old) < set(files(model.parent)), "nobody knows whose they are now"


def test_what_cannot_be_read_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", SHAPES)
    before = snapshot(tmp_path)
    wide = LayoutPolicy(alignment=1 << 30, data_name="w.safetensors")
    for target in (None, tmp_path / "n.onnx"):
        with pytest.raises(FileLimitError, match="w0"):
            align_file(model, target, layout=LayoutPolicy(max_file_bytes=3900))
        with pytest.raises(FileLimitError):
            align_file(model, target, layout=LayoutPolicy(max_shard_size_bytes=1, max_files=5))
        with pytest.raises(FileLimitError, match="header"):
            align_file(model, target, layout=wide)
    assert snapshot(tmp_path) == before


def test_a_large_tensor_in_a_shard_of_its_own_is_told_of(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", {"small": (40, 8), "large": (100, 100)})
    asked = LayoutPolicy(alignment=64, max_shard_size_bytes=20_000)
    (done,) = align_file(model, tmp_path / "n.onnx", layout=asked).models
    assert any(note.startswith("large has 40,000 bytes") for note in done.notes)
    assert [file.nbytes for file in done.data_files] == [1280, 40_000]


@pytest.mark.parametrize("name", ["{stem}", "{model}.onnx", "{shard}", "{_n}-{shards}"])
def test_braces_in_a_models_name_are_no_placeholders(name: str, tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", SHAPES)
    result = tmp_path / "out" / f"{name}.onnx"
    for template in NAMES:
        align_file(model, result, layout=layout(3, template), overwrite=True, durable=False)
        assert oracle.tensors(result) == oracle.tensors(model)
        assert not any(set("{}") & set(one) for one in files(result.parent) if one != result.name)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_path_that_reads_as_a_template_is_refused(placeholder: str, tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match=r"template.*Leave out") as error:
        align_external_data_streaming(model, tmp_path / "n.onnx", tmp_path / f"{placeholder}.data")
    assert placeholder in str(error.value.hint)
    assert snapshot(tmp_path) == before


def test_a_variant_names_its_shards_unlike_those_that_it_shares(tmp_path: Path) -> None:
    model = tmp_path / "models" / "m.onnx"
    old = model_of(model, 2, None)
    variant = load(model)
    for number, name in enumerate(["w0", "w1", "w2", "w3"]):
        new = weights_model({name: (50, 51)}, seed=number).graph.initializer[0]
        variant.graph.initializers[name].const_value = ir.serde.deserialize_tensor(new)
    (done,) = save_shared(variant, model, layout=LayoutPolicy(max_shard_size_bytes=25_000)).models
    names = [file.name for file in done.data_files]
    assert names == [f"m.onnx.2-0000{number}-of-00002.data" for number in (1, 2)]
    assert set(old) <= {*os.listdir(model.parent)}

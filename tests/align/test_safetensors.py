"""A data file called .safetensors is one: every reader of either format finds the same bytes."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    LayoutPolicy,
    align_file,
    load,
    plan_file,
    save,
)
from onnx_align_pass.pipeline import WriteAlignedPass
from tests.corpus import CASES, oracle
from tests.corpus.case import Case
from tests.corpus.params import cases as all_cases
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs

from .safetensors_files import (
    IN_PLACE,
    LAYOUT,
    assert_valid,
    external_entries,
    folder,
    model_of,
    opened,
)
from .small_models import external_model, weights_model
from .snapshot import snapshot

REFUSED = {"location_down_and_up"}


@pytest.mark.parametrize("case", [one for one in all_cases() if one.id not in REFUSED])
def test_a_model_of_any_kind_is_written_as_both(case: Case, tmp_path: Path) -> None:
    source = case.build(folder(tmp_path / "source"))
    result = folder(tmp_path / "result") / "model.onnx"
    align_file(source, result, layout=LAYOUT, durable=False, verify=True)
    assert oracle.tensors(result) == oracle.tensors(source)
    assert oracle.rest(result) == oracle.rest(source)
    assert_valid(result)
    if case.onnx_load:
        onnx.load(result)
    if case.runs:
        assert same_outputs(run(source), run(result))
    before = snapshot(result.parent)
    again = align_file(result, layout=IN_PLACE, durable=False)
    assert again.models[0].unchanged
    assert snapshot(result.parent) == before


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_runs_from_it_and_loads_everywhere(name: str, tmp_path: Path) -> None:
    real = REAL[name]
    source, result = real.path(), tmp_path / "model.onnx"
    align_file(source, result, layout=LAYOUT, durable=False)
    assert_valid(result)
    assert same_outputs(run(source, real.feeds()), run(result, real.feeds()))
    onnx.checker.check_model(str(result))
    loaded = {place: tensor.raw_data for place, tensor in oracle.walk(onnx.load(result))}
    wanted = oracle.tensors(result)
    for place in external_entries(result):
        assert loaded[place] == wanted[place].raw
    initializers = ir.load(result).graph.initializers.values()
    for value in initializers:
        assert value.const_value is not None
        value.const_value.tobytes()


def test_numpy_reads_the_arrays(tmp_path: Path) -> None:
    dtypes = ("float32", "float64", "float16", "int8", "int64", "uint16", "uint32", "bool")
    arrays = {f"w.{one}": np.arange(1500).reshape(3, 500).astype(one) for one in dtypes}
    model = model_of(arrays, tmp_path / "m.onnx")
    align_file(model, tmp_path / "out.onnx", layout=LAYOUT, durable=False)
    found = import_module("safetensors.numpy").load_file(str(tmp_path / "out.safetensors"))
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    assert {key for key in found if not key.startswith("__pad_")} == set(arrays)


def test_the_largest_boundary_in_the_file_is_where_its_data_begins(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    for alignment in (1, 8, 4096, 65536):
        layout = LayoutPolicy(alignment=alignment, data_name=f"{alignment}.safetensors")
        align_file(model, tmp_path / "out.onnx", layout=layout, durable=False, overwrite=True)
        assert_valid(tmp_path / "out.onnx", alignment)
        content = (tmp_path / f"{alignment}.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        assert start % max(8, alignment) == 0
        offsets = [offset for _, offset, _ in external_entries(tmp_path / "out.onnx").values()]
        assert min(offsets) == start


@pytest.mark.parametrize(
    "layout",
    [replace(LAYOUT, pad="none"), replace(LAYOUT, pad="file"), replace(LAYOUT, pad="tensor")],
)
def test_each_shard_is_valid_by_itself(layout: LayoutPolicy, tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    layout = replace(layout, alignment=256, max_shard_size_bytes=25_000)
    report = align_file(model, tmp_path / "out.onnx", layout=layout, durable=False, verify=True)
    names = [file.name for file in report.models[0].data_files]
    assert names == [f"out-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    assert_valid(tmp_path / "out.onnx", 256)
    assert oracle.tensors(tmp_path / "out.onnx") == oracle.tensors(model)
    kept = replace(layout, max_shard_size_bytes=None, data_name=None)
    again = align_file(tmp_path / "out.onnx", layout=kept, durable=False)
    assert again.models[0].unchanged


def test_tied_tensors_are_written_twice_there_and_once_elsewhere(tmp_path: Path) -> None:
    source = CASES["tied"].build(folder(tmp_path / "source"))
    shared = plan_file(source)
    apart = plan_file(source, layout=LAYOUT)
    assert apart.tensor_bytes > shared.tensor_bytes
    assert any("shared bytes are written again" in note for note in apart.notes)
    assert not any("shared bytes are written again" in note for note in shared.notes)
    align_file(source, tmp_path / "m.onnx", layout=LAYOUT, durable=False)
    align_file(tmp_path / "m.onnx", layout=LayoutPolicy(data_name="w.bin"), durable=False)
    assert oracle.tensors(tmp_path / "m.onnx") == oracle.tensors(source)


def test_the_report_tells_the_header_from_padding(tmp_path: Path) -> None:
    report = align_file(external_model(tmp_path / "m.onnx"), tmp_path / "n.onnx", layout=LAYOUT)
    (done,) = report.models
    assert done.header_bytes > 0
    assert done.tensor_bytes + done.padding_bytes + done.header_bytes == done.data_bytes
    assert done.to_json()["header_bytes"] == done.header_bytes


def test_in_place_another_header_over_the_same_ranges_is_written_anew(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    align_file(model, tmp_path / "n.onnx", layout=LAYOUT, durable=False)
    model, data = tmp_path / "n.onnx", tmp_path / "n.safetensors"
    right = data.read_bytes()
    assert align_file(model, layout=IN_PLACE, durable=False).models[0].unchanged
    data.write_bytes(right.replace(b'"shape":[64,64]', b'"shape":[4096] '))
    assert opened(data)["c"][1] == [4096]
    assert not align_file(model, layout=IN_PLACE, durable=False).models[0].unchanged
    assert data.read_bytes() == right
    data.write_bytes(bytes(8) + right[8:])
    assert not align_file(model, layout=IN_PLACE, durable=False).models[0].unchanged
    assert data.read_bytes() == right


def test_a_model_in_memory_is_saved_to_the_same_files(tmp_path: Path) -> None:
    for name in ("mixed", "if_branches", "function_constants", "tied", "dtype_INT4"):
        source = CASES[name].build(folder(tmp_path / name))
        align_file(source, tmp_path / name / "a" / "m.onnx", layout=LAYOUT, durable=False)
        model = load(source)
        save(model, folder(tmp_path / name / "b") / "m.onnx", layout=LAYOUT, durable=False)
        WriteAlignedPass(folder(tmp_path / name / "c") / "m.onnx", layout=LAYOUT)(model)
        written = (tmp_path / name / "a" / "m.safetensors").read_bytes()
        for way in ("b", "c"):
            assert (tmp_path / name / way / "m.safetensors").read_bytes() == written, name


def test_saved_again_it_is_known_to_be_there_and_another_header_is_not(tmp_path: Path) -> None:
    path, data = tmp_path / "m.onnx", tmp_path / "m.safetensors"
    save(ir.from_proto(weights_model({"a": (40, 40), "b": (33, 10)})), path, layout=LAYOUT)
    right = data.read_bytes()
    for model in (load(path), ir.from_proto(onnx.load(path))):
        assert save(model, path, layout=LAYOUT).models[0].unchanged
        data.write_bytes(right.replace(b"[40,40]", b"[1600] "))
        if isinstance(model.graph.initializers["a"].const_value, ir.ExternalTensor):
            model = load(path)
        assert not save(model, path, layout=LAYOUT).models[0].unchanged
        assert data.read_bytes() == right


def test_the_callback_comes_when_a_tensor_begins_not_when_the_header_does(tmp_path: Path) -> None:
    seen: list[tuple[str | None, int, str]] = []
    done: list[tuple[int, int]] = []

    class Counting:
        total = 0

        def begin(self, model: str, total_bytes: int) -> None:
            self.total = total_bytes

        def advance(self, nbytes: int, tensor: str) -> None:
            so_far = done[-1][0] if done else 0
            done.append((so_far + nbytes, len(seen)))

        def phase(self, text: str) -> None: ...

    progress = Counting()
    layout = LayoutPolicy(alignment=4096, max_shard_size_bytes=3_500_000, data_name="w.safetensors")
    # Each of 1,680,000 bytes: too large to be written together with others.
    model = ir.from_proto(weights_model(dict.fromkeys("abc", (600, 700))))
    save(
        model,
        tmp_path / "m.onnx",
        layout=layout,
        progress=progress,
        callback=lambda tensor, info: seen.append((tensor.name, info.offset, info.filename)),
    )
    files = [f"w-0000{n}-of-00002.safetensors" for n in (1, 2)]
    assert seen == [("a", 4096, files[0]), ("b", 1_687_552, files[0]), ("c", 4096, files[1])]
    starts = [4096, 4096 + 1_680_000, 4096 + 2 * 1_680_000 + 4096]
    assert [begun for _, begun in done] == [
        sum(start < written for start in starts) for written, _ in done
    ]
    assert done[0] == (4096, 0)
    assert done[-1][0] == progress.total

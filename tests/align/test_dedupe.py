"""Equal bytes are stored once when that is asked for, and nothing else changes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_align_pass import (
    AlignReport,
    LayoutPolicy,
    ModelError,
    StoragePolicy,
    align_file,
    plan_file,
)
from onnx_align_pass.rules import Rule
from tests.corpus import oracle
from tests.corpus.build import external, numbers, showing, write
from tests.corpus.case import Case
from tests.corpus.params import cases as all_cases
from tests.corpus.running import run, same_outputs

from .snapshot import snapshot

REFUSED = {"location_down_and_up"}
"""Read by the peers; `..` in a location is refused all the same."""
DEDUPE = LayoutPolicy(dedupe=True)
EVERYTHING = StoragePolicy(size_threshold_bytes=1, external=(".*",))


def named(array: npt.NDArray[np.generic], name: str) -> TensorProto:
    return numpy_helper.from_array(array, name)


def ranges(model: Path) -> dict[str, tuple[str, ...]]:
    """Where each external tensor lies, by its name."""
    return {
        str(tensor.name): tuple(oracle.entries_of(tensor).values())
        for _, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == TensorProto.EXTERNAL
    }


def notes(report: AlignReport) -> list[str]:
    return [note for note in report.models[0].notes if note.startswith("dedupe")]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Three tensors of one content (one inline, one of another shape) and three that look alike."""
    folder = tmp_path / "source"
    folder.mkdir()
    same = numbers("same", [50, 40])
    almost = same.copy()
    almost[25, 20] += 1
    tensors = [
        external(named(same, "first"), folder),
        named(same, "inline"),
        external(named(numbers("other", [50, 40]), "other"), folder),
        external(named(same.reshape(2000), "flat"), folder),
        external(named(almost, "almost"), folder),
        external(named(same.view(np.int32), "integers"), folder),
    ]
    return write(folder, showing(tensors))


def test_equal_bytes_are_stored_once_and_what_looks_alike_is_not(
    model: Path, tmp_path: Path
) -> None:
    result = tmp_path / "result" / "model.onnx"
    report = align_file(model, result, layout=DEDUPE, verify=True)
    found = ranges(result)
    assert found["first"] == found["inline"] == found["flat"]
    assert len({found[name] for name in ("first", "other", "almost", "integers")}) == 4
    assert notes(report) == ["dedupe: 2 tensors share the bytes of others, 16,000 bytes saved"]
    assert report.tensor_bytes == 4 * 8000
    assert oracle.tensors(result) == oracle.tensors(model)
    assert oracle.rest(result) == oracle.rest(model)
    assert same_outputs(run(model), run(result))


def test_without_being_asked_for_equal_bytes_stay_apart(model: Path, tmp_path: Path) -> None:
    report = align_file(model, tmp_path / "out.onnx")
    assert len(set(ranges(tmp_path / "out.onnx").values())) == 6
    assert not notes(report)


def test_in_place_it_is_done_once_and_kept_by_runs_that_do_not_ask_for_it(model: Path) -> None:
    before = oracle.tensors(model)
    assert not align_file(model, layout=DEDUPE).models[0].unchanged
    after = snapshot(model.parent)
    again = align_file(model, layout=DEDUPE).models[0]
    assert again.unchanged
    assert not [note for note in again.notes if note.startswith("dedupe")]
    assert align_file(model).models[0].unchanged
    assert snapshot(model.parent) == after
    align_file(model, layout=LayoutPolicy(alignment=64))
    found = ranges(model)
    assert found["first"] == found["inline"] == found["flat"]
    assert oracle.tensors(model) == before


def test_the_plan_says_what_the_run_does(model: Path, tmp_path: Path) -> None:
    plan = plan_file(model, layout=DEDUPE)
    assert plan == plan_file(model, layout=DEDUPE)
    report = align_file(model, tmp_path / "out.onnx", layout=DEDUPE).models[0]
    assert plan.tensor_bytes == report.tensor_bytes
    assert [file.size for file in plan.files] == [file.nbytes for file in report.data_files]
    assert set(plan.notes) == set(report.notes)
    tied = {one.request.facts.slot.name: one.tied_to for one in plan.placements}
    assert tied["flat"] == tied["inline"] == "graph.initializer[0]"
    assert tied["first"] is None


def test_each_stays_in_its_data_file_where_files_are_kept(tmp_path: Path) -> None:
    same = numbers("same", [600])
    tensors = [
        external(named(same, f"{file}.{copy}"), tmp_path, f"{file}.data")
        for file in "ab"
        for copy in "12"
    ]
    model = write(tmp_path, showing(tensors))
    report = align_file(model, layout=DEDUPE)
    found = ranges(model)
    assert found["a.1"] == found["a.2"] == ("a.data", "0", "2400")
    assert found["b.1"] == found["b.2"] == ("b.data", "0", "2400")
    assert notes(report) == ["dedupe: 2 tensors share the bytes of others, 4,800 bytes saved"]
    align_file(model, layout=LayoutPolicy(dedupe=True, data_name="one.data"))
    assert set(ranges(model).values()) == {("one.data", "0", "2400")}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "one.data"]


def test_tensors_that_are_asked_into_other_files_share_nothing(tmp_path: Path) -> None:
    same = numbers("same", [600])
    model = write(tmp_path, showing([named(same, name) for name in ("a", "b", "c", "d")]))
    groups = {"a": "x.bin", "c": "{stem}.bin", "d": "model.bin"}
    storage = StoragePolicy(rules=tuple(Rule(name, group=one) for name, one in groups.items()))
    align_file(model, tmp_path / "out" / "model.onnx", storage=storage, layout=DEDUPE)
    found = ranges(tmp_path / "out" / "model.onnx")
    assert {name: entries[0] for name, entries in found.items()} == {
        "a": "x.bin",
        "b": "model.onnx.data",
        "c": "model.bin",
        "d": "model.bin",
    }
    assert found["c"] == found["d"]


def test_in_safetensors_nothing_is_shared_and_that_is_said(model: Path, tmp_path: Path) -> None:
    layout = LayoutPolicy(dedupe=True, data_name="{stem}.safetensors")
    report = align_file(model, tmp_path / "model.onnx", layout=layout)
    assert len(set(ranges(tmp_path / "model.onnx").values())) == 6
    assert oracle.tensors(tmp_path / "model.onnx") == oracle.tensors(model)
    (said,) = notes(report)
    assert "safetensors" in said


def test_tensors_that_stay_inline_are_left_alone(tmp_path: Path) -> None:
    same = numbers("same", [100])
    model = write(tmp_path, showing([named(same, "a"), named(same, "b")]))
    report = align_file(model, tmp_path / "out.onnx", layout=DEDUPE)
    assert not notes(report)
    assert report.models[0].inline_tensors == 2


def test_numbers_of_every_kind_of_field_are_compared_as_bytes(tmp_path: Path) -> None:
    values = numbers("v", [700], np.int64)
    raw = named(values, "raw")
    typed = helper.make_tensor("typed", TensorProto.INT64, [700], values.tolist())
    assert typed.int64_data
    assert raw.raw_data
    model = write(tmp_path, showing([typed, external(raw, tmp_path)]))
    align_file(model, tmp_path / "out.onnx", layout=DEDUPE)
    assert len(set(ranges(tmp_path / "out.onnx").values())) == 1
    assert oracle.tensors(tmp_path / "out.onnx") == oracle.tensors(model)


def test_a_tie_across_shards_is_one_range(tmp_path: Path) -> None:
    same = numbers("same", [1000])
    tensors = [
        named(array, name)
        for name, array in (
            ("first", same),
            ("between", numbers("b", [1000])),
            ("again", same),
        )
    ]
    model = write(tmp_path, showing(tensors))
    layout = LayoutPolicy(dedupe=True, max_shard_size_bytes=5000)
    report = align_file(model, tmp_path / "out" / "m.onnx", layout=layout)
    found = ranges(tmp_path / "out" / "m.onnx")
    assert found["first"] == found["again"] == ("m-00001-of-00002.onnx.data", "0", "4000")
    assert len(report.models[0].data_files) == 2


def test_the_larger_boundary_counts(tmp_path: Path) -> None:
    same = numbers("same", [1000])
    arrays = {"before": numbers("b", [999]), "low": same, "high": same}
    model = write(tmp_path, showing([named(array, name) for name, array in arrays.items()]))
    storage = StoragePolicy(rules=(Rule("high", alignment=8192), Rule(alignment=64)))
    align_file(model, tmp_path / "out.onnx", storage=storage, layout=DEDUPE)
    found = ranges(tmp_path / "out.onnx")
    assert found["low"] == found["high"] == ("out.onnx.data", "8192", "4000")


def test_a_broken_source_is_a_named_error_and_nothing_is_written(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(fd: int, view: memoryview, offset: int) -> int:
        raise OSError(5, "Input/output error", fd)

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", fails)
    before = snapshot(model.parent)
    with pytest.raises(ModelError, match=r"model\.onnx\.data.*Input/output error"):
        align_file(model, layout=DEDUPE)
    assert snapshot(model.parent) == before


@pytest.mark.parametrize("case", [one for one in all_cases() if one.id not in REFUSED])
def test_every_odd_model_keeps_every_tensor(case: Case, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = case.build(tmp_path / "source")
    result = tmp_path / "result" / "model.onnx"
    align_file(source, result, layout=DEDUPE, storage=EVERYTHING, durable=False, verify=True)
    assert oracle.tensors(result) == oracle.tensors(source)
    assert oracle.rest(result) == oracle.rest(source)
    contents = oracle.tensors(result)
    found: dict[tuple[int, bytes], set[tuple[str, ...]]] = defaultdict(set)
    for place, tensor in oracle.walk(oracle.parse(result)):
        if tensor.data_location == TensorProto.EXTERNAL:
            content = contents[place]
            found[content.dtype, content.raw].add(tuple(oracle.entries_of(tensor).values()))
    assert all(len(places) == 1 for places in found.values())

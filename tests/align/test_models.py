"""Every odd and real model: nothing lost, everything on its boundary, every runtime content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnx_align_pass import AlignReport, LayoutPolicy, StoragePolicy, align_file, plan_file
from tests.corpus import oracle
from tests.corpus.case import Case
from tests.corpus.params import cases as all_cases
from tests.corpus.real import BACKEND, REAL
from tests.corpus.running import run, same_outputs

from .snapshot import snapshot

REFUSED = {"location_down_and_up"}
"""Read by the peers; `..` in a location is refused all the same."""
SHARED = {"two_models_of_one_data_file"}
KEEP = StoragePolicy(size_threshold_bytes=None)
EVERYTHING = StoragePolicy(size_threshold_bytes=0)
NOTHING = StoragePolicy(size_threshold_bytes=1 << 40)


def cases(**flags: bool) -> list[Any]:
    """The cases of the corpus that are not refused on purpose."""
    return [one for one in all_cases(**flags) if one.id not in REFUSED]


def assert_same(source: Path, result: Path) -> None:
    """The same tensors, the same everything else, in files as they should be."""
    assert oracle.tensors(result) == oracle.tensors(source)
    assert oracle.rest(result) == oracle.rest(source)
    for path in result.parent.rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or path.stat().st_nlink == 1
        assert ".align-" not in str(path.relative_to(result.parent))


def assert_laid_out(result: Path, alignment: int) -> None:
    """Offsets on the boundary, exact lengths, three keys and no other, plain locations."""
    for place, tensor in oracle.walk(oracle.parse(result)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            assert [entry.key for entry in tensor.external_data] == ["location", "offset", "length"]
            entries = oracle.entries_of(tensor)
            assert int(entries["offset"]) % alignment == 0, place
            assert int(entries["length"]) == len(oracle.content(tensor, result.parent).raw), place
            assert ".." not in entries["location"]
            assert not os.path.isabs(entries["location"])


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize(
    "storage", [StoragePolicy(), KEEP, EVERYTHING, NOTHING], ids=["default", "keep", "all", "none"]
)
def test_a_model_keeps_every_tensor_and_everything_else(
    case: Case, storage: StoragePolicy, tmp_path: Path
) -> None:
    source = case.build(_folder(tmp_path / "source"))
    before = snapshot(tmp_path / "source")
    result = _folder(tmp_path / "result") / "model.onnx"
    report = align_file(source, result, storage=storage, durable=False, verify=True)
    assert_same(source, result)
    assert_laid_out(result, 4096)
    assert snapshot(tmp_path / "source") == before
    assert {path.name for path in result.parent.iterdir()} == {"model.onnx", *_names(report)}
    assert [file.nbytes for file in report.models[0].data_files] == [
        (result.parent / name).stat().st_size for name in _names(report)
    ]


@pytest.mark.parametrize("case", cases(in_place=True))
def test_a_model_is_repacked_in_place(case: Case, tmp_path: Path) -> None:
    if case.name in SHARED:
        pytest.skip("its data file is another model's too: test_destination has it")
    original, model = (case.build(_folder(tmp_path / name)) for name in ("original", "copy"))
    # Some builders leave a file of the default name beside the model.
    align_file(model, layout=LayoutPolicy(alignment=64), durable=False, verify=True, overwrite=True)
    assert_same(original, model)
    assert_laid_out(model, 64)
    again = align_file(model, layout=LayoutPolicy(alignment=64), durable=False)
    assert again.models[0].unchanged


@pytest.mark.parametrize("case", cases(runs=True))
def test_onnxruntime_gives_the_same_outputs(case: Case, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    result = _folder(tmp_path / "result") / "model.onnx"
    align_file(source, result, durable=False)
    assert same_outputs(run(source), run(result))


@pytest.mark.parametrize("case", cases(checker=True))
def test_the_checker_accepts_what_it_accepted_before(case: Case, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    result = _folder(tmp_path / "result") / "model.onnx"
    align_file(source, result, durable=False)
    onnx.checker.check_model(str(result))


@pytest.mark.parametrize("case", cases(onnx_load=True))
def test_onnx_loads_what_it_loaded_before(case: Case, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    result = _folder(tmp_path / "result") / "model.onnx"
    align_file(source, result, durable=False)
    onnx.load(result)


@pytest.mark.parametrize("case", cases())
def test_a_plan_is_what_the_run_does_and_writes_nothing(case: Case, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    before = snapshot(tmp_path)
    plan = plan_file(source)
    assert plan == plan_file(source)
    assert snapshot(tmp_path) == before
    result = _folder(tmp_path / "result") / source.name
    report = align_file(source, result, durable=False).models[0]
    assert [(file.name, file.size) for file in plan.files] == [
        (file.name, file.nbytes) for file in report.data_files
    ]
    assert report.padding_bytes == plan.padding_bytes


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_runs_as_before(name: str, tmp_path: Path) -> None:
    real = REAL[name]
    source = real.path()
    result = tmp_path / "model.onnx"
    align_file(source, result, durable=False, verify=True)
    assert_same(source, result)
    assert same_outputs(run(source, real.feeds()), run(result, real.feeds()))
    onnx.checker.check_model(str(result))


def test_every_backend_model_of_the_onnx_wheel_survives(tmp_path: Path) -> None:
    if not BACKEND:
        pytest.skip("the installed onnx carries no backend test models")
    for number, source in enumerate(BACKEND.values()):
        result = tmp_path / str(number) / "model.onnx"
        align_file(source, result, storage=EVERYTHING, durable=False)
        assert_same(source, result)


def test_the_absent_gap_bytes_are_zero(tmp_path: Path) -> None:
    weights = [np.arange(1000 + 7 * i, dtype=np.int16) for i in range(9)]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [],
            "g",
            [],
            [],
            initializer=[onnx.numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)],
        )
    )
    onnx.save(model, tmp_path / "model.onnx")
    align_file(tmp_path / "model.onnx", tmp_path / "out.onnx", durable=False)
    data = (tmp_path / "out.onnx.data").read_bytes()
    expected = bytearray()
    for weight in weights:
        expected += bytes(-len(expected) % 4096) + weight.tobytes()
    assert data == bytes(expected)


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _names(report: AlignReport) -> list[str]:
    return [file.name for model in report.models for file in model.data_files]

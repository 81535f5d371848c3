"""What has one cure is mended: then every reader has the right weights."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.repairing import find_repairs, repair_file
from tests.align.snapshot import snapshot
from tests.align.test_models import assert_laid_out
from tests.corpus import oracle
from tests.corpus.running import run

from .broken import BROKEN, Broken

NAMED = [one for one in BROKEN if one.code == "data-named"]
each = pytest.mark.parametrize("case", BROKEN, ids=str)


def test_the_broken_ones_have_names_of_their_own() -> None:
    assert len({one.name for one in BROKEN}) == len(BROKEN) > 30


@each
def test_it_is_mended_and_everybody_loads_the_right_weights(case: Broken, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    source = case.build(folder)
    before = snapshot(folder)
    report = repair_file(source, tmp_path / "mended" / "m.onnx", data=case.named(folder))
    assert case.code in {one.code for one in report.repairs}
    assert report.remaining == ()
    assert snapshot(folder) == before
    mended = tmp_path / "mended" / "m.onnx"
    tensors = oracle.tensors(mended)
    assert {one.name: one.raw for one in tensors.values()} == case.wanted
    assert_laid_out(mended, 4096)
    onnx.checker.check_model(str(mended))
    loaded = {one.name: one.raw_data for one in onnx.load(mended).graph.initializer}
    assert loaded == case.wanted
    assert [output.tobytes() for output in run(mended)] == list(case.wanted.values())
    assert find_repairs(mended).is_whole


@each
def test_a_dry_run_says_the_same_and_writes_nothing(case: Broken, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    before = snapshot(tmp_path)
    found = find_repairs(source, data=case.named(tmp_path))
    assert snapshot(tmp_path) == before
    assert found.written is None
    assert (
        found.repairs
        == repair_file(source, tmp_path / "mended" / "m.onnx", data=case.named(tmp_path)).repairs
    )
    values = json.loads(json.dumps(found.to_json()))
    assert values["schema_version"] == 1
    assert len(values["repairs"]) == len(found.repairs)


@pytest.mark.parametrize("case", NAMED, ids=str)
def test_a_data_file_that_nobody_named_is_not_taken(case: Broken, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(ModelError) as error:
        repair_file(source, tmp_path / "mended" / "m.onnx")
    assert "--data" in str(error.value.hint)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["other_case", "backslash", "drive", "absolute", "linked_out"])
def test_a_file_that_lies_near_is_told_with_what_to_type(name: str, tmp_path: Path) -> None:
    case = next(one for one in BROKEN if one.name == name)
    source = case.build(tmp_path)
    (fault,) = find_repairs(source).remaining
    assert fault.error.hint is not None
    near = source.parent / "model.onnx.data" if name == "linked_out" else case.named(tmp_path)[0]
    assert f"--data {near}" in fault.error.hint
    typed = fault.error.hint.partition("`--data ")[2].partition("`")[0]
    repair_file(source, tmp_path / "mended.onnx", data=[typed])


def test_data_may_be_named_by_location_in_a_mapping(tmp_path: Path) -> None:
    case = next(one for one in BROKEN if one.name == "two_moved")
    source = case.build(tmp_path)
    there = tmp_path / "there"
    report = repair_file(
        source,
        tmp_path / "mended.onnx",
        data={"a.data": there / "A.data", "sub/b.data": there / "b.data"},
    )
    assert [(one.before, Path(one.after).name) for one in report.repairs] == [
        ("a.data", "A.data"),
        ("sub/b.data", "b.data"),
    ]
    contents = oracle.tensors(tmp_path / "mended.onnx").values()
    assert {one.name: one.raw for one in contents} == case.wanted

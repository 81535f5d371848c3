"""Odd models that are valid: all of them are described, and rightly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.report import ModelReport
from tests.corpus import CASES, oracle
from tests.corpus.case import Case
from tests.corpus.params import cases

WRONG = {
    "overlapping": "overlap",
    "location_down_and_up": "unsafe-location",
    "tensor_names_twice": "duplicate-name",
    "tensor_names_missing": "no-name",
}
"""Errors in models that some reader takes."""
NOT_OF_WEIGHTS = {
    *("tensors_attribute", "graphs_attribute", "metadata_keys_twice", "other_large_attributes"),
    *("dtype_FLOAT4E2M1", "dtype_FLOAT6E2M3", "dtype_FLOAT6E3M2", "dtype_COMPLEX64"),
    "dtype_COMPLEX128",
}
"""What a reader refuses for another reason than where the weights are."""


def live_bytes(source: Path) -> dict[str, int]:
    """Bytes of each data file that tensors have, counted one by one."""
    owned: dict[str, set[int]] = {}
    for _, tensor in oracle.walk(oracle.parse(source)):
        if tensor.data_location != tensor.EXTERNAL:
            continue
        entries = oracle.entries_of(tensor)
        name = "/".join(one for one in entries["location"].split("/") if one not in ("", "."))
        offset = int(entries.get("offset", "0"))
        length = len(oracle.content(tensor, source.parent).raw)
        owned.setdefault(name, set()).update(range(offset, offset + length))
    return {name: len(bytes_of) for name, bytes_of in owned.items()}


@pytest.mark.parametrize("case", cases())
def test_the_bytes_of_each_data_file_are_accounted_for(case: Case, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    report = inspect_file(source)
    for one in report.files:
        assert one.nbytes == (source.parent / one.name).stat().st_size
        assert one.nbytes == (
            one.live_bytes + one.padding_bytes + one.dead_bytes + one.header_bytes
        )
        ends = [0]
        for part in one.ranges:
            assert part.offset <= max(ends)
            ends.append(part.offset + part.length)
        assert max(ends) == one.nbytes
    if case.name not in WRONG or case.name == "overlapping":
        assert {one.name: one.live_bytes for one in report.files} == live_bytes(source)


@pytest.mark.parametrize("case", cases())
def test_every_tensor_is_there_with_what_it_is(case: Case, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    rows = inspect_file(source).tensors
    model = dict(oracle.walk(oracle.parse(source)))
    assert {one.place for one in rows} == set(model)
    for one in rows:
        tensor = model[one.place]
        assert one.shape == tuple(tensor.dims)
        assert (one.file is not None) == (tensor.data_location == tensor.EXTERNAL)
        if one.nbytes is not None:
            assert one.nbytes == len(oracle.content(tensor, source.parent).raw)
        if one.offset and one.length:
            assert one.alignment is not None
            assert one.offset % one.alignment == 0
            assert one.offset % (2 * one.alignment) or one.alignment == 65536


@pytest.mark.parametrize("case", cases())
def test_a_valid_model_has_no_error_but_those_that_are_known(case: Case, tmp_path: Path) -> None:
    report = inspect_file(case.build(tmp_path))
    errors = {one.code for one in report.findings if one.severity == "error"}
    assert errors == ({WRONG[case.name]} if case.name in WRONG else set())


@pytest.mark.parametrize("case", cases())
def test_what_a_reader_refuses_is_warned_of(case: Case, tmp_path: Path) -> None:
    codes = {one.code for one in inspect_file(case.build(tmp_path)).findings} - {"dead-bytes"}
    if case.name not in NOT_OF_WEIGHTS and not (case.runs and case.checker and case.onnx_load):
        assert codes


@pytest.mark.parametrize("case", cases())
def test_a_report_is_fit_to_show(case: Case, tmp_path: Path) -> None:
    report = inspect_file(case.build(tmp_path))
    values = json.loads(json.dumps(report.to_json()))
    assert all(text.isprintable() for text in texts(values))
    assert len(values["tensors"]) == len(report.tensors)
    _check_links(report)


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in (*value.keys(), *value.values()) for text in texts(one)]
    return [text for one in value for text in texts(one)] if isinstance(value, list) else []


def _check_links(report: ModelReport) -> None:
    """Whatever points at a tensor or a finding points at one."""
    count = len(report.tensors)
    for index, one in enumerate(report.tensors):
        assert all(0 <= number < len(report.findings) for number in one.findings)
        for other in (one.tied_to, one.same_as):
            assert other is None or 0 <= other < index
    for part in (part for file in report.files for part in file.ranges):
        assert (part.tensor is None) == (part.kind != "tensor")
        assert part.tensor is None or part.tensor < count


def test_tied_and_equal_tensors_lead_to_the_first(tmp_path: Path) -> None:
    (tmp_path / "tied").mkdir()
    tied = inspect_file(CASES["tied"].build(tmp_path / "tied"))
    assert tied.tied == ((0, 1),)
    assert [one.tied_to for one in tied.tensors] == [None, 0, None]
    assert tied.external == (3, 2800)
    assert tied.mappings == 3
    (tmp_path / "equal").mkdir()
    equal = inspect_file(CASES["equal_bytes"].build(tmp_path / "equal"))
    assert [one.to_json() for one in equal.duplicates] == [{"bytes": 2000, "tensors": [0, 1, 2]}]
    assert [one.same_as for one in equal.tensors] == [None, 0, 0]


def test_without_a_look_for_duplicates_the_report_says_so(tmp_path: Path) -> None:
    report = inspect_file(CASES["equal_bytes"].build(tmp_path), duplicates=False)
    assert report.duplicates == ()
    assert report.notes == ("nobody looked for tensors of equal bytes",)

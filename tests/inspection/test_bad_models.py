"""Bad input: what is wrong is named, by its code, and nothing stops the look at the rest."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.inspecting import inspect_file, inspect_folder
from onnx_align_pass.inspection.faults import faults_of
from onnx_align_pass.inspection.inventory import inventory_of
from tests.align.snapshot import snapshot
from tests.corpus import BAD
from tests.corpus.bad_files import BAD as NO_MODELS
from tests.corpus.case import BadCase
from tests.corpus.params import bad_cases

FAULTS = {
    "bad-range": (
        *("offset_negative", "offset_minus_one", "offset_minus_2_63", "offset_text"),
        *("offset_empty", "offset_float", "offset_exponent", "offset_hexadecimal"),
        *("offset_underscore", "offset_full_width", "offset_space", "offset_plus", "offset_nul"),
        *("offset_2_63_minus_1", "offset_2_63", "offset_2_64", "offset_2_64_minus_length"),
        *("offset_of_5000_digits", "length_negative", "length_text", "length_empty"),
        *("length_float", "length_hexadecimal", "length_underscore", "length_space"),
        "length_of_5000_digits",
    ),
    "data-file-too-short": (
        *("data_lfs_pointer", "offset_past_end", "offset_at_end", "offset_so_that_end_is_past"),
        *("offset_2_31", "length_absent_and_past_end", "data_empty", "data_one_byte_short"),
        "data_is_the_model_and_short",
    ),
    "wrong-size": (
        *("length_shorter", "length_shorter_by_one", "length_longer", "length_padded"),
        *("length_past_end", "length_2_63", "length_2_64_plus_length", "float_in_int64_data"),
        *("float_data_too_short", "no_data_at_all", "raw_data_too_short", "raw_data_too_long"),
    ),
    "bytes-twice": (
        *("external_and_raw_data", "external_and_float_data", "raw_data_and_float_data"),
        *("float_data_and_int32_data", "external_and_one_number_of_another_type"),
    ),
    "stray-bytes": ("raw_data_of_empty", "string_in_raw_data"),
    "unsized-type": (
        *("external_string", "external_unknown_dtype", "external_negative_dtype"),
        *("external_undefined_dtype", "external_absent_dtype"),
    ),
    "bad-shape": (
        *("external_negative_dim", "external_two_negative_dims", "inline_negative_dim"),
        *("external_dims_overflow", "external_dims_huge", "inline_dims_huge"),
    ),
    "segment": ("external_segment",),
    "empty-external": ("external_zero_times_huge",),
    "unsafe-location": (
        *("location_up", "location_dot_up", "location_down_up_up", "location_down_up_up_missing"),
        *("location_many_up", "location_backslash_up", "location_backslash", "location_drive"),
        *("location_newline", "location_escape", "location_up_and_back", "location_up_alone"),
        *("location_root", "location_nul", "location_absolute", "location_absolute_inside"),
    ),
    "bad-location": (
        *("external_without_entries", "external_without_location", "location_empty"),
        *("location_dot", "location_trailing_slash", "location_not_utf8"),
        "location_of_endless_folders",
    ),
    "data-file-missing": (
        *("location_missing", "location_missing_folder", "location_url", "location_in_memory"),
        *("location_hash", "data_beside_the_target_of_the_model_link", "data_link_dangles"),
    ),
    "data-file-unreadable": ("location_too_long", "location_through_a_file", "data_link_loops"),
    "data-file-outside": (
        *("data_link_out", "data_link_out_in_two_steps", "data_folder_link_out"),
        "data_is_a_device",
    ),
    "data-file-foreign-links": ("data_link_of_another_owner",),
    "data-file-irregular": ("data_is_a_fifo", "data_is_a_folder", "data_is_a_socket"),
}
CODES = {case: code for code, cases in FAULTS.items() for case in cases}
BROKEN = [case for case in bad_cases() if case.id not in CODES]
FAULTY = [case for case in bad_cases() if case.id in CODES]
FOUND_TOO = {"dead-bytes", "length-absent", "data-in-model", "unportable-name"}
"""What is true of some of these models besides."""


def test_every_bad_model_is_here() -> None:
    assert set(CODES) | {str(one.id) for one in BROKEN} == set(BAD)
    assert {str(one.id) for one in BROKEN} <= set(NO_MODELS)


def test_a_finding_keeps_no_frames_alive(tmp_path: Path) -> None:
    report = inspect_file(BAD["location_missing"].build(tmp_path))
    errors = [one.error for one in report.findings]
    assert errors
    assert not [one for one in errors if one.__traceback__ or one.__context__]


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_model_is_a_named_error(case: BadCase, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    with pytest.raises(ModelError) as error:
        inspect_file(source)
    assert error.value.code in ("model-not-found", "not-a-model")
    assert error.value.hint


@pytest.mark.parametrize("case", FAULTY)
def test_what_is_wrong_with_a_tensor_is_named(case: BadCase, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    before = snapshot(tmp_path)
    report = inspect_file(source)
    assert snapshot(tmp_path) == before
    found = {one.code for one in report.findings}
    assert CODES[case.name] in found
    assert found - FOUND_TOO == {CODES[case.name]}
    assert json.loads(json.dumps(report.to_json()))["findings"]


@pytest.mark.parametrize("case", FAULTY)
def test_a_finding_helps_and_is_fit_to_show(case: BadCase, tmp_path: Path) -> None:
    report = inspect_file(case.build(tmp_path))
    for one in report.findings:
        assert one.error.hint or one.code == "data-file-unreadable", one
        assert one.error.file is not None
        assert str(one).isprintable()
        assert len(str(one)) < 1500 + len(str(tmp_path))
    (faulty,) = [one for one in report.tensors if one.findings]
    assert report.findings[faulty.findings[0]].code == CODES[case.name]


@pytest.mark.parametrize("case", FAULTY)
def test_nothing_that_cannot_be_read_satisfies_a_preset(case: BadCase, tmp_path: Path) -> None:
    report = inspect_file(case.build(tmp_path))
    if any(one.severity == "error" and one.code != "stray-bytes" for one in report.findings):
        assert not any(one.satisfied for one in report.presets)
        assert all(one.breaches and one.why_not for one in report.presets)


def test_a_folder_of_bad_models_is_looked_at_to_its_end(tmp_path: Path) -> None:
    wanted: Counter[bool] = Counter()
    for name in ("zeros", "cut_at_50_percent", "location_missing", "offset_text"):
        (tmp_path / name).mkdir()
        BAD[name].build(tmp_path / name)
        wanted[name in CODES] += 1
    reports = inspect_folder(tmp_path)
    assert Counter(one.is_readable for one in reports) == wanted
    for one in reports:
        codes = {finding.code for finding in one.findings if finding.severity == "error"}
        assert codes == ({"not-a-model"} if not one.is_readable else codes - {"not-a-model"})
        assert codes
        assert one.to_json().keys() == reports[0].to_json().keys()
        assert one.model_bytes == one.model.stat().st_size


def test_faults_are_the_errors_of_a_report_without_a_look_at_the_weights(tmp_path: Path) -> None:
    source = BAD["offset_past_end"].build(tmp_path)
    with inventory_of(source) as inventory:
        faults = list(faults_of(inventory))
    assert [one.code for one in faults] == ["data-file-too-short"]
    assert str(faults[0]) == str(inspect_file(source).findings[0])

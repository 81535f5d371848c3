"""The corpus: what is valid is left alone or made plain, what is bad is mended or says why not."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.repairing import find_repairs, repair_file
from tests.align.snapshot import snapshot
from tests.corpus import oracle
from tests.corpus.case import BadCase, Case
from tests.corpus.params import bad_cases, cases
from tests.corpus.real import BACKEND, REAL
from tests.corpus.running import run, same_outputs

pytestmark = pytest.mark.ends_within(30)

PLAIN = {
    "offset_absent": {"offset-absent"},
    "length_absent": {"length-absent"},
    "offset_and_length_absent": {"offset-absent", "length-absent"},
    "offset_and_length_absent_in_a_file_of_its_own": {"offset-absent", "length-absent"},
    "length_zero": {"length-absent"},
    "checksum_stale": {"checksum-stale"},
    "basepath": {"unknown-key"},
    "unknown_key": {"unknown-key"},
    "location_twice": {"key-twice"},
    "offset_and_length_twice": {"key-twice"},
}
"""Valid cases whose entries some reader takes otherwise than the others."""
NOT_MENDED = {"overlapping": "overlap", "location_down_and_up": "unsafe-location"}
"""Read by the peers, and not mended without somebody who says what is meant."""
MENDED = {
    **dict.fromkeys(("offset_float", "offset_space", "offset_plus"), "number"),
    **dict.fromkeys(("length_float", "length_space"), "number"),
}
"""Bad cases with one cure, and no need of anybody to say what is meant."""
HARMLESS = {"external_zero_times_huge"}
"""It has no elements, and its file is there: no reader of its bytes can fail."""
NAMED = {
    "location_up": "secret.data",
    "location_dot_up": "secret.data",
    "location_down_up_up": "secret.data",
    "location_down_up_up_missing": "secret.data",
    "location_backslash_up": "model/..\\secret.data",
    "location_backslash": "model/a\\w.data",
    "location_drive": "model/C:\\w.data",
    "location_newline": "model/w\n.data",
    "location_escape": "model/\x1b[31mw.data",
    "location_up_and_back": "model/model.onnx.data",
    "location_through_a_file": "model/file",
    "location_trailing_slash": "model/model.onnx.data",
    "location_not_utf8": "model/w\udcff.data",
    "location_absolute": "secret.data",
    "location_absolute_inside": "model/model.onnx.data",
    "data_link_out": "secret.data",
    "data_link_out_in_two_steps": "secret.data",
    "data_folder_link_out": "secret/w.data",
    "data_beside_the_target_of_the_model_link": "real/model.onnx.data",
    "data_link_of_another_owner": "secret.data",
}
"""Bad cases whose bytes are in a file that the user can name."""


def built(case: Case | BadCase, folder: Path) -> Path:
    folder.mkdir()
    return case.build(folder)


@pytest.mark.parametrize("case", cases())
def test_a_valid_model_is_left_alone_or_made_plain(case: Case, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path)
    result = tmp_path / "result" / "model.onnx"
    if case.name in NOT_MENDED:
        with pytest.raises(ModelError):
            repair_file(source, result)
        codes = {one.code for one in find_repairs(source).remaining}
        assert codes == {NOT_MENDED[case.name]}
        assert snapshot(tmp_path) == before
        return
    report = repair_file(source, result, durable=False)
    assert {one.code for one in report.repairs} == PLAIN.get(case.name, set())
    if case.name not in PLAIN:
        assert report.is_whole
        assert report.written is None
        assert snapshot(tmp_path) == before
        return
    assert oracle.tensors(result) == oracle.tensors(source)
    assert oracle.rest(result) == oracle.rest(source)
    onnx.load(result)
    assert same_outputs(run(result), run(oracle.inlined(source).SerializeToString()))


@pytest.mark.parametrize("case", bad_cases())
def test_a_bad_model_is_mended_or_refused_for_a_reason(case: BadCase, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path)
    result = tmp_path / "result" / "model.onnx"
    if case.name in HARMLESS:
        assert repair_file(source, result).is_whole
    elif case.name in MENDED:
        report = repair_file(source, result, durable=False)
        assert {one.code for one in report.repairs} == {MENDED[case.name]}
        onnx.load(result)
        run(result)
        return
    else:
        with pytest.raises(ModelError) as error:
            repair_file(source, result, durable=False)
        text = str(error.value)
        assert error.value.file is not None, text
        assert error.value.hint, text
        assert text.isprintable(), text
        assert "--data" in text or case.name not in NAMED, text
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("case", [case for case in bad_cases() if case.id in NAMED])
def test_a_bad_location_is_mended_when_its_file_is_named(case: BadCase, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path / "source")
    file = tmp_path / "source" / NAMED[case.name]
    result = tmp_path / "result.onnx"
    repair = repair_file(source, result, data=[file], durable=False).repairs[0]
    assert (repair.code, repair.after) == ("data-named", str(file))
    assert snapshot(tmp_path / "source") == before
    (tensor,) = onnx.load(result).graph.initializer
    assert tensor.raw_data == file.read_bytes()[:1200]
    assert run(result)[0].tobytes() == tensor.raw_data


@pytest.mark.parametrize("name", sorted(REAL))
def test_nothing_is_wrong_with_a_real_model(name: str) -> None:
    assert find_repairs(REAL[name].path()).is_whole


def test_nothing_is_wrong_with_the_backend_models_of_the_onnx_wheel() -> None:
    if not BACKEND:
        pytest.skip("the installed onnx carries no backend test models")
    for source in BACKEND.values():
        assert find_repairs(source).is_whole, source

"""What is wrong with a bad model is named, by its code; nothing crashes, nothing hangs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from onnx_align_cli import main
from onnx_align_pass import ModelError
from onnx_align_pass.findings import Finding
from onnx_align_pass.verifying import verify_file
from tests.corpus import BAD
from tests.corpus.case import BadCase
from tests.corpus.params import bad_cases
from tests.corpus.test_corpus import succeeds
from tests.corpus.wire import block, varint_field
from tests.inspection.test_bad_models import CODES

from .found import codes_of, errors_in

NO_MODEL = "no model at all"
"""It is refused by a named error: there is nothing to look at."""
REFUSED_FOLDERS = {
    "model_is_a_folder": "it has no model in it",
    "data_folder_link_out": "a folder in it is a link",
}
EXPECTED = {
    **dict.fromkeys(BAD, NO_MODEL),
    **CODES,
    "external_zero_times_huge": "checker",
}
CHECKER_TOO = {"string_in_raw_data", "external_undefined_dtype", "external_absent_dtype"}
"""What the checker may complain of besides: it looks at element types."""
LENIENT = "external_zero_times_huge"
"""Its fault is one to the checker alone, and only from onnx 1.21 on."""
BROKEN = [case for case in bad_cases() if EXPECTED[case.id] == NO_MODEL]
FAULTY = [case for case in bad_cases() if EXPECTED[case.id] != NO_MODEL]


@pytest.fixture(autouse=True)
def _seen_by_this_onnx(request: pytest.FixtureRequest) -> None:
    huge = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 62, 1 << 62, 0])
    if LENIENT in request.node.name and succeeds(lambda: onnx.checker.check_tensor(huge)) is None:
        pytest.skip(f"the checker of onnx {onnx.__version__} sees no fault in it")


pytestmark = pytest.mark.ends_within(20)
Capture = pytest.CaptureFixture[str]


def own_codes(case: BadCase, findings: Iterable[Finding]) -> set[str]:
    return set(codes_of(findings)) - ({"checker"} if case.name in CHECKER_TOO else set())


@pytest.mark.parametrize("case", FAULTY)
def test_the_fault_of_a_model_is_named(case: BadCase, tmp_path: Path) -> None:
    (model,) = verify_file(case.build(tmp_path)).models
    errors = errors_in(model.findings)
    assert own_codes(case, errors) == {EXPECTED[case.name]}, errors
    assert not model.ok
    for finding in errors:
        assert finding.error.hint or finding.code == "data-file-unreadable"
        assert str(finding).isprintable()
        assert str(tmp_path) in str(finding.error.file)
        assert finding.error.tensor in (None, "w")
        assert "#elsewhere" not in str(finding)


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_model_is_refused(case: BadCase, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        verify_file(case.build(tmp_path))
    assert error.value.hint


@pytest.mark.parametrize("case", bad_cases())
def test_the_command_exits_with_1_for_faults_and_3_for_no_model(
    case: BadCase, tmp_path: Path, capsys: Capture
) -> None:
    source = case.build(tmp_path)
    expected = 3 if EXPECTED[case.name] == NO_MODEL else 1
    assert main(["verify", str(source)]) == expected
    out, err = capsys.readouterr()
    assert all(line.isprintable() for line in (out + err).splitlines())
    assert "Traceback" not in out + err
    assert ("FAILED" in out) == (expected == 1)
    assert err.startswith("error: ") == (expected == 3)


@pytest.mark.parametrize("case", bad_cases(needs_root=False))
def test_in_a_folder_a_bad_model_is_a_finding(case: BadCase, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    if case.name in REFUSED_FOLDERS or case.name.startswith("missing"):
        with pytest.raises(ModelError):
            verify_file(source.parent)
        return
    models = {one.model: one for one in verify_file(source.parent).models}
    expected = EXPECTED[case.name]
    codes = own_codes(case, models[source].findings)
    if expected == NO_MODEL:
        assert codes in ({"not-a-model"}, {"model-not-found"})
    else:
        assert codes == {expected}


@pytest.mark.parametrize("dtype", [TensorProto.INT64, 99])
def test_numbers_that_protobuf_cannot_read_are_a_fault(dtype: int, tmp_path: Path) -> None:
    head = varint_field(1, 1400) + varint_field(2, dtype) + block(8, b"w")
    path = tmp_path / "model.onnx"
    path.write_bytes(block(7, block(5, head + block(7, b"\x01" * 1399 + b"\x80"))))
    assert codes_of(verify_file(path).findings) == ["bad-numbers", "checker"]


def test_the_object_of_a_bad_model_has_its_facts(tmp_path: Path, capsys: Capture) -> None:
    source = BAD["data_one_byte_short"].build(tmp_path)
    assert main(["verify", str(source), "--json"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    values = json.loads(out)
    assert values["schema_version"] == 1
    assert values["ok"] is False
    (model,) = values["models"]
    (finding,) = model["findings"]
    assert finding["code"] == "data-file-too-short"
    assert finding["severity"] == "error"
    assert finding["tensor"] == "w"
    assert finding["file"] == str(tmp_path / "model.onnx.data")
    assert finding["found"] == "a file of 1,199 bytes"
    assert values["totals"]["errors"] == 1

"""A valid model has no errors, however odd: findings are for what is wrong."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.verify_report import ModelVerification
from onnx_align_pass.verifying import verify_file
from tests.corpus import CASES, oracle, real
from tests.corpus.build import external, showing, tensor, write
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.corpus.sparse import sparse, sparse_graph
from tests.corpus.test_corpus import succeeds
from tests.inspection.test_cases import WRONG
from tests.model.sparse_file import sparse_model

from .found import codes_of, warned_in

WITH_ERRORS = {**WRONG, "checksum_stale": "checksum-mismatch"}
WITH_WARNINGS = {
    "dead-bytes": {
        *("scalars", "tied", "tied_as_constant", "tied_with_other_dtype", "overlapping"),
        *("out_of_order", "wide_gap", "beyond_4_gib", "two_thousand_small", "offset_absent"),
        *("length_absent", "length_zero", "offset_and_length_absent"),
        *("offset_and_length_absent_in_a_file_of_its_own", "checksum", "checksum_stale"),
        *("basepath", "prepacked", "unknown_key", "keys_in_other_order", "location_twice"),
        *("offset_and_length_twice", "leading_zeros", "entries_of_an_inline_tensor"),
    },
    "empty-external": {"empty_external", "empty_external_without_length"},
    "unknown-type": {"unknown_dtypes_inline"},
    "shape-input-external": {"reshape_to_external_shape"},
    "sparse-indices-external": {
        *("sparse_external", "sparse_half_external", "sparse_constants"),
        "sparse_tensors_attribute",
    },
    "wide-gap": {"wide_gap", "beyond_4_gib"},
    "many-tiny-external": {"two_thousand_small"},
    "offset-absent": {
        *("offset_absent", "offset_and_length_absent"),
        "offset_and_length_absent_in_a_file_of_its_own",
    },
    "length-absent": {
        *("length_absent", "length_zero", "offset_and_length_absent"),
        "offset_and_length_absent_in_a_file_of_its_own",
    },
    "unknown-key": {"basepath", "unknown_key"},
    "prepacked-key": {"prepacked"},
    "key-twice": {"location_twice", "offset_and_length_twice"},
    "dots-in-location": {"location_two_dots_in_name"},
    "name-not-utf8": {"tensor_name_not_utf8"},
    "hub-cache": {"hugging_face_snapshot"},
    "data-file-symlink": {"data_is_a_link_inside"},
    "hard-link": {"data_has_two_links"},
    "data-in-model": {"data_inside_the_model"},
    "shared-data-file": {"two_models_of_one_data_file"},
    "unportable-name": {"location_shell", "location_spaces"},
}
"""Cases by what is warned of; the small data files of the corpus have gaps."""
GIB = 1 << 30


def checked(path: Path) -> ModelVerification:
    (model,) = verify_file(path).models
    assert set(model.checked) >= {"bounds", "overlap", "sizes", "checker"}
    return model


def complaint(model: ModelVerification) -> str | None:
    found = [one.error.problem for one in model.findings if one.code == "checker"]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("case", cases())
def test_a_valid_model_has_no_findings_but_its_own(case: Case, tmp_path: Path) -> None:
    model = checked(case.build(tmp_path))
    own = {WITH_ERRORS[case.name]} if case.name in WITH_ERRORS else set()
    errors = set(codes_of(model.findings))
    assert errors - ({"checker"} if not case.checker else set()) == own
    warnings = {code for code, names in WITH_WARNINGS.items() if case.name in names}
    assert warned_in(model.findings) == warnings
    assert model.ok == (not errors)


def test_every_case_that_is_named_here_exists() -> None:
    assert set(CASES) >= set(WITH_ERRORS).union(*WITH_WARNINGS.values())


@pytest.mark.parametrize("case", cases())
def test_the_checker_says_what_it_says_of_the_same_model_inline(case: Case, tmp_path: Path) -> None:
    path = case.build(tmp_path)
    if case.name == "beyond_4_gib":
        return
    inline = oracle.inlined(path).SerializeToString()
    said = succeeds(lambda: onnx.checker.check_model(inline))
    found = complaint(checked(path))
    assert (found is None) == (said is None), (found, said)
    if found is not None and said is not None:
        assert " ".join(said.split()).endswith(found.partition("refuses it: ")[2])


def test_the_checker_says_of_models_of_onnx_what_it_says_to_onnx(tmp_path: Path) -> None:
    refused = 0
    for name in sorted(real.node_models())[::6]:
        path = real.node_model(name, tmp_path)
        said = succeeds(lambda path=path: onnx.checker.check_model(str(path)))  # type: ignore[misc]
        assert (complaint(checked(path)) is None) == (said is None), (name, said)
        refused += said is not None
    assert refused < 30


@pytest.mark.parametrize("name", real.REAL)
def test_a_real_model_has_nothing_wrong(name: str) -> None:
    model = checked(real.REAL[name].path())
    assert model.findings == ()
    assert model.tensors > 10


@pytest.mark.parametrize("name", real.BACKEND or [pytest.param("any", id="none installed")])
def test_a_model_of_onnx_has_nothing_wrong(name: str) -> None:
    path = real.backend_model(name)
    said = succeeds(lambda: onnx.checker.check_model(str(path)))
    assert (complaint(checked(path)) is None) == (said is None)


def test_a_model_over_2_gib_is_checked(tmp_path: Path) -> None:
    sparse_model(tmp_path / "model.onnx", [3 * GIB, 2_000, 16 * 2])
    model = checked(tmp_path / "model.onnx")
    assert [one.code for one in model.findings] == ["model-over-2gib"]
    assert model.tensors == 3


def test_sparse_indices_that_are_wrong_are_found_wherever_they_are(tmp_path: Path) -> None:
    for name in ("inside", "outside"):
        folder = tmp_path / name
        folder.mkdir()
        good = sparse("s", count=500)
        raw = bytearray(good.indices.raw_data)
        raw[8 * 400 : 8 * 401] = raw[8 * 399 : 8 * 400]  # twice the same place
        good.indices.raw_data = bytes(raw)
        if name == "outside":
            good.indices.CopyFrom(external(good.indices, folder))
        found = complaint(checked(write(folder, sparse_graph([good]))))
        assert found is not None
        assert "sorted" in found


def test_the_checker_does_not_look_at_sparse_indices_that_cannot_be_read(tmp_path: Path) -> None:
    one = sparse("s", folder=tmp_path)
    (tmp_path / "model.onnx.data").write_bytes(b"")
    (model,) = verify_file(write(tmp_path, sparse_graph([one]))).models
    assert "checker" not in model.checked
    assert [finding.code for finding in model.findings] == [
        "data-file-too-short",
        "sparse-indices-external",
    ]


def test_a_graph_that_uses_what_it_does_not_make_is_refused(tmp_path: Path) -> None:
    graph = showing([external(tensor("w", [500]), tmp_path)])
    graph.node[0].input[0] = "nobody"
    model = checked(write(tmp_path, graph))
    (finding,) = model.findings
    assert finding.code == "checker"
    assert "nobody" in str(finding)
    assert "\n" not in str(finding)


def test_names_that_are_not_utf8_do_not_crash_the_report(tmp_path: Path) -> None:
    graph = showing([external(tensor("w", [500]), tmp_path)])
    graph.node[0].MergeFromString(b"\x0a\x02w\xff")
    (finding,) = checked(write(tmp_path, graph)).findings
    assert finding.code == "checker"
    assert str(finding).isprintable()


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        verify_file(tmp_path / "gone.onnx")

"""What works and may hurt: one test for each thing that is known to have hurt somebody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from onnx_align_pass import LayoutPolicy, align_file
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection import hazards
from tests.align.small_models import external_model, weights_model
from tests.corpus import CASES
from tests.corpus.build import DATA, MODEL, external, point, showing, tensor, write
from tests.model.sparse_file import sparse_model

STRICT = hasattr(onnx.external_data_helper, "_MAX_EXTERNAL_DATA_PADDING")
"""Whether the installed onnx is 1.23 or newer: it refuses wide gaps, and files of other names."""


def findings(source: Path) -> dict[str, Finding]:
    report = inspect_file(source)
    found = {one.code: one for one in report.findings}
    assert len(found) == len(report.findings)
    return found


def only(source: Path, *also: str) -> Finding:
    """The one finding of a model, besides those of `also`."""
    (found,) = [one for code, one in findings(source).items() if code not in also]
    return found


def test_a_plain_model_has_nothing_that_may_hurt(tmp_path: Path) -> None:
    assert findings(external_model(tmp_path / MODEL)) == {}


def test_a_gap_of_over_64_kib_is_warned_of_as_onnx_refuses_to_save_behind_it(
    tmp_path: Path,
) -> None:
    for gap in (65_536, 65_537):
        folder = tmp_path / str(gap)
        folder.mkdir()
        tensors = [
            external(tensor("a", [300]), folder, gap=0),
            external(tensor("b", [300]), folder, gap=gap),
        ]
        found = findings(write(folder, showing(tensors)))
        assert ("wide-gap" in found) == (gap > 65_536)
        if STRICT:
            assert ("wide-gap" in found) == saving_refuses(tensors, folder / "saved")


def saving_refuses(tensors: Sequence[TensorProto], folder: Path) -> bool:
    """Whether onnx saves tensors at the offsets that they have."""
    folder.mkdir()
    try:
        for one in tensors:
            held = TensorProto()
            held.CopyFrom(one)
            held.raw_data = bytes(1200)
            (folder / DATA).touch()
            onnx.external_data_helper.save_external_data(held, str(folder))
    except onnx.checker.ValidationError:
        return True
    return False


def test_a_file_that_was_saved_twice_has_dead_bytes(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL)
    data = tmp_path / f"{MODEL}.data"
    data.write_bytes(data.read_bytes() * 2)
    found = only(source)
    assert found.code == "dead-bytes"
    assert inspect_file(source).files[0].dead_bytes == data.stat().st_size // 2


def test_a_few_dead_bytes_are_counted_and_not_warned_of(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL)
    with (tmp_path / f"{MODEL}.data").open("ab") as file:
        file.write(b"\1" * 100)
    assert findings(source) == {}
    assert inspect_file(source).files[0].dead_bytes == 100


def test_a_file_that_others_share_is_named_with_the_others(tmp_path: Path) -> None:
    source = external_model(tmp_path / "deep" / MODEL)
    os.link(source, tmp_path / "deep" / "other.onnx")
    above = onnx.load(source, load_external_data=False)
    for one in above.graph.initializer:
        one.external_data[0].value = f"deep/{one.external_data[0].value}"
    onnx.save(above, tmp_path / "above.onnx")
    found = only(source)
    assert found.code == "shared-data-file"
    assert found.error.found == "other.onnx, ../above.onnx"
    assert inspect_file(source).files[0].shared_with == ("other.onnx", "../above.onnx")


def test_a_neighbour_that_is_no_model_is_noted_as_it_may_share(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL)
    (tmp_path / "broken.onnx").write_bytes(b"\0" * 100)
    (note,) = inspect_file(source).notes
    assert note.startswith("broken.onnx is no model as it is")


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("hugging_face_snapshot", "hub-cache"),
        ("data_is_a_link_inside", "data-file-symlink"),
        ("data_has_two_links", "hard-link"),
        ("location_two_dots_in_name", "dots-in-location"),
    ],
)
def test_what_onnx_refuses_to_open_is_warned_of(case: str, code: str, tmp_path: Path) -> None:
    source = CASES[case].build(tmp_path)
    assert only(source).code == code
    if STRICT:
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(str(source))


def test_a_folder_on_the_way_that_is_a_link_counts(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL, data="w.data")
    (tmp_path / "real").mkdir()
    (tmp_path / "w.data").rename(tmp_path / "real" / "w.data")
    (tmp_path / "linked").symlink_to("real")
    model = onnx.load(source, load_external_data=False)
    for one in model.graph.initializer:
        one.external_data[0].value = "linked/w.data"
    onnx.save(model, source)
    assert only(source).code == "data-file-symlink"
    if STRICT:
        with pytest.raises(onnx.checker.ValidationError):
            onnx.load(source)


def test_a_model_in_a_folder_that_is_a_link_is_no_hazard(tmp_path: Path) -> None:
    external_model(tmp_path / "real" / MODEL)
    (tmp_path / "linked").symlink_to("real")
    assert findings(tmp_path / "linked" / MODEL) == {}
    assert onnx.load(tmp_path / "linked" / MODEL) is not None


def test_a_model_that_is_its_own_data_file_is_warned_of(tmp_path: Path) -> None:
    source = CASES["data_inside_the_model"].build(tmp_path)
    assert only(source).code == "data-in-model"
    (file,) = inspect_file(source).files
    assert (file.live_bytes, file.dead_bytes) == (1200, 0)
    assert file.header_bytes == source.stat().st_size - 1200


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("reshape_to_external_shape", "shape-input-external"),
        ("empty_external", "empty-external"),
        ("unknown_dtypes_inline", "unknown-type"),
        ("unknown_key", "unknown-key"),
        ("basepath", "unknown-key"),
        ("prepacked", "prepacked-key"),
        ("location_twice", "key-twice"),
        ("length_absent", "length-absent"),
        ("length_zero", "length-absent"),
        ("offset_absent", "offset-absent"),
        ("checksum", "checksum-unverified"),
        ("checksum_stale", "checksum-unverified"),
        ("tensor_name_not_utf8", "name-not-utf8"),
        ("sparse_external", "sparse-indices-external"),
        ("two_thousand_small", "many-tiny-external"),
    ],
)
def test_each_oddity_is_warned_of(case: str, code: str, tmp_path: Path) -> None:
    found = only(CASES[case].build(tmp_path), "dead-bytes")
    assert found.code == code
    assert found.severity == "warning"
    assert found.error.hint


def test_many_that_are_alike_are_one_finding_that_counts_them(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL, {f"w{index}": (30, 30) for index in range(5)})
    (tmp_path / f"{MODEL}.data").unlink()
    report = inspect_file(source)
    (found,) = report.findings
    assert (found.code, found.error.tensor) == ("data-file-missing", "w0")
    assert found.error.found == "5 tensors of this file"
    assert [one.findings for one in report.tensors] == [(0,)] * 5


def test_one_more_is_one_tensor(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL, {"a": (30, 30), "b": (30, 30)})
    (tmp_path / f"{MODEL}.data").write_bytes(bytes(10))
    (found,) = inspect_file(source).findings
    assert found.error.found == "a file of 10 bytes; and so 1 more tensor of this file"


def test_files_that_are_missing_are_a_finding_each(tmp_path: Path) -> None:
    names = ["a.data", "b.data", "a.data"]
    entries = [(("location", name), ("length", "1200")) for name in names]
    tensors = [point(tensor(f"w{at}", [300]), pairs) for at, pairs in enumerate(entries)]
    report = inspect_file(write(tmp_path, showing(tensors)))
    missing = [index for index, one in enumerate(report.findings) if "missing" in one.code]
    assert len(missing) == 2
    assert [one.findings[0] for one in report.tensors] == [missing[0], missing[1], missing[0]]


@pytest.mark.parametrize(
    ("weights", "code", "severity"),
    [
        ((1 << 30, (1 << 30) + (1 << 20)), "model-over-2gib", "error"),
        ((1 << 30, (1 << 30) - (1 << 20)), "model-near-2gib", "warning"),
    ],
)
def test_inline_weights_of_near_2_gib_are_warned_of(
    weights: tuple[int, ...], code: str, severity: str, tmp_path: Path
) -> None:
    sparse_model(tmp_path / MODEL, weights)
    report = inspect_file(tmp_path / MODEL, duplicates=False)
    assert [(one.code, one.severity) for one in report.findings] == [(code, severity)]
    assert report.inline == (2, sum(weights))


def test_a_model_of_1_gib_is_large_and_no_hazard(tmp_path: Path) -> None:
    sparse_model(tmp_path / MODEL, [1 << 30])
    assert findings(tmp_path / MODEL) == {}


@pytest.mark.parametrize(
    ("most", "limit", "code"),
    [(6, 20, None), (4, 20, "many-mappings"), (2, 4, "mappings-over-limit")],
)
def test_a_mapping_for_each_tensor_is_counted(
    most: int, limit: int, code: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hazards, "MANY_MAPPINGS", most)
    monkeypatch.setattr(hazards, "MAX_MAP_COUNT", limit)
    source = external_model(tmp_path / MODEL, {f"w{index}": (30, 30) for index in range(6)})
    assert inspect_file(source).mappings == 6
    assert set(findings(source)) == ({code} if code else set())


def test_a_safetensors_file_that_is_none_is_warned_of(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL, data="w.safetensors")
    assert only(source).code == "bad-safetensors"


def test_strings_and_small_tensors_are_where_they_should_be(tmp_path: Path) -> None:
    model = weights_model({"w": (30, 30)})
    model.graph.initializer.append(numpy_helper.from_array(np.array(["a", "b"], object), "texts"))
    source = tmp_path / MODEL
    source.write_bytes(model.SerializeToString())
    aligned = tmp_path / "aligned.onnx"
    align_file(source, aligned, layout=LayoutPolicy(alignment=64), durable=False)
    report = inspect_file(aligned)
    assert report.findings == ()
    assert [(one.file is None, one.nbytes) for one in report.tensors] == [
        (False, 3600),
        (True, None),
    ]

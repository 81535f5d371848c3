"""Real models, from wheels: described without a fault, and the same after they were aligned."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import LayoutPolicy, align_file
from onnx_align_pass.inspecting import inspect_file
from tests.corpus import oracle
from tests.corpus.real import BACKEND, REAL


@pytest.mark.parametrize("name", REAL)
def test_a_real_model_is_described_as_it_is(name: str, tmp_path: Path) -> None:
    path = REAL[name].path()
    report = inspect_file(path)
    contents = oracle.tensors(path)
    assert report.findings == ()
    assert report.inline.tensors == len(report.tensors) == len(contents)
    assert report.external == (0, 0)
    assert report.inline.nbytes == sum(
        len(one.raw) for one in contents.values() if one.dtype != onnx.TensorProto.STRING
    )
    assert report.files == ()


@pytest.mark.parametrize("name", REAL)
def test_a_real_model_that_was_aligned_has_the_same_tensors(name: str, tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    shutil.copyfile(REAL[name].path(), source)
    before = inspect_file(source)
    align_file(source, layout=LayoutPolicy(alignment=4096), durable=False)
    after = inspect_file(source)
    assert after.findings == ()
    assert [one[:6] for one in after.tensors] == [one[:6] for one in before.tensors]
    assert {one.name for one in after.presets if one.satisfied} >= {"page", "packed", "simd"}
    (file,) = after.files
    assert file.dead_bytes == 0
    assert file.live_bytes == after.external.nbytes
    assert after.misaligned(4096) == 0
    assert [one.tensors for one in after.duplicates] == [one.tensors for one in before.duplicates]


@pytest.mark.parametrize("name", sorted(BACKEND))
def test_the_models_of_onnx_are_described(name: str) -> None:
    report = inspect_file(BACKEND[name])
    expected = [one for _, one in oracle.walk(oracle.parse(BACKEND[name]))]
    assert Counter(one.dtype for one in report.tensors) == Counter(
        onnx.TensorProto.DataType.Name(one.data_type) for one in expected
    )
    assert not [one for one in report.findings if one.severity == "error"]

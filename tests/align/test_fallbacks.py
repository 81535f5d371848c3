"""On a system with few calls, as Windows and macOS have them, a model is repacked all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnx_align_pass import LayoutPolicy, align_file
from onnx_align_pass.transfer import kernel
from tests.corpus import CASES, oracle

MISSING = {
    "macos": ("splice", "copy_file_range", "posix_fadvise"),
    "windows": (
        *("splice", "copy_file_range", "posix_fadvise", "pread", "preadv", "pwrite", "pwritev"),
        *("fchown", "chown", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"),
    ),
}


@pytest.mark.parametrize("name", ["mixed", "dtype_FLOAT", "wire_float_data_mixed", "tied"])
@pytest.mark.parametrize("system", sorted(MISSING))
def test_a_model_is_repacked_with_few_system_calls(
    system: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    (tmp_path / "source").mkdir()
    source = case.build(tmp_path / "source")
    before, rest = oracle.tensors(source), oracle.rest(source)
    for call in MISSING[system]:
        monkeypatch.delattr(os, call, raising=False)
    monkeypatch.setattr(kernel, "fcntl", None)
    result = tmp_path / "result" / "model.onnx"
    report = align_file(source, result, verify=True)
    assert report.models[0].verified
    align_file(result, layout=LayoutPolicy(alignment=64))
    assert sorted(path.name for path in result.parent.iterdir()) == [
        "model.onnx",
        "model.onnx.data",
    ]
    assert (oracle.tensors(result), oracle.rest(result)) == (before, rest)

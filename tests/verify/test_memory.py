"""Memory is the metadata, whatever the weights weigh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.align.small_models import external_model
from tests.cli.models import sparse_model as outside
from tests.model.sparse_file import sparse_model as inside

GIB = 1 << 30
linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")


@linux
def test_a_comparison_and_a_digest_of_a_gib_take_some_mib(tmp_path: Path) -> None:
    tiny = external_model(tmp_path / "tiny" / "tiny.onnx")
    external_model(tmp_path / "tiny" / "copy.onnx")
    one = outside(tmp_path / "one", GIB)
    other = outside(tmp_path / "other", GIB)
    found = peaks(one, other, tiny)
    assert found[:2] == [True, GIB]
    assert max(found[2:4]) < 12 << 20


@linux
def test_so_does_one_tensor_of_a_gib_inside_the_model(tmp_path: Path) -> None:
    tiny = external_model(tmp_path / "tiny" / "tiny.onnx")
    external_model(tmp_path / "tiny" / "copy.onnx")
    for name in ("one", "other"):
        inside(tmp_path / f"{name}.onnx", [GIB])
    found = peaks(tmp_path / "one.onnx", tmp_path / "other.onnx", tiny)
    assert found[:2] == [True, GIB]
    assert max(found[2:4]) < 12 << 20


def peaks(one: Path, other: Path, tiny: Path) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.verify.peak", one, other, tiny],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=True,
    )
    values: list[int] = json.loads(done.stdout)
    *found, seen = values
    if not seen:
        pytest.skip("this system does not say how much memory a process had")
    return found

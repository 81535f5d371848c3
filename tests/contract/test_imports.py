"""What is loaded when: in processes of their own, since this one has loaded everything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import CASES

HEAVY = {"onnx", "numpy", "onnx_ir", "onnxscript", "google.protobuf", "ml_dtypes", "torch"}
REPORT = "; import json, sys; print(json.dumps(sorted(sys.modules)))"


def loaded(code: str, *arguments: str) -> set[str]:
    """Names of the modules that are loaded when the code has run."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    found = loaded("import onnx_align_pass")
    assert not found & HEAVY
    assert {name for name in found if name.startswith("onnx_align_pass")} == {
        "onnx_align_pass",
        "onnx_align_pass._version",
    }


@pytest.mark.parametrize(
    "name",
    ["StoragePolicy", "LayoutPolicy", "AlignError", "AlignReport", "LayoutPlan", "plan_text"],
)
def test_values_are_made_without_onnx(name: str) -> None:
    assert not loaded(f"from onnx_align_pass import {name}") & HEAVY


def test_looking_at_the_contract_loads_nothing_heavy() -> None:
    assert not loaded("import onnx_align_pass; dir(onnx_align_pass)") & HEAVY


def test_the_file_route_loads_neither_the_ir_nor_onnxscript(tmp_path: Path) -> None:
    source = CASES["mixed"].build(tmp_path)
    code = "import sys; from onnx_align_pass import align_file; align_file(*sys.argv[1:])"
    found = loaded(code, str(source), str(tmp_path / "result.onnx"))
    assert (tmp_path / "result.onnx.data").exists()
    assert "onnx" in found
    assert not found & {"onnx_ir", "onnxscript", "torch", "typer", "rich", "onnxruntime"}


def test_a_plan_loads_neither_the_ir_nor_onnxscript(tmp_path: Path) -> None:
    source = CASES["mixed"].build(tmp_path)
    found = loaded(
        "import sys; from onnx_align_pass import plan_file; plan_file(sys.argv[1])", str(source)
    )
    assert not found & {"onnx_ir", "onnxscript", "torch", "typer", "rich", "onnxruntime"}

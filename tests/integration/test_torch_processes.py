"""What is shown in processes of their own: memory, what is imported when, the example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def run_python(*arguments: str | Path) -> str:
    """Standard output of a child that finds modules as this process does."""
    path = os.pathsep.join([str(TOP), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.needs_torch
@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="needs /proc: the high-water mark"
)
def test_saving_what_torch_holds_takes_no_more_memory_than_one_weight(tmp_path: Path) -> None:
    weight, total, extra, seen = json.loads(run_python("-m", "tests.integration.peak", tmp_path))
    assert (tmp_path / "model.onnx.data").stat().st_size == total
    assert seen
    assert extra <= weight + (4 << 20), f"{extra:,} of {total:,} bytes"


def test_importing_the_hook_imports_no_exporter() -> None:
    code = "import sys, onnx_align_pass.hooks.torch; print('torch' in sys.modules)"
    assert run_python("-c", code).strip() == "False"


@pytest.mark.needs_torch
def test_the_example_runs_and_its_shared_weight_is_there_once(tmp_path: Path) -> None:
    output = run_python(TOP / "examples" / "torch_hook.py", tmp_path)
    lies = {
        name: int(at) for name, at in re.findall(r"^(\S+): words.onnx.data @ (\d+)$", output, re.M)
    }
    assert "head.weight" in lies
    assert "embedding.weight" not in lies
    assert all(offset % 65536 == 0 for offset in lies.values())
    assert "structure alone" in output

"""With 64 MB beyond what is loaded, the page cache among them, a model of a gigabyte is no trouble.

`ONNX_ALIGN_GIB=4` tries a larger one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.capabilities import CAPABILITIES, CGROUP
from tests.cli.models import DATA, MODEL, sparse_model
from tests.model.sparse_file import sparse_model as inline_model

pytestmark = [pytest.mark.needs_cgroup, pytest.mark.exhaustive]
SIZE = int(float(os.environ.get("ONNX_ALIGN_GIB", "1")) * (1 << 30))
ROOT = Path(__file__).parents[2]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Path]:
    """A group for one process."""
    if (why := CAPABILITIES["cgroup"]()) is not None:
        pytest.skip(f"needs a memory controller: {why}")
    path = CGROUP / f"onnx-align-{os.getpid()}"
    path.mkdir()
    yield path
    for _ in range(100):  # a process that has ended leaves its group a little later
        try:
            path.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    """A model with external data that takes no disk."""
    yield sparse_model(tmp_path / "in", SIZE)
    for path in tmp_path.rglob("*.onnx*"):
        path.unlink(missing_ok=True)


def run(group: Path, call: str, source: Path, target: Path, durable: bool = True) -> dict[str, Any]:
    """Carry out a call with little memory; what was said of it."""
    task = {"call": call, "source": str(source), "target": str(target), "durable": durable}
    done = subprocess.run(
        [sys.executable, "-m", "tests.commit.limited", group, json.dumps(task)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["killed"] == 0
    assert found["met"] > 0, "the limit was never met: nothing was shown"
    return found


@pytest.mark.parametrize("durable", [True, False])
def test_a_model_is_repacked(durable: bool, group: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / MODEL
    assert run(group, "align", source, target, durable)["done"] is False
    assert target.with_name(DATA).stat().st_size == SIZE


def test_a_model_is_repacked_in_place(group: Path, source: Path, tmp_path: Path) -> None:
    assert run(group, "in place", source, tmp_path)["done"] is False
    assert source.with_name(DATA).stat().st_size == SIZE


def test_weights_inside_the_model_become_external(group: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "inline.onnx", tmp_path / "out.onnx"
    inline_model(source, [SIZE * 5 // 8 // 10] * 10)
    assert run(group, "align", source, target)["done"] is False
    assert (tmp_path / "out.onnx.data").stat().st_size >= SIZE * 5 // 8 // 10 * 10
    for path in tmp_path.glob("*.onnx*"):
        path.unlink()


def test_a_model_that_was_loaded_is_saved(group: Path, source: Path, tmp_path: Path) -> None:
    assert run(group, "save", source, tmp_path / "saved.onnx")["done"] is False


@pytest.mark.parametrize(
    "call", ["verify|{target}|--against|{source}", "inspect|{source}|--digest"], ids=str
)
def test_what_only_reads_reads(call: str, group: Path, source: Path, tmp_path: Path) -> None:
    twin = sparse_model(tmp_path / "twin", SIZE)
    assert run(group, call, source, twin)["done"] == 0

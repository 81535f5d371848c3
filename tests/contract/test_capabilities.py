"""A test that skips for want of what is required here has failed; else it says what it wants."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capabilities import CAPABILITIES, why_not

ROOT = Path(__file__).parents[2]
SKIPPING = """
import pytest

@pytest.mark.needs_root
@pytest.mark.needs_strace
def test_it() -> None:
    pytest.skip("no such luck")
"""


def run(
    folder: Path, required: str, *, path: str = os.defpath, ci: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(SKIPPING)
    plain = ["-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plain, folder / "test_it.py"],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "ONNX_ALIGN_REQUIRE": required, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("required", "fails"),
    [("strace,mount", False), ("root,strace,mount", True)],
)
def test_a_skip_is_a_failure_where_all_that_it_needs_is_required(
    required: str, fails: bool, tmp_path: Path
) -> None:
    done = run(tmp_path, required)
    assert done.returncode == int(fails), done.stdout + done.stderr
    assert "no such luck" in done.stdout
    assert ("required here: root, strace" in done.stdout) == fails


def said(stdout: str) -> set[str]:
    """The capabilities that the head of a run has a line for."""
    lines = stdout.splitlines()
    return {name for name in CAPABILITIES if any(one.startswith(f"{name}: ") for one in lines)}


@pytest.mark.parametrize(("required", "ci"), [("", "true"), ("root", "")])
def test_what_is_missing_is_said_at_the_head_of_a_run_that_requires_or_is_looked_at(
    required: str, ci: str, tmp_path: Path
) -> None:
    stdout = run(tmp_path, required, path=str(tmp_path), ci=ci).stdout
    assert "strace: no strace" in stdout.splitlines()
    assert said(stdout) == set(CAPABILITIES)


def test_nothing_is_tried_out_for_any_other_run(tmp_path: Path) -> None:
    assert said(run(tmp_path, "").stdout) == set()


def test_every_capability_has_a_mark(pytestconfig: pytest.Config) -> None:
    marks = {line.split(":")[0] for line in pytestconfig.getini("markers")}
    assert {f"needs_{name}" for name in CAPABILITIES} <= marks
    assert set(why_not()) == set(CAPABILITIES)

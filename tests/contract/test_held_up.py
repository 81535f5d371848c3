"""A test that is held up fails, though the code under test catches errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HANGING = """
import contextlib, time, pytest

@pytest.mark.ends_within(1)
def test_it() -> None:
    with contextlib.suppress(Exception):
        time.sleep(60)
"""


def test_a_test_that_is_held_up_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(HANGING)
    plain = ["-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, tmp_path / "test_it.py"],
        cwd=ROOT,
        env={**os.environ, "ONNX_ALIGN_REQUIRE": "", "CI": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "HeldUp: not over after 1 seconds" in done.stdout

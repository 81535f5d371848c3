"""The help texts, held against golden files.

`ONNX_ALIGN_REGENERATE=1 pytest tests/cli/test_help.py` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from .child import run_child

GOLDEN = Path(__file__).parent / "golden"
WIDTH = "100"
TYPER = "0.29."
"""Another typer draws other boxes."""


def help_text(*command: str) -> str:
    env = {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH, "_TYPER_FORCE_DISABLE_TERMINAL": "1"}
    done = run_child(*command, "--help", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


@pytest.mark.skipif(
    not typer.__version__.startswith(TYPER), reason=f"the golden texts are of typer {TYPER}x"
)
@pytest.mark.parametrize(
    "command", ["", "align", "plan", "inline", "rename", "recover", "passes", "demo"]
)
def test_the_help_text_is_the_golden_one(command: str) -> None:
    found = help_text(*command.split())
    golden = GOLDEN / f"{command or 'onnx-align'}.txt"
    if os.environ.get("ONNX_ALIGN_REGENERATE"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_no_arguments_print_the_help_text_and_end_well() -> None:
    done = run_child(env={"COLUMNS": WIDTH})
    assert done.returncode == 0
    assert "Usage: onnx-align" in done.stdout


def test_a_help_option_has_a_short_form() -> None:
    done = run_child("plan", "-h", env={"COLUMNS": WIDTH})
    assert done.returncode == 0
    assert "Usage: onnx-align plan" in done.stdout

"""The help texts, held against golden files.

`ONNX_ALIGN_REGENERATE=1 pytest tests/cli/test_help.py` writes them anew, and the page of the
documentation that shows them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from .child import run_child

GOLDEN = Path(__file__).parent / "golden"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
COMMANDS = (
    *("align", "plan", "presets", "inspect", "verify", "repair", "inline", "rename"),
    *("recover", "prune", "passes", "demo"),
)
INTRODUCTION = """\
# The command line

What each command prints with `--help`. Results go to stdout, progress and hints to stderr; with
`--json` a command prints one object. Exit codes: 0 done, 1 a check found something, 2 usage, 3 the
model or the destination is missing, broken or refused, 4 writing failed, 130 interrupted, 143
terminated, 129 the terminal is gone, 141 the reader of the output is.

`onnx-align --install-completion` installs completion for your shell: commands, options, presets.
"""
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
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_text_is_the_golden_one(command: str) -> None:
    found = help_text(*command.split())
    golden = GOLDEN / f"{command or 'onnx-align'}.txt"
    if os.environ.get("ONNX_ALIGN_REGENERATE"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_every_command_has_its_golden_text() -> None:
    from onnx_align_cli.app import app

    assert {one.name for one in app.registered_commands} == set(COMMANDS)
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {"onnx-align", *COMMANDS}


def test_the_documentation_shows_the_golden_texts() -> None:
    texts = [
        f"\n## {command}\n\n```\n{(GOLDEN / f'{command}.txt').read_text().strip()}\n```\n"
        for command in ("onnx-align", *COMMANDS)
    ]
    wanted = INTRODUCTION + "".join(texts)
    if os.environ.get("ONNX_ALIGN_REGENERATE"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_text_has_an_example(command: str) -> None:
    words = " ".join(help_text(command).partition("╭")[0].split())
    assert f"Example: onnx-align {command}" in words


def test_no_arguments_print_the_help_text_and_end_well() -> None:
    done = run_child(env={"COLUMNS": WIDTH})
    assert done.returncode == 0
    assert "Usage: onnx-align" in done.stdout


def test_a_help_option_has_a_short_form() -> None:
    done = run_child("plan", "-h", env={"COLUMNS": WIDTH})
    assert done.returncode == 0
    assert "Usage: onnx-align plan" in done.stdout

"""Shell completion, in a real bash that has sourced what `--show-completion` prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onnx_align_pass import PRESETS

from .child import environment

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")
ASK = """
eval "$(onnx-align --show-completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_onnx_align_completion onnx-align
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def command_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `onnx-align` is this project's."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "onnx-align"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onnx_align_cli "$@"\n')
    script.chmod(0o755)
    return f"{folder}:{Path(BASH or '').parent}:/usr/bin:/bin"


def completed(path: str, *words: str) -> set[str]:
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", ASK, "bash", "onnx-align", *words],
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_commands_are_completed(command_path: str) -> None:
    assert {"align", "plan", "presets", "passes"} <= completed(command_path, "")
    assert completed(command_path, "pres") == {"presets"}


def test_options_are_completed(command_path: str) -> None:
    assert completed(command_path, "align", "--small") == {"--small-alignment"}


def test_the_names_of_presets_are_completed(command_path: str) -> None:
    assert completed(command_path, "align", "--preset", "") == set(PRESETS)
    assert completed(command_path, "plan", "-p", "w") == {"windows", "web"}


def test_words_that_there_are_few_of_are_completed(command_path: str) -> None:
    assert completed(command_path, "align", "--pad", "t") == {"tensor"}

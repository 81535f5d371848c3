"""Asking for help, the version or a completion costs none of the heavy imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .child import environment

HEAVY = ("onnx", "onnx_ir", "onnxscript", "numpy", "ml_dtypes", "google.protobuf")
SCRIPT = """
import sys
from onnx_align_cli import main
try:
    code = main()
except SystemExit as stop:
    code = stop.code
print(code, *[name for name in {heavy} if name in sys.modules], file=sys.stderr)
""".format(heavy=HEAVY)  # noqa: UP032  the braces of an f-string would hide the script


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], [], ["align", "--help"], ["align"], ["--nonsense"]]
)
def test_nothing_heavy_is_imported_before_a_command_starts(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] in ("0", "2")


def test_nothing_heavy_is_imported_to_complete_a_line() -> None:
    env = environment(
        _ONNX_ALIGN_COMPLETE="complete_bash", COMP_WORDS="onnx-align al", COMP_CWORD="1"
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["align"]
    assert done.stderr.splitlines()[-1] in ("0", "None")

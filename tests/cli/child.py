"""Runs the command line in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["COMMAND", "environment", "run_child", "tree"]

COMMAND = (sys.executable, "-m", "onnx_align_cli")
_SHOWING = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "NO_COLOR", "COLUMNS", "TERM", "LINES")


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child: modules are found as here, and nothing decides how it looks."""
    kept = {key: value for key, value in os.environ.items() if key not in _SHOWING}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**kept, "PYTHONPATH": path, "TERM": "xterm-256color", **extra}


def run_child(
    *arguments: str | Path | bytes, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `onnx-align` with these arguments; both streams are captured."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**(env or {})),
        timeout=120,
        check=False,
        **{"capture_output": True, "text": True, **options},
    )


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, staging folders included, with its content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

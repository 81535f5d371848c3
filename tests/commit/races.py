"""Processes that work on one folder at once, each at random, until they are ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SECONDS", "end_it", "goes_on", "processes", "said", "start"]

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("ONNX_ALIGN_RACE_SECONDS", "20"))
"""How long a race lasts at least."""
PATIENCE_SECONDS = 180
"""How long it lasts at most, where the machine is busy and little has come of it."""


@contextmanager
def processes(module: str, root: Path, *seeds: int) -> Iterator[dict[int, subprocess.Popen[str]]]:
    """Processes of a module, by the seed that each is given; all are ended."""
    started = {seed: start(module, root, seed) for seed in seeds}
    try:
        yield started
    finally:
        for one in started.values():
            end_it(one)


def end_it(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def start(module: str, root: Path, seed: int) -> subprocess.Popen[str]:
    """Begin one; what it says is kept."""
    log = (root / f"log{seed}").open("w")
    command = [sys.executable, "-m", module, str(root), str(seed)]
    with log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, text=True)


def goes_on(begun: float, enough: bool) -> bool:
    """Whether a race that began at a time is not over: for want of time, or of what comes of it."""
    lasted = time.monotonic() - begun
    return lasted < SECONDS or (lasted < PATIENCE_SECONDS and not enough)


def said(root: Path) -> list[str]:
    """What all of them said; the last line of one that was killed may be cut off."""
    lines = []
    for log in sorted(root.glob("log*")):
        lines += log.read_text().split("\n")[:-1]
    return lines

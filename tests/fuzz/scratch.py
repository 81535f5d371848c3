"""A folder in memory to play in."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

from onnx_align_pass import AlignError
from onnx_align_pass.errors import PlanError, VerifyError

__all__ = ["assert_fit_to_show", "fresh", "scratch"]

MEMORY = "/dev/shm"
OWN_FAULTS = (PlanError, VerifyError)
"""Errors that no input may lead to."""
LONGEST = 5000


@functools.cache
def scratch() -> Path:
    """A folder of this process; it goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if os.path.isdir(MEMORY) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def fresh(name: str) -> Path:
    """An empty folder in it."""
    folder = scratch() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def assert_fit_to_show(error: AlignError) -> None:
    """Hold an error to be one that a stranger's file may lead to, and a text for a terminal."""
    assert not isinstance(error, OWN_FAULTS), error
    assert str(error).isprintable()
    assert len(str(error)) < LONGEST

"""Staging folders with journals written by hand, as of runs that were killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["NOTHING", "TOKEN", "staged", "state"]

TOKEN = ".model.onnx.align-0123abcd"
NOTHING = {"inode": 1, "size": 2, "mtime_ns": 3}
"""The state of a file that is not there."""


def staged(folder: Path, **changes: object) -> Path:
    """A staging folder that was made here, with a new model in it, and any journal."""
    staging = folder / TOKEN
    (staging / "data").mkdir(parents=True)
    (staging / f"stamp.{staging.stat().st_ino}").touch()
    (staging / "model").write_text("staged")
    fields: dict[str, Any] = {
        "model": "model.onnx",
        "model_before": state(folder / "model.onnx"),
        "model_after": state(staging / "model"),
        "bridge": None,
        "data_before": {},
        "data_after": {},
        "superseded": {},
        "new_folders": [],
    }
    (staging / "journal").write_text(json.dumps({**fields, **changes}))
    return staging


def state(path: Path) -> dict[str, int] | None:
    if not path.exists():
        return None
    found = path.lstat()
    return {"inode": found.st_ino, "size": found.st_size, "mtime_ns": found.st_mtime_ns}

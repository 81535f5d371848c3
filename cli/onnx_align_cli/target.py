"""Where a command's result goes, from what was typed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from onnx_align_pass.errors import UsageError

__all__ = ["new_place", "target_of"]


def target_of(
    command: str, source: Path, destination: str | None, *, in_place: bool
) -> Path | None:
    """Say where a result goes: to a new place, or None: in place.

    Args:
        command: The command's name, for the hint.
        source: What it reads.
        destination: What was typed for DST.
        in_place: Whether `--in-place` was.

    Raises:
        UsageError: Neither was typed, or both, or DST may mean two things.
    """
    if destination is None and not in_place:
        typed = f"onnx-align {command} {shlex.quote(str(source))}"
        raise UsageError(
            "where should the result go?",
            hint=f"Type `{typed} DST` for a new model, or `{typed} --in-place`.",
        )
    if destination is None:
        return None
    if in_place:
        raise UsageError(
            f"both a destination ({destination}) and --in-place",
            hint="Leave one of them out.",
        )
    if not destination:
        raise UsageError("DST is empty", needed="a path", hint="Give one, or --in-place.")
    return new_place(source, destination)


def new_place(source: Path, destination: str) -> Path:
    """Say what DST means: a folder that is there or ends with a slash, or a model.

    Raises:
        UsageError: It is empty, or may mean both.
    """
    if not destination:
        raise UsageError("DST is empty", needed="a path", hint="Give one.")
    if source.is_dir() or Path(destination).is_dir():
        return Path(destination)
    if destination.endswith(("/", os.sep)):
        return Path(destination, source.name)
    if source.suffix and not Path(destination).suffix:
        raise UsageError(
            f"is {destination} a folder, or a model without .onnx?",
            hint=f"Type {destination}/ or {destination}.onnx.",
        )
    return Path(destination)

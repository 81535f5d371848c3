"""Paths as people give them, and what they lead to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from onnx_align_pass.errors import UsageError

__all__ = ["Inode", "StrPath", "given_path", "given_target", "inode", "same_file"]

StrPath: TypeAlias = str | os.PathLike[str]
Inode: TypeAlias = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


def given_path(path: StrPath, option: str = "path") -> Path:
    """Return a path that was given.

    Raises:
        UsageError: It is empty: an unset variable, where `Path("")` is the working directory.
    """
    if not os.fspath(path):
        raise UsageError(f"{option} is empty", needed="a path", hint="Give one, or leave it out.")
    return Path(path)


def given_target(destination: StrPath, source: Path) -> Path:
    """Return where a model shall go; a path that ends with a slash is a folder for it.

    Raises:
        UsageError: It is empty.
    """
    target = given_path(destination, "destination")
    if os.fspath(destination).endswith(("/", os.sep)) and not os.path.isdir(source):
        return target / source.name
    return target


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file; what leads nowhere is the same as nothing."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def inode(path: Path) -> Inode | None:
    """What a path leads to; None if that is nothing."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino

"""File systems that are small, full, or without hard links, mounted for a test. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["attached", "image", "mounted"]


def image(path: Path, size: int, *command: str) -> Path:
    """Make an image of `size` bytes with a `mkfs` command; skip where there is no such command."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    with path.open("wb") as file:
        file.truncate(size)
    subprocess.run([*command, path], check=True, capture_output=True)
    return path


@contextmanager
def attached(path: Path) -> Iterator[str]:
    """Attach an image to a loop device; the device's name."""
    done = subprocess.run(["losetup", "-f", "--show", path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs a loop device: {done.stderr.strip()}")
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


@contextmanager
def mounted(folder: Path, *command: str | Path) -> Iterator[Path]:
    """Mount by a command that ends with the folder; skip where it fails."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    folder.mkdir(exist_ok=True)
    done = _try([*command, folder])
    if done is not None:
        pytest.skip(done)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def _try(command: Sequence[str | Path]) -> str | None:
    """Run a command; say why it failed."""
    if shutil.which(command[0]) is None:
        return f"needs {command[0]}"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines() or [""]
    return f"cannot mount here: {said[0]}" if done.returncode else None

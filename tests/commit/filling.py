"""Fills a disk, to the last block or the last file, or but for some."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["filled", "filled_with_files", "room"]

_STEPS = (1 << 24, 1 << 20, 1 << 16, 1 << 12)
_FILLER = "filler"


def room(folder: Path) -> int:
    """Bytes that are free for everybody."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@contextmanager
def filled(disk: Path, leave: int = 0) -> Iterator[None]:
    """Take all room but `leave` bytes, while the context lasts."""
    path = disk / _FILLER
    try:
        fill(path, leave)
        yield
    finally:
        path.unlink()
        settle(disk)


def fill(path: Path, leave: int) -> None:
    """Make a file that takes all the room, and give `leave` bytes back."""
    with path.open("wb", buffering=0) as file:
        size = 0
        for step in _STEPS:
            try:
                while True:
                    os.posix_fallocate(file.fileno(), size, step)
                    size += step
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
        if leave:  # a full btrfs does not even let a file be made shorter
            file.truncate(max(0, size - leave))
    settle(path.parent)


def settle(disk: Path) -> None:
    """Let blocks of removed files come back; syncs this disk, not everybody's."""
    subprocess.run(["sync", "-f", disk], check=True)


@contextmanager
def filled_with_files(disk: Path, leave: int) -> Iterator[None]:
    """Make empty files until there are no more, but `leave`."""
    folder = disk / _FILLER
    folder.mkdir()
    made = 0
    try:
        try:
            while True:
                (folder / str(made)).touch()
                made += 1
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        for number in range(made - leave, made):
            (folder / str(number)).unlink()
        yield
    finally:
        for one in folder.iterdir():
            one.unlink()
        folder.rmdir()

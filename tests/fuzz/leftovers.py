"""A folder in which a run was killed: how far it came, and its journal, are free to choose."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from tests.commit.scenes import bystanders
from tests.corpus.build import external, point, showing, tensor, write

__all__ = ["DATA", "HEAD", "STAGING", "Left", "leave"]

HEAD = 2
STAGING = ".model.onnx.align-0123abcd"
DATA = "model.onnx.data"


class Left(NamedTuple):
    """What a killed run left."""

    folder: Path
    staging: Path
    journal: bytes


def leave(root: Path, head: bytes, journal: bytes) -> Left:
    """Make a folder with a run that was cut off in it.

    Args:
        root: An empty folder.
        head: `HEAD` bytes: how far it came, and what is odd about what it left.
        journal: Its journal. `@NAME@` in it stands for the state that this file had when all was
            staged; names are relative to `root`, those of the files staged, of the old ones, and
            of any others.
    """
    how, odd = head
    folder, staging = root / "folder", root / "folder" / STAGING
    surroundings(root)
    stage(folder, staging)
    text = filled(journal, root)
    came_to(folder, staging, how)
    (staging / "journal").write_bytes(text)
    if odd & 1:
        (staging / f"stamp.{staging.stat().st_ino}").rename(staging / "stamp.1")
    if odd & 2:
        replace_by_link(staging / "model", root / "outside" / "secret")
    if odd & 4:
        replace_by_link(staging / "data" / DATA, root / "outside" / "secret")
    if odd & 8:
        (staging / "link").symlink_to("../../outside")
    if odd & 16:
        (folder / DATA).write_bytes(b"mine")
    if odd & 32:
        replace_by_link(staging / "old", root / "outside")
    return Left(folder, staging, text)


def surroundings(root: Path) -> None:
    """What no recovery may touch."""
    bystanders(root / "folder")
    for name in ("outside/secret", "outside/below/secret"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(name)
    (root / "outside" / "empty").mkdir()
    (root / "folder" / "out").symlink_to("../outside")


def stage(folder: Path, staging: Path) -> None:
    """An old pair, and a new one, with its bridge, in the staging folder."""
    write(folder, showing([external(tensor("w", [30]), folder, DATA)]))
    (staging / "data").mkdir(parents=True)
    (staging / f"stamp.{staging.stat().st_ino}").touch()
    inline = tensor("w", [30])
    (staging / "data" / DATA).write_bytes(bytes(64) + inline.raw_data)
    for name, location in (("model", DATA), ("bridge", f"{STAGING}/data/{DATA}")):
        entries = [("location", location), ("offset", "64"), ("length", "120")]
        write(staging, showing([point(inline, entries)]), name)


def filled(journal: bytes, root: Path) -> bytes:
    """The journal with states in the place of names."""
    parts = journal.split(b"@")
    for index in range(1, len(parts) - 1, 2):
        parts[index] = state(root / os.fsdecode(parts[index]).replace("\0", "_"))
    return b"".join(parts)


def state(path: Path) -> bytes:
    """What a journal says of a file."""
    try:
        found = path.lstat()
    except OSError:
        return b"null"
    values = {"inode": found.st_ino, "size": found.st_size, "mtime_ns": found.st_mtime_ns}
    return json.dumps(values).encode()


def came_to(folder: Path, staging: Path, how: int) -> None:
    """Carry the commit on to one of its steps; more than one bit at once are steps out of order."""
    model, data, old = folder / "model.onnx", folder / DATA, staging / "old"
    (old / "data").mkdir(parents=True)
    if how & 1:
        os.link(model, old / "model")
    if how & 2:
        os.link(data, old / "data" / DATA)
    if how & 4:
        (staging / "bridge").replace(model)
    if how & 8:
        data.unlink()
    if how & 16:
        data.unlink(missing_ok=True)
        os.link(staging / "data" / DATA, data)
    if how & 32:
        (staging / "model").replace(model)
    if how & 64:
        model.unlink()
    if how & 128:
        (staging / "data" / DATA).unlink()


def replace_by_link(path: Path, target: Path) -> None:
    """A symlink to something outside, where a file or a folder was."""
    if path.is_dir():
        path.rename(path.with_name("was"))
    path.unlink(missing_ok=True)
    path.symlink_to(target)

"""Records of data files that a run left for readers of the model that it replaced.

A record lies beside the model, and is believed only where it is this user's, and only of files that
are still what it says: by inode, so that one that came with a download is a record of nothing.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer.journal import FileState, plain_name, read_own
from onnx_align_pass.transfer.staging import staging_prefix

__all__ = ["is_record_name", "publish_record", "read_record", "records_in", "write_record"]

_STAGED = "kept"
_RECORD = re.compile(r"\..+\.kept-[0-9a-f]{8}", re.DOTALL)


def is_record_name(name: str) -> bool:
    """Whether a file is called as records are."""
    return _RECORD.fullmatch(name) is not None


def write_record(staging: Path, kept: Mapping[str, FileState]) -> None:
    """Write down in a staging folder what will be kept; names are relative to its parent."""
    fields = {name: [one.inode, one.size, one.mtime_ns] for name, one in kept.items()}
    (staging / _STAGED).write_bytes(json.dumps(fields).encode())


def publish_record(staging: Path) -> None:
    """Lay a record that was staged beside the model, at one stroke; nothing where it lies there."""
    staged = staging / _STAGED
    if os.path.lexists(staged):
        name, _, token = staging.name.rpartition(".align-")
        staged.rename(staging.parent / f"{name}.kept-{token}")


def records_in(folder: Path, model_name: str | None) -> Iterator[Path]:
    """The records of a folder: of one model, or of all.

    Raises:
        OSError: The folder cannot be listed.
    """
    begins = "."
    if model_name is not None:
        begins = alike(staging_prefix(model_name).removesuffix("align-") + "kept-")
    for name in sorted(os.listdir(folder)):
        if is_record_name(name) and alike(name).startswith(begins):
            yield folder / name


def read_record(record: Path) -> dict[str, FileState]:
    """Read a record.

    Raises:
        ValueError: It is none, or not this user's.
        OSError: It cannot be read.
    """
    found = record.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a regular file")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise ValueError("it is another user's")
    try:
        fields = json.loads(read_own(record))
        return {plain_name(name): FileState(*map(int, state)) for name, state in fields.items()}
    except (RecursionError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no record: {error}") from None

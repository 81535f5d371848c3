"""What a run was about to publish, written down before it starts to.

The journal lies in the staging folder. It names the folder's own inode, so that a folder that came
with a download, or was copied, is told from one that a run of this user left here.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["FileState", "Journal", "read_journal", "read_stamp", "write_journal", "write_stamp"]

STAMP = "stamp"
JOURNAL = "journal"


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells a file from another one, or from itself after a change."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> FileState | None:
        """State of a file, or None where there is none. Symlinks are not followed."""
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Journal:
    """A commit, as it was meant. Names are relative to the destination folder."""

    model: str
    model_before: FileState | None
    """The model that the commit replaces; None where there was none."""
    data_before: dict[str, FileState | None]
    """The data files that are published, and what they replace."""
    superseded: dict[str, FileState | None]
    """Data files of the old model that nothing uses after the commit."""
    staged_models: tuple[FileState, ...]
    """The staged models: a model that is one of them was put there by this commit."""

    @property
    def replaces(self) -> bool:
        """Whether a data file is replaced under its name."""
        return any(state is not None for state in self.data_before.values())


def write_stamp(staging: Path) -> None:
    """Mark a staging folder as made here."""
    (staging / STAMP).write_text(_identity(staging), encoding="ascii")


def read_stamp(staging: Path) -> bool:
    """Say whether a staging folder was made here, by this user, and is where it was made."""
    try:
        found = staging.lstat()
        stamp = (staging / STAMP).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return False
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return own and stat.S_ISDIR(found.st_mode) and stamp == _identity(staging)


def _identity(staging: Path) -> str:
    found = staging.lstat()
    return f"onnx-align-pass {found.st_dev} {found.st_ino}\n"


def write_journal(staging: Path, journal: Journal) -> Path:
    """Write the journal under another name; the caller syncs it and renames it into effect."""
    path = staging / f"{JOURNAL}.new"
    path.write_text(json.dumps(asdict(journal)), encoding="utf-8")
    return path


def read_journal(staging: Path) -> Journal | None:
    """Read the journal of a staging folder; None where it was never written, or is not one."""
    try:
        fields: dict[str, Any] = json.loads((staging / JOURNAL).read_text(encoding="utf-8"))
        return Journal(
            model=_name(fields["model"]),
            model_before=_state(fields["model_before"]),
            data_before={_name(k): _state(v) for k, v in fields["data_before"].items()},
            superseded={_name(k): _state(v) for k, v in fields["superseded"].items()},
            staged_models=tuple(FileState(**state) for state in fields["staged_models"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _state(fields: dict[str, int] | None) -> FileState | None:
    return None if fields is None else FileState(**fields)


def _name(text: str) -> str:
    if not text or text.startswith("/") or ".." in text.split("/") or "\0" in text:
        raise ValueError(text)
    return text

"""What a run was about to publish, written down before it starts to.

The journal lies in the staging folder. A stamp beside it names the folder's own inode, so that a
folder that came with a download, or was copied, is told from one that a run of this user left here.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "JOURNAL",
    "FileState",
    "Journal",
    "is_stamp",
    "plain_name",
    "read_journal",
    "read_own",
    "read_stamp",
    "write_journal",
    "write_stamp",
]

_STAMP = "stamp."
JOURNAL = "journal"
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_JOURNAL_MAX_BYTES = 64 << 20
# A stranger may have put a FIFO or a symlink where the file should be.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


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
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Journal:
    """A commit, as it was meant. Names are relative to the destination folder."""

    model: str
    model_before: FileState | None
    """The model that the commit replaces; None where there was none."""
    model_after: FileState | None
    """The staged model; renames leave its state as it is. None: the model is removed."""
    bridge: FileState | None
    """The staged bridge; None where no data file is replaced."""
    data_before: dict[str, FileState | None]
    """The data files that are published, and what they replace."""
    data_after: dict[str, FileState]
    """The same data files, as staged; renames and links leave their state as it is."""
    superseded: dict[str, FileState | None]
    """Data files of the old model that nothing uses after the commit."""
    new_folders: tuple[str, ...]
    """Folders that are made for the data files, outermost first."""
    kept: dict[str, FileState] = field(default_factory=dict)
    """Data files of the old model that stay for its readers."""

    @property
    def replaces(self) -> bool:
        """Whether a data file is replaced under its name."""
        return any(state is not None for state in self.data_before.values())


def write_stamp(staging: Path) -> None:
    """Mark a staging folder as made here, at one stroke: an empty file, that says it by its name.

    What a file holds may be lost in a power cut that its name, and those after it, outlive.
    """
    _stamp(staging).touch(exist_ok=False)


def read_stamp(staging: Path) -> bool:
    """Say whether a staging folder was made here, by this user, and is where it was made."""
    try:
        found = staging.lstat()
        # Just one: an archive could hold a stamp for each number that the folder may get.
        stamps = [name for name in os.listdir(staging) if name.startswith(_STAMP)]
        stamped = stamps == [_stamp(staging).name]
    except OSError:
        return False
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return own and stat.S_ISDIR(found.st_mode) and stamped


def is_stamp(path: Path) -> bool:
    """Whether a file in a staging folder is its stamp."""
    return path.name.startswith(_STAMP)


def _stamp(staging: Path) -> Path:
    # Not the device: its number may be another one after the next start of the system.
    return staging / f"{_STAMP}{staging.lstat().st_ino}"


def write_journal(staging: Path, journal: Journal) -> Path:
    """Write the journal to a file that takes effect once it is synced and renamed to `JOURNAL`."""
    path = staging / f"{JOURNAL}.new"
    path.write_bytes(json.dumps(asdict(journal)).encode())
    return path


def read_journal(staging: Path) -> Journal | None:
    """Read the journal of a staging folder; None where it was never written.

    Raises:
        ValueError: There is one, and it is not one.
        OSError: It cannot be read.
    """
    try:
        fields: dict[str, Any] = json.loads(read_own(staging / JOURNAL))
    except FileNotFoundError:
        return None
    except RecursionError:
        raise ValueError("no journal: nested too deep") from None
    try:
        found = Journal(
            model=plain_name(fields["model"]),
            model_before=_state(fields["model_before"]),
            model_after=_state(fields["model_after"]),
            bridge=_state(fields["bridge"]),
            data_before={plain_name(k): _state(v) for k, v in fields["data_before"].items()},
            data_after={plain_name(k): FileState(**v) for k, v in fields["data_after"].items()},
            superseded={plain_name(k): _state(v) for k, v in fields["superseded"].items()},
            new_folders=tuple(plain_name(name) for name in fields["new_folders"]),
            kept={plain_name(k): FileState(**v) for k, v in fields.get("kept", {}).items()},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no journal: {error}") from None
    if found.data_before.keys() != found.data_after.keys() or "/" in found.model:
        raise ValueError("no journal: its fields contradict each other")
    return found


def read_own(path: Path) -> bytes:
    """Read a small file that a run wrote; whatever else may be there holds nobody up.

    Raises:
        ValueError: It is a link, no regular file, or too large.
        OSError: It cannot be read.
    """
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(f"{path} is a symlink") from None
        raise
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _JOURNAL_MAX_BYTES:
            raise ValueError(f"{path} is not a file of ours")
        return file.read()


def _state(fields: dict[str, int] | None) -> FileState | None:
    return None if fields is None else FileState(**fields)


def plain_name(text: str) -> str:
    """A name relative to a folder, that does not lead out of it.

    Raises:
        ValueError: It is none.
    """
    if not text or text.startswith("/") or ".." in text.split("/") or "\0" in text:
        raise ValueError(text)
    os.fsencode(text)  # a ValueError too, where no file can be called so
    return text

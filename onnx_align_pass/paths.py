"""Paths as people give them, and what they lead to."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TypeAlias

from onnx_align_pass.errors import UsageError
from onnx_align_pass.spelling import alike

__all__ = [
    "Inode",
    "StrPath",
    "given_path",
    "given_target",
    "inode",
    "is_one_name",
    "look",
    "owner_of",
    "owners_that_count",
    "same_file",
]

StrPath: TypeAlias = str | os.PathLike[str]
Inode: TypeAlias = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""
_NOTHING = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.EINVAL,  # a name that this system does not have
    }
)
"""Errnos that say that a path leads nowhere. Others say nothing of what is there."""


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
    """Whether two paths lead to one file; what leads nowhere is the same as nothing.

    Raises:
        OSError: One cannot be looked at.
    """
    found, there = inode(one), inode(other)
    if found is None or there is None:
        return False
    # Some FUSE file systems number a file anew for each way in which its name is spelled.
    return found == there or _is_respelled(one, other)


def is_one_name(one: Path, other: Path) -> bool:
    """Whether two paths are one name of one file: removed by the one, it is gone by the other.

    Two hard links are not. Names that differ in upper and lower case alone may be.
    """
    if not (same_file(one, other) and same_file(one.parent, other.parent)):
        return False
    return one.name == other.name or not _are_listed(one, other)


def _is_respelled(one: Path, other: Path) -> bool:
    if alike(one.name) != alike(other.name) or not same_file(one.parent, other.parent):
        return False
    return one.name == other.name or not _are_listed(one, other)


def _are_listed(one: Path, other: Path) -> bool:
    """Whether a folder has two names, each an entry of its own."""
    return {one.name, other.name}.issubset(os.listdir(one.parent))


def inode(path: Path) -> Inode | None:
    """What a path leads to; None if that is nothing.

    Raises:
        OSError: It cannot be looked at.
    """
    found = look(path)
    return None if found is None else (found.st_dev, found.st_ino)


def look(path: Path, *, follow: bool = True) -> os.stat_result | None:
    """Look at what is there; None only if that is nothing.

    `os.path.exists` and its kin take a failing disk, or a server that does not answer, for nothing,
    and what is taken for nothing may be overwritten.

    Raises:
        OSError: It cannot be looked at.
    """
    try:
        return os.stat(path, follow_symlinks=follow)
    except ValueError:
        return None
    except OSError as error:
        if error.errno not in _NOTHING:
            raise
        return None


def owners_that_count(folder: Path, data: Path) -> frozenset[int] | None:
    """User ids of those whose models in a folder may hold a file; None: everybody's.

    In a folder in which anybody may put one, such as `/tmp`, those of strangers do not.

    Raises:
        OSError: The folder, or the file, cannot be looked at.
    """
    open_to_all = stat.S_ISVTX | stat.S_IWOTH
    found = look(folder)
    if found is None or found.st_mode & open_to_all != open_to_all:
        return None
    its = look(data)
    return frozenset({os.geteuid(), *([] if its is None else [its.st_uid])})


def owner_of(path: Path) -> int | None:
    """User id of the owner of what lies there, be it a link; None where nothing does.

    Raises:
        OSError: It cannot be looked at.
    """
    found = look(path, follow=False)
    return None if found is None else found.st_uid

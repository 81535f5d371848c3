"""Giving files second names, on file systems that can and on those that cannot."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ["copy", "keep_link", "link_or_move", "put_new"]

_NO_LINKS = frozenset(
    {
        errno.EPERM,  # FAT and exFAT; a file of another user under protected_hardlinks
        errno.EOPNOTSUPP,  # some network file systems
        errno.ENOSYS,  # FUSE without link
        errno.EMLINK,  # the file has as many links as the file system allows
        errno.EXDEV,  # a bind mount inside the folder
        errno.EACCES,
    }
)


def put_new(staged: Path, final: Path) -> None:
    """Give a staged file a name that nobody has: never over a file that came meanwhile."""
    if not _same_file(staged, final):
        try:
            final.hardlink_to(staged)
        except OSError as error:
            if error.errno not in _NO_LINKS or os.path.lexists(final):
                raise
            staged.rename(final)
            return
    staged.unlink()


def keep_link(path: Path, link: Path) -> bool:
    """Give a file a second name, and keep it reachable by it; False where there are no links."""
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.hardlink_to(path)
    except FileExistsError:
        return True  # from an earlier try
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


def copy(path: Path, copy: Path) -> None:
    """Copy a file where it cannot be linked."""
    shutil.copy2(path, copy)
    found = path.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(copy, found.st_uid, found.st_gid)


def link_or_move(staged: Path, link: Path) -> Path:
    """Make a second link to a staged file; where that cannot be, the file itself will be moved."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    try:
        link.hardlink_to(staged)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return staged
    return link


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except FileNotFoundError:
        return False

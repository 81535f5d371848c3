"""What a file that a model names must be, for a stranger may have written the model."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from onnx_align_pass.errors import UnsafeDataFileError
from onnx_align_pass.transfer.kernel import let_go

__all__ = ["Guard"]

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# O_NONBLOCK: opening a FIFO would wait for a writer before it can be refused.
_FOLLOW = _FLAGS | getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW = _FOLLOW | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules for data files."""

    roots: tuple[Path, ...]
    """Resolved folders; a data file must resolve into one of them."""
    owner_uid: int | None
    """Files with several links are read when they have this owner; None: nobody."""
    allow_hard_links: bool
    """Read files with several links whoever owns them."""

    def open(self, path: Path, tensor: str | None) -> int:
        """Open a data file, and check what was opened on its descriptor.

        Raises:
            UnsafeDataFileError: It breaks a rule.
            OSError, ValueError: It cannot be opened.
        """
        resolved = Path(os.path.realpath(path))
        self._inside(resolved, path, tensor)
        fd = _open_regular(resolved, _NO_FOLLOW, path, tensor)
        try:
            # A parent may have become a symlink since the path was resolved.
            real = _real_path(fd)
            if real is not None:
                self._inside(real, path, tensor)
            self._links(os.fstat(fd), path, tensor)
        except BaseException:
            let_go(fd)
            raise
        return fd

    def open_trusted(self, path: Path, tensor: str | None) -> int:
        """Open a file that the user named: anywhere, through links, but a regular file.

        Raises:
            UnsafeDataFileError: It is not one.
            OSError, ValueError: It cannot be opened.
        """
        return _open_regular(path, _FOLLOW, path, tensor)

    def _inside(self, resolved: Path, path: Path, tensor: str | None) -> None:
        if any(resolved.is_relative_to(root) for root in self.roots):
            return
        raise UnsafeDataFileError(
            "the data file leaves the model's folder",
            tensor=tensor,
            file=path,
            needed=f"a file in {' or '.join(dict.fromkeys(map(str, self.roots)))}",
            found=str(resolved),
            hint="Move the data file beside the model.",
            code="data-file-outside",
        )

    def _links(self, found: os.stat_result, path: Path, tensor: str | None) -> None:
        if found.st_nlink <= 1 or self.allow_hard_links or found.st_uid == self.owner_uid:
            return
        raise UnsafeDataFileError(
            "the data file has other names, and another owner than the model",
            tensor=tensor,
            file=path,
            needed="one link, or the model file's owner",
            found=f"{found.st_nlink} links, owner {found.st_uid}",
            hint="Copy the data file; or --allow-hard-links, if you know whose it is.",
            code="data-file-foreign-links",
        )


def _open_regular(resolved: Path, flags: int, path: Path, tensor: str | None) -> int:
    # Before the open too: to open a device can have effects.
    _regular(os.stat(resolved), path, tensor)
    fd = os.open(resolved, flags)
    try:
        _regular(os.fstat(fd), path, tensor)
    except BaseException:
        let_go(fd)
        raise
    return fd


def _regular(found: os.stat_result, path: Path, tensor: str | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeDataFileError(
            "the data file is not a regular file",
            tensor=tensor,
            file=path,
            found=f"mode {stat.filemode(found.st_mode)}",
            hint="Put a regular file in its place.",
            code="data-file-irregular",
        )


def _real_path(fd: int) -> Path | None:
    """Where an open file is; None where the system does not say."""
    try:
        return Path(f"/proc/self/fd/{fd}").readlink()
    except OSError:
        return None

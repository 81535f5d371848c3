"""A folder beside the destination in which a run makes its files before anybody sees them."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from pathlib import Path
from types import TracebackType

from onnx_align_pass.errors import WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.journal import write_stamp

__all__ = ["Stage", "staging_prefix"]

BRIDGE = "bridge"
MODEL = "model"
DATA = "data"
_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
_MAX_NAME_BYTES = 200


def staging_prefix(model_name: str) -> str:
    """How the staging folders of a model's runs begin.

    Never with `..` inside (loaders refuse a location that has it), and short enough for the file
    system once the token is added.
    """
    short = os.fsencode(model_name)[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    return f".{short.replace('..', '__')}.align-"


class Stage:
    """A staging folder that its process holds locked: a live run is told from a dead one.

    As a context manager it is removed at the end, unless `keep` was called.
    """

    def __init__(self, folder: Path, model_name: str) -> None:
        self.folder = folder
        self.model_name = model_name
        self._made: list[Path] = []
        self._kept = False
        try:
            self._make_folder(folder)
            self.path, self._lock = self._begin()
        except OSError as error:
            self._remove_made()
            raise WriteError.of(error, folder, doing="making a staging folder") from None

    def _begin(self) -> tuple[Path, int | None]:
        while True:
            path = self.folder / f"{staging_prefix(self.model_name)}{secrets.token_hex(4)}"
            path.mkdir()
            lock = kernel.open_folder(path)
            # A cleaner may have come between the two lines above, and taken it for a dead one.
            if lock is not None and not (kernel.try_lock(lock) and _is_at(lock, path)):
                os.close(lock)
                continue
            write_stamp(path)
            return path, lock

    def _make_folder(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        for one in reversed(missing):
            one.mkdir()
            self._made.append(one)

    def data_path(self, name: str) -> Path:
        """Path of a staged data file."""
        return self.path / DATA / name

    def bridge_name(self, name: str) -> str:
        """Location of a staged data file as the bridge model names it."""
        return f"{self.path.name}/{DATA}/{name}"

    def create(self, path: Path, like: os.stat_result | None) -> int:
        """Make an empty staged file; with the mode and owner of the file that it will replace.

        Returns:
            Its descriptor, open for reading and writing.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, _FLAGS, 0o666)
        if like is not None and hasattr(os, "fchown"):
            _take_over(fd, like)
        return fd

    def keep(self) -> None:
        """Leave the folder where it is at the end: a later run finishes what it holds."""
        self._kept = True

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._kept:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        if kind is not None:
            self._remove_made()

    def _remove_made(self) -> None:
        for one in reversed(self._made):
            try:
                one.rmdir()
            except OSError:
                return


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except OSError:
        return False


def _take_over(fd: int, like: os.stat_result) -> None:
    try:
        os.fchown(fd, like.st_uid, like.st_gid)
    except PermissionError:
        return  # another user's file: ours stays ours, with our mode
    os.fchmod(fd, stat.S_IMODE(like.st_mode))

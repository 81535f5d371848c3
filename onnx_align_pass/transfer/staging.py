"""A folder beside the destination in which a run makes its files before anybody sees them."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from onnx_align_pass.errors import WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.journal import JOURNAL, is_stamp, write_stamp

__all__ = ["Stage", "remove_staging", "staging_prefix"]

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
_BLOCK_BYTES = 512  # of `st_blocks`, whatever the file system's are


def staging_prefix(model_name: str) -> str:
    """How the staging folders of a model's runs begin.

    Never with `..` inside (loaders refuse a location that has it), and short enough for the file
    system once the token is added.
    """
    short = os.fsencode(model_name)[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    return f".{short.replace('..', '__')}.align-"


def remove_staging(path: Path) -> None:
    """Remove a staging folder. What tells whose it is goes last, so that this may be cut off.

    Raises:
        OSError: Something in it cannot be removed; what tells whose it is stays as well.
    """
    failure: OSError | None = None
    for entry in sorted(path.iterdir(), key=_order):
        # One thing that cannot be removed shall not keep the rest: data would keep a second link.
        if failure is not None and _order(entry):
            break
        try:
            _remove(entry)
        except OSError as error:
            failure = error
    if failure is not None:
        raise failure
    path.rmdir()


def _order(entry: Path) -> int:
    return 2 if is_stamp(entry) else int(entry.name == JOURNAL)


def _remove(entry: Path) -> None:
    if entry.is_symlink() or not entry.is_dir():
        entry.unlink()
        return
    shutil.rmtree(entry, ignore_errors=True)
    if entry.exists():
        shutil.rmtree(entry)


class Stage:
    """A staging folder that its process holds locked: a live run is told from a dead one.

    As a context manager it is removed at the end, unless it is being kept then.
    """

    def __init__(self, folder: Path, model_name: str) -> None:
        self.folder = folder
        self.model_name = model_name
        self.made: list[Path] = []
        """Folders that were made to hold the destination, outermost first."""
        self._kept = False
        self._lock: int | None = None
        self.path = folder
        try:
            self._make_folder(folder)
            self._begin()
        except BaseException as error:
            try:
                if isinstance(error, OSError) and self.path != folder:
                    with suppress(OSError):  # empty, it takes no descriptor: there may be none
                        self.path.rmdir()
            finally:
                self._end(failed=True)
            if isinstance(error, OSError):
                raise WriteError.of(error, folder, doing="making a staging folder") from None
            raise

    def _make_folder(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        for one in reversed(missing):
            try:
                self.made.append(one)
                one.mkdir()
            except FileExistsError:
                self.made.remove(one)
                if not one.is_dir():
                    raise

    def _begin(self) -> None:
        while True:
            token = secrets.token_hex(4)
            path = self.folder / f"{staging_prefix(self.model_name)}{token}"
            if os.path.lexists(path):
                continue
            self.path = path
            path.mkdir()
            if self._hold():
                break
            with suppress(OSError):  # a cleaner has removed it, or will
                path.rmdir()
        write_stamp(path)

    def _hold(self) -> bool:
        """Lock the new folder; False if a cleaner came first, and took it for a dead one."""
        try:
            self._lock = kernel.open_folder(self.path)
        except FileNotFoundError:
            return False
        if self._lock is None:
            return True
        if kernel.try_lock(self._lock) and _is_at(self._lock, self.path):
            return True
        kernel.let_go(self._lock)
        self._lock = None
        return False

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
        fd = os.open(path, _FLAGS, 0o666 if like is None else stat.S_IMODE(like.st_mode) & 0o666)
        try:
            if like is not None and hasattr(os, "fchown"):
                _take_over(fd, like)
        except BaseException:
            kernel.let_go(fd)
            raise
        return fd

    def held(self) -> int:
        """Bytes of the disk that the files made so far take."""
        paths = [Path(place, name) for place, _, names in os.walk(self.path) for name in names]
        found = [path.lstat() for path in paths]
        blocks = (getattr(one, "st_blocks", 0) for one in found if one.st_nlink == 1)
        return sum(blocks) * _BLOCK_BYTES

    def keep(self) -> None:
        """Leave the folder where it is at the end: a later run finishes what it holds."""
        self._kept = True

    def release(self) -> None:
        """Take `keep` back: nothing needs the folder any more."""
        self._kept = False

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(failed=kind is not None)

    def _end(self, *, failed: bool) -> None:
        try:
            if not self._kept:
                self._remove()
        finally:
            if self._lock is not None:
                kernel.let_go(self._lock)
                self._lock = None
            if failed:
                self._remove_made()

    def _remove(self) -> None:
        """Remove the folder; what cannot be removed is left to a later run."""
        if self.path == self.folder:
            return
        try:
            _remove_if_possible(self.path)
        except BaseException:
            _remove_if_possible(self.path)  # interrupted: all the same, then say so
            raise

    def _remove_made(self) -> None:
        for one in reversed(self.made):
            with suppress(OSError):  # never made, or used by somebody else by now
                one.rmdir()


def _remove_if_possible(path: Path) -> None:
    # Twice: interrupted, shutil.rmtree may end with an OSError of its own making.
    for _ in range(2):
        with suppress(OSError):
            remove_staging(path)
            return


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except OSError:
        return False


def _take_over(fd: int, like: os.stat_result) -> None:
    mode, own = stat.S_IMODE(like.st_mode), os.fstat(fd)
    try:
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(fd, like.st_uid, like.st_gid)
    except PermissionError:
        # Another user's file, or another group's: it becomes ours, and no group may more than all.
        mode &= ~0o6070 | (mode & 0o007) << 3
    with suppress(PermissionError):  # there are no modes here
        os.fchmod(fd, mode)

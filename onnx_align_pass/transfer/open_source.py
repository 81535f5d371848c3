"""Opens the files that a model names, which a stranger may have written: guarded reads."""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from onnx_align_pass.errors import (
    ExternalDataError,
    ShortSourceError,
    SourceChangedError,
    UnsafeDataFileError,
    UsageError,
)
from onnx_align_pass.spans import FileSpan

__all__ = ["SourceFiles"]

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# O_NONBLOCK: opening a FIFO would wait for a writer before it can be refused.
_GUARDED = _FLAGS | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class _Identity:
    """What must stay the same while a file is read."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> _Identity:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class SourceFiles:
    """The open source files of one run. A context manager; not thread-safe.

    Args:
        roots: Folders; a data file must resolve into one of them.
        owner_uid: The model file's owner. A data file with several links is read, with a note,
            when it has the same one; None: nobody.
        allow_hard_links: Read data files with several links whoever owns them.
        limit: Most descriptors that are open at a time.
    """

    def __init__(
        self,
        *,
        roots: tuple[Path, ...],
        owner_uid: int | None,
        allow_hard_links: bool = False,
        limit: int = 64,
    ) -> None:
        if limit < 1:
            raise UsageError("no file can be open", needed="a limit of 1 or more")
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self._owner_uid = owner_uid
        self._allow_hard_links = allow_hard_links
        self._limit = limit
        self._trusted: set[Path] = set()
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._seen: dict[Path, _Identity] = {}
        self.notes: list[str] = []
        """What the user should know of files that were read all the same."""

    def trust(self, path: Path) -> None:
        """Let a file that the user named be anywhere, a symlink, or have several links."""
        self._trusted.add(path)

    def fd(self, path: Path, *, tensor: str | None = None) -> int:
        """Return a descriptor that can be read until the next call.

        Raises:
            ExternalDataError: The file is missing or cannot be read.
            UnsafeDataFileError: It leaves the roots, is no regular file, or has foreign links.
            SourceChangedError: It is not what it was when it was opened first.
        """
        fd = self._open.get(path)
        if fd is not None:
            self._open.move_to_end(path)
            return fd
        while len(self._open) >= self._limit:
            self._close_oldest()
        fd = self._opened(path, tensor)
        self._open[path] = fd
        return fd

    def size(self, path: Path, *, tensor: str | None = None) -> int:
        """Bytes of a file when it was first seen. Raises what `fd` raises."""
        if path not in self._seen:
            self.fd(path, tensor=tensor)
        return self._seen[path].size

    def check(self, span: FileSpan, tensor: str) -> None:
        """Prove that a span lies within its file.

        Raises:
            ShortSourceError: It ends past the file; or what `fd` raises.
        """
        size = self.size(span.path, tensor=tensor)
        if span.offset + span.length > size:
            raise ShortSourceError(tensor, span.path, span.offset, span.length, size)

    def verify_unchanged(self) -> None:
        """Prove that every file seen is still there, under its name, as it was.

        Raises:
            SourceChangedError: One was changed, replaced or removed.
        """
        for path, identity in self._seen.items():
            try:
                found = os.stat(path)
            except OSError as error:
                raise _changed(path, found=error.strerror) from None
            if _Identity.of(found) != identity:
                raise _changed(path)

    def _opened(self, path: Path, tensor: str | None) -> int:
        try:
            fd = self._try_twice(path, tensor)
        except (OSError, ValueError) as error:
            if path in self._seen and isinstance(error, FileNotFoundError):
                raise _changed(path, found=error.strerror) from None
            raise _unreadable(path, tensor, error) from None
        try:
            self._admit(fd, path, tensor)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _try_twice(self, path: Path, tensor: str | None) -> int:
        try:
            return self._resolve_and_open(path, tensor)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
        for _ in range((len(self._open) + 1) // 2):
            self._close_oldest()
        return self._resolve_and_open(path, tensor)

    def _resolve_and_open(self, path: Path, tensor: str | None) -> int:
        if path in self._trusted:
            resolved, flags = path, _GUARDED & ~getattr(os, "O_NOFOLLOW", 0)
        else:
            resolved, flags = Path(os.path.realpath(path)), _GUARDED
            self._inside(resolved, path, tensor)
        # Before the open too: to open a device can have effects.
        _regular(os.stat(resolved), path, tensor)
        return os.open(resolved, flags)

    def _admit(self, fd: int, path: Path, tensor: str | None) -> None:
        """Check what was opened, on the descriptor that will be read from."""
        found = os.fstat(fd)
        _regular(found, path, tensor)
        if path not in self._trusted:
            self._inside(_real_path(fd), path, tensor)
            self._links(found, path, tensor)
        if self._seen.setdefault(path, _Identity.of(found)) != _Identity.of(found):
            raise _changed(path, tensor)

    def _inside(self, resolved: Path | None, path: Path, tensor: str | None) -> None:
        if resolved is None or any(resolved.is_relative_to(root) for root in self._roots):
            return
        raise UnsafeDataFileError(
            "the data file leaves the model's folder",
            tensor=tensor,
            file=path,
            needed=f"a file in {' or '.join(map(str, self._roots))}",
            found=str(resolved),
            hint="Move the data file beside the model.",
        )

    def _links(self, found: os.stat_result, path: Path, tensor: str | None) -> None:
        if found.st_nlink <= 1 or self._allow_hard_links:
            return
        if found.st_uid != self._owner_uid:
            raise UnsafeDataFileError(
                "the data file has other names, and another owner than the model",
                tensor=tensor,
                file=path,
                needed="one link, or the model file's owner",
                found=f"{found.st_nlink} links, owner {found.st_uid}",
                hint="Copy the data file, or allow hard links.",
            )
        if path not in self._seen:
            self.notes.append(f"{path} has {found.st_nlink} links; its owner is the model file's")

    def _close_oldest(self) -> None:
        os.close(self._open.popitem(last=False)[1])

    def close(self) -> None:
        """Close every descriptor."""
        while self._open:
            self._close_oldest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _regular(found: os.stat_result, path: Path, tensor: str | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeDataFileError(
            "the data file is not a regular file",
            tensor=tensor,
            file=path,
            found=f"mode {stat.filemode(found.st_mode)}",
        )


def _real_path(fd: int) -> Path | None:
    """Where an open file is: a parent may have become a symlink between resolving and opening."""
    try:
        return Path(f"/proc/self/fd/{fd}").readlink()
    except OSError:
        return None


def _changed(path: Path, tensor: str | None = None, found: str | None = None) -> SourceChangedError:
    return SourceChangedError(
        "the file was changed or replaced while it was read",
        tensor=tensor,
        file=path,
        found=found,
        hint="Run again when nothing else writes to it.",
    )


def _unreadable(path: Path, tensor: str | None, error: OSError | ValueError) -> ExternalDataError:
    if isinstance(error, FileNotFoundError):
        problem, hint = "the data file is missing", "Is it beside the model, under this name?"
    elif isinstance(error, PermissionError):
        problem, hint = "the data file may not be read", "Check its permissions."
    elif isinstance(error, OSError):
        problem, hint = f"the data file cannot be opened: {error.strerror}", None
    else:
        problem, hint = f"no file can have this name: {error}", None
    return ExternalDataError(problem, tensor=tensor, file=path, hint=hint)

"""The open source files of a run: few at a time, and the same ones from first to last."""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from onnx_align_pass.cures import CURES
from onnx_align_pass.errors import (
    ExternalDataError,
    ModelNotFoundError,
    ShortSourceError,
    SourceChangedError,
    UsageError,
)
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.guard import Guard
from onnx_align_pass.transfer.kernel import let_go

__all__ = ["FileIdentity", "SourceFiles"]


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What must stay the same while a file is read."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileIdentity:
        """Identity of a file from its `stat`."""
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
        resolved = tuple(Path(os.path.realpath(root)) for root in roots)
        self._guard = Guard(resolved, owner_uid, allow_hard_links)
        self._limit = limit
        self._trusted: set[Path] = set()
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._seen: dict[Path, FileIdentity] = {}
        self._expected: set[Path] = set()
        self._checked: tuple[Path | None, int] = (None, 0)
        self.notes: list[str] = []
        """What the user should know of files that were read all the same."""

    def trust(self, path: Path) -> None:
        """Let a file that the user named be anywhere, a symlink, or have several links."""
        self._trusted.add(path)

    @property
    def seen(self) -> frozenset[Path]:
        """The files that were looked at."""
        return frozenset(self._seen)

    def adopt(self, other: SourceFiles) -> None:
        """Take over what other sources have seen: each file as it was then, under their rules.

        Raises:
            SourceChangedError: A file that both have seen was not the same.
        """
        for path, identity in other._seen.items():
            if self._seen.setdefault(path, identity) != identity:
                raise _changed(path)
        self._trusted |= other._trusted
        self.notes += [note for note in other.notes if note not in self.notes]

    def expect(self, path: Path, identity: FileIdentity) -> None:
        """Let a file be read only as it was when `identity` was taken."""
        self._seen[path] = identity
        self._expected.add(path)

    def forget(self, path: Path) -> None:
        """Let a file be changed that was seen, or expected."""
        self._seen.pop(path, None)
        self._expected.discard(path)

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
        return self.identity(path, tensor=tensor).size

    def identity(self, path: Path, *, tensor: str | None = None) -> FileIdentity:
        """Identity of a file when it was first seen. Raises what `fd` raises."""
        if path not in self._seen or path in self._expected:
            self.fd(path, tensor=tensor)
        return self._seen[path]

    def check(self, span: FileSpan, tensor: str) -> None:
        """Prove that a span lies within its file.

        Raises:
            ShortSourceError: It ends past the file; or what `fd` raises.
        """
        path, offset, length = span
        if path is not self._checked[0]:  # one after the other they are of one file
            self._checked = (path, self.size(path, tensor=tensor))
        size = self._checked[1]
        if offset + length > size:
            raise ShortSourceError(tensor, path, offset, length, size)

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
            if FileIdentity.of(found) != identity:
                raise _changed(path)

    def changed(self) -> frozenset[Path]:
        """The files seen that are not what they were, or gone."""
        return frozenset(path for path, seen in self._seen.items() if _now(path) != seen)

    def _opened(self, path: Path, tensor: str | None) -> int:
        try:
            return self._met(path, tensor)
        except (OSError, ValueError) as error:
            if path in self._seen and isinstance(error, FileNotFoundError):
                raise _changed(path, tensor, error.strerror, since=self._since(path)) from None
            if path in self._trusted:
                reason = getattr(error, "strerror", None) or str(error)
                raise ModelNotFoundError(f"the model cannot be read: {reason}", file=path) from None
            raise _unreadable(path, tensor, error) from None

    def _met(self, path: Path, tensor: str | None) -> int:
        fd = self._try_twice(path, tensor)
        try:
            self._meet(os.fstat(fd), path, tensor)
        except BaseException:
            let_go(fd)
            raise
        return fd

    def _try_twice(self, path: Path, tensor: str | None) -> int:
        open_it = self._guard.open_trusted if path in self._trusted else self._guard.open
        try:
            return open_it(path, tensor)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
        for _ in range((len(self._open) + 1) // 2):
            self._close_oldest()
        return open_it(path, tensor)

    def _meet(self, found: os.stat_result, path: Path, tensor: str | None) -> None:
        """Remember a file that is seen first; know it again later."""
        identity = FileIdentity.of(found)
        if path in self._seen:
            if self._seen[path] != identity:
                raise _changed(path, tensor, since=self._since(path))
            self._expected.discard(path)
            return
        self._seen[path] = identity
        if found.st_nlink > 1 and path not in self._trusted and not self._guard.allow_hard_links:
            self.notes.append(f"{path} has {found.st_nlink} links; its owner is the model file's")

    def _since(self, path: Path) -> bool:
        """Whether a file is opened for the first time, and known from before."""
        return path in self._expected

    def _close_oldest(self) -> None:
        let_go(self._open.popitem(last=False)[1])

    def close(self) -> None:
        """Close every descriptor."""
        while self._open:
            self._close_oldest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _now(path: Path) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(path))
    except OSError:
        return None


def _changed(
    path: Path, tensor: str | None = None, found: str | None = None, *, since: bool = False
) -> SourceChangedError:
    when = "since it was loaded" if since else "while it was read"
    return SourceChangedError(
        f"the file was changed or replaced {when}",
        tensor=tensor,
        file=path,
        found=found,
        hint="Load the model again." if since else "Run again when nothing else writes to it.",
    )


def _unreadable(path: Path, tensor: str | None, error: OSError | ValueError) -> ExternalDataError:
    code, hint = "data-file-unreadable", None
    if isinstance(error, FileNotFoundError):
        problem = "the data file is missing"
        hint = (
            "Is it beside the model, under this name? If it is elsewhere, "
            "`onnx-align repair --data` takes it from there."
        )
        code = "data-file-missing"
    elif isinstance(error, PermissionError):
        problem, hint = "the data file may not be read", "Check its permissions."
    elif isinstance(error, OSError):
        problem = f"the data file cannot be opened: {error.strerror}"
        if error.errno == errno.EMFILE:
            hint = CURES[errno.EMFILE]
    else:
        problem = f"no file can have this name: {error}"
    return ExternalDataError(problem, tensor=tensor, file=path, hint=hint, code=code)

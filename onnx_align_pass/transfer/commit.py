"""Publish staged files: at every instant the model on disk points at data that is its own.

A fresh destination gets its data first and its model last. A data file that the live model points
at is replaced under its name by way of a bridge, a model that points into the staging folder:

1. rename the bridge over the model;
2. hard-link each staged data file, and rename that link over the old name;
3. rename the model that points at the old names over the bridge;
4. remove the staging folder.

Each step leaves a valid pair; each may be repeated, so a later run can finish what a killed one
began. Where the file system has no hard links, step 2 moves the data, and between it and step 3
the model points at a file that is not there: a loud failure, which `recover` mends.

What was done is read off the disk, never remembered: a step may be cut off after it took effect.
"""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from onnx_align_pass.errors import SourceChangedError, WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.journal import JOURNAL, FileState, Journal, write_journal
from onnx_align_pass.transfer.staging import BRIDGE, DATA, MODEL, Stage

__all__ = ["Standing", "Steps", "commit", "folder_lock"]

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
_OLD = "old"
_LINK = "link"


def commit(stage: Stage, journal: Journal, *, durable: bool) -> None:
    """Publish a stage whose files are complete and, if durable, synced.

    Raises:
        SourceChangedError: Model or data at the destination changed since the run began.
        WriteError: A step failed; the old pair is whole, or, as the error says, the new one.
    """
    model = stage.folder / journal.model
    with folder_lock(stage.folder):
        _still_the_same(stage.folder, journal)
        _write_down(stage.path, journal, durable)
        steps = Steps(stage.path, journal, kernel.sync_folder if durable else _no_sync)
        stage.keep()  # until a pair is known to be whole: a second Ctrl-C may come at any time
        try:
            steps.publish()
            with suppress(OSError):  # the pair is right: what else can be said is a note
                steps.retire()
        except BaseException as error:
            settled = steps.settle()
            if settled is None:
                raise WriteError(
                    f"publishing failed half way: {error}",
                    file=model,
                    hint="The model points at complete data. Run `onnx-align recover` to finish.",
                ) from error
            stage.release()
            if isinstance(error, OSError):
                raise WriteError.of(error, model, doing=_DOING[settled]) from None
            raise
        stage.release()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Let one run at a time publish in a folder."""
    fd = kernel.open_folder(folder)
    try:
        while fd is not None and not kernel.try_lock(fd):
            time.sleep(0.02)
        yield
    finally:
        if fd is not None:
            os.close(fd)


def _no_sync(folder: Path) -> None:
    """Keep the order of the steps, without waiting for the disk."""


def _still_the_same(folder: Path, journal: Journal) -> None:
    before = {journal.model: journal.model_before, **journal.data_before}
    for name, state in before.items():
        if FileState.of(folder / name) != state:
            raise SourceChangedError(
                "it was changed by somebody else during the run",
                file=folder / name,
                hint="Nothing was written; run again.",
            )


def _write_down(staging: Path, journal: Journal, durable: bool) -> None:
    written = write_journal(staging, journal)
    if durable:
        with written.open("rb+") as file:
            kernel.sync_file(file.fileno())
    written.rename(staging / JOURNAL)
    if durable:
        for folder, _, _ in os.walk(staging):
            kernel.sync_folder(Path(folder))
        kernel.sync_folder(staging.parent)


class Standing(Enum):
    """Which model is at the destination."""

    BEFORE = "the old one"
    BRIDGE = "the bridge"
    AFTER = "the new one"
    OTHER = "somebody else's"


_DOING = {
    Standing.BEFORE: "publishing",
    Standing.AFTER: "the new model is in place, but syncing it to the disk",
}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one commit. The caller holds the folder's lock."""

    staging: Path
    journal: Journal
    sync: Callable[[Path], None]

    @property
    def folder(self) -> Path:
        """The destination folder."""
        return self.staging.parent

    @property
    def model(self) -> Path:
        """The destination model."""
        return self.folder / self.journal.model

    def standing(self) -> Standing:
        """See how far the commit came."""
        found, old = FileState.of(self.model), self.staging / _OLD / MODEL
        if found == self.journal.model_before:
            return Standing.BEFORE
        if found == self.journal.model_after:
            return Standing.AFTER
        if found is not None and found == self.journal.bridge:
            return Standing.BRIDGE
        # Put back from a backup, or by `undo` from a copy.
        if found and old.is_file() and filecmp.cmp(old, self.model, shallow=False):
            return Standing.BEFORE
        return Standing.OTHER

    def begun(self) -> bool:
        """Whether a data file was published."""
        return any(map(self._is_published, self._names))

    def obstacle(self) -> str | None:
        """Say what stands in the way of going on: something that is not what the run left."""
        if FileState.of(self.staging / MODEL) != self.journal.model_after:
            return "the staged model is not what it was"
        for name in self._names:
            final, before = self.folder / name, self.journal.data_before[name]
            moved = FileState.of(self.staging / _OLD / DATA / name) == before
            if self._is_published(name):
                continue
            if FileState.of(final) != before and not (moved and FileState.of(final) is None):
                return f"{name} was written anew since"
            if FileState.of(self.staging / DATA / name) != self.journal.data_after[name]:
                return f"the staged {name} is not what it was"
            if not _resolved(final.parent).is_relative_to(_resolved(self.folder)):
                return f"{name} would lie outside the folder"
        return None

    def publish(self) -> None:
        """Go from wherever the commit stands to the new pair."""
        for name in self.journal.new_folders:
            (self.folder / name).mkdir(exist_ok=True)
        if self.journal.replaces and self.standing() is Standing.BEFORE:
            self._raise_bridge()
        for name in self._names:
            self._publish(name)
        self._sync_data()
        if self.journal.model_before is None and self.standing() is Standing.BEFORE:
            _put_new(self.staging / MODEL, self.model)
        else:
            (self.staging / MODEL).replace(self.model)
        self.sync(self.folder)

    def retire(self, *, spared: Collection[str] = ()) -> None:
        """Remove the data files that the new pair has superseded, but for those `spared`.

        Raises:
            OSError: One cannot be removed; the others are.
        """
        failure = None
        for name, state in self.journal.superseded.items():
            try:
                if name not in spared and state and FileState.of(self.folder / name) == state:
                    (self.folder / name).unlink()
            except OSError as error:
                failure = error
        if failure is not None:
            raise failure

    def settle(self) -> Standing | None:
        """Make one pair whole after a failure, and say which; None: there is no way back."""
        try:
            if self.standing() is Standing.AFTER:
                with suppress(OSError):
                    self.retire()
                return Standing.AFTER
            self.undo()
        except OSError:
            return None
        return Standing.BEFORE

    def undo(self) -> None:
        """Put the old pair back.

        Raises:
            OSError: It cannot be; the model that is there still points at complete data.
        """
        for name in reversed(self._names):
            self._unpublish(name)
        with suppress(OSError):
            self._sync_data()
        if self.standing() is Standing.BRIDGE:
            if self.journal.model_before is None:
                self.model.unlink()
            else:
                (self.staging / _OLD / MODEL).replace(self.model)
        with suppress(OSError):
            self.sync(self.folder)
        for name in reversed(self.journal.new_folders):
            with suppress(OSError):
                (self.folder / name).rmdir()

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.journal.data_before)

    def _is_published(self, name: str) -> bool:
        return FileState.of(self.folder / name) == self.journal.data_after[name]

    def _raise_bridge(self) -> None:
        bridge, old = self.staging / BRIDGE, self.staging / _OLD / MODEL
        if self.journal.model_before is None:
            _put_new(bridge, self.model)
        else:
            if not _keep_link(self.model, old):
                _copy(self.model, old)
            bridge.replace(self.model)
        self.sync(self.folder)

    def _publish(self, name: str) -> None:
        staged, final = self.staging / DATA / name, self.folder / name
        if not self.journal.replaces:
            if not self._is_published(name) or os.path.lexists(staged):
                _put_new(staged, final)
        elif not self._is_published(name):
            old = self.staging / _OLD / DATA / name
            # The model is the bridge: nothing needs the old file under its name.
            if FileState.of(final) is not None and not _keep_link(final, old):
                final.rename(old)
            _link_or_move(staged, self.staging / _LINK / name).replace(final)

    def _unpublish(self, name: str) -> None:
        staged, final = self.staging / DATA / name, self.folder / name
        old, before = self.staging / _OLD / DATA / name, self.journal.data_before[name]
        if self._is_published(name):
            if before is not None and FileState.of(old) != before:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(old))
            if FileState.of(staged) is None:
                final.rename(staged)  # the bridge may point at it
            elif before is None:
                final.unlink()
            else:
                old.replace(final)
        if before is not None and FileState.of(final) is None and FileState.of(old) == before:
            old.rename(final)

    def _sync_data(self) -> None:
        parents = {parent for name in self._names for parent in Path(name).parents}
        for parent in sorted(parents, reverse=True):
            self.sync(self.folder / parent)


def _put_new(staged: Path, final: Path) -> None:
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


def _keep_link(path: Path, link: Path) -> bool:
    """Keep the old file reachable until the commit is done; False where there are no links."""
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


def _copy(path: Path, copy: Path) -> None:
    """Copy a file where it cannot be linked."""
    shutil.copy2(path, copy)
    found = path.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(copy, found.st_uid, found.st_gid)


def _link_or_move(staged: Path, link: Path) -> Path:
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


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))

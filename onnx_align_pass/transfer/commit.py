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
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from onnx_align_pass.errors import SourceChangedError, WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.journal import JOURNAL, FileState, Journal, write_journal
from onnx_align_pass.transfer.staging import BRIDGE, DATA, MODEL, Stage

__all__ = ["commit", "finish", "folder_lock"]

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
        WriteError: A step failed; the old pair is whole.
    """
    with folder_lock(stage.folder):
        _still_the_same(stage.folder, journal)
        _write_down(stage.path, journal, durable)
        steps = _Steps(stage.path, journal, kernel.sync_folder if durable else _no_sync)
        try:
            steps.publish()
        except BaseException as error:
            if not steps.done and not steps.undo():
                stage.keep()
                raise WriteError(
                    f"publishing failed half way: {error}",
                    file=stage.folder / journal.model,
                    hint="The model points at complete data. Run `onnx-align recover` to finish.",
                ) from error
            if isinstance(error, OSError):
                raise WriteError.of(
                    error, stage.folder / journal.model, doing="publishing"
                ) from None
            raise


def finish(staging: Path, journal: Journal) -> None:
    """Carry a commit that was cut off to its end. The caller holds the folder's lock."""
    _Steps(staging, journal, kernel.sync_folder).publish()


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


@dataclass(slots=True)
class _Steps:
    staging: Path
    journal: Journal
    sync: Callable[[Path], None]
    done: bool = False
    """The new pair is in place: there is no way back any more."""
    _bridged: bool = False
    _published: list[str] = field(default_factory=list)

    @property
    def _folder(self) -> Path:
        return self.staging.parent

    @property
    def _model(self) -> Path:
        return self._folder / self.journal.model

    def publish(self) -> None:
        for name in self.journal.data_before:
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
        if self.journal.replaces:
            self._raise_bridge()
        for name in self.journal.data_before:
            self._publish(name)
        self._sync_folders()
        if (self.staging / MODEL).exists():
            if self.journal.model_before is None and not self._bridged:
                _put_new(self.staging / MODEL, self._model)
            else:
                (self.staging / MODEL).replace(self._model)
        self.done = True
        self.sync(self._folder)
        for name, state in self.journal.superseded.items():
            if state is not None and FileState.of(self._folder / name) == state:
                (self._folder / name).unlink()

    def _raise_bridge(self) -> None:
        bridge = self.staging / BRIDGE
        if not bridge.exists():
            self._bridged = True
            return
        if self.journal.model_before is not None:
            _keep_link(self._model, self.staging / _OLD / MODEL)
        bridge.replace(self._model)
        self._bridged = True
        self.sync(self._folder)

    def _publish(self, name: str) -> None:
        staged, final = self.staging / DATA / name, self._folder / name
        if not staged.exists():
            return  # moved by an earlier try
        if not self.journal.replaces:
            _put_new(staged, final)
            self._published.append(name)
            return
        if _same_file(staged, final):
            return
        _keep_link(final, self.staging / _OLD / DATA / name)
        self._published.append(name)
        link = self.staging / _LINK / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        try:
            link.hardlink_to(staged)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            link = staged
        link.replace(final)

    def _sync_folders(self) -> None:
        for folder in {(self._folder / name).parent for name in self.journal.data_before}:
            self.sync(folder)

    def undo(self) -> bool:
        """Put the old pair back; say whether it is whole again."""
        try:
            for name in reversed(self._published):
                self._unpublish(name)
            if self._bridged:
                self._lower_bridge()
        except OSError:
            return False
        return True

    def _unpublish(self, name: str) -> None:
        final = self._folder / name
        old = self.staging / _OLD / DATA / name
        if self.journal.data_before[name] is None:
            final.unlink(missing_ok=True)
        elif old.exists():
            old.replace(final)
        elif FileState.of(final) != self.journal.data_before[name]:
            raise FileNotFoundError(old)

    def _lower_bridge(self) -> None:
        if self.journal.model_before is None:
            self._model.unlink(missing_ok=True)
        elif FileState.of(self._model) != self.journal.model_before:
            (self.staging / _OLD / MODEL).replace(self._model)


def _put_new(staged: Path, final: Path) -> None:
    """Give a staged file a name that nobody has: never over a file that came meanwhile."""
    if not _same_file(staged, final):
        try:
            final.hardlink_to(staged)
        except OSError as error:
            if error.errno not in _NO_LINKS or final.exists():
                raise
            staged.rename(final)
            return
    staged.unlink()


def _keep_link(path: Path, link: Path) -> None:
    """Keep the old file reachable until the commit is done; where that cannot be, go on."""
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.hardlink_to(path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS and error.errno != errno.ENOENT:
            raise


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except FileNotFoundError:
        return False

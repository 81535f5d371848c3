"""Publish staged files: at every instant the model on disk points at data that is its own.

A fresh destination gets its data first and its model last. A data file that the live model points
at is replaced under its name by way of a bridge, a model that points into the staging folder:

1. rename the bridge over the model;
2. hard-link each staged data file, and rename that link over the old name;
3. rename the model that points at the old names over the bridge;
4. remove the staging folder.

A model is removed in its turn: the model first, then the data that nothing points at any more.

Each step leaves a valid pair; each may be repeated, so a later run can finish what a killed one
began. Where the file system has no hard links, step 2 moves the data, and between it and step 3
the model points at a file that is not there: a loud failure, which `recover` mends.

What was done is read off the disk, never remembered: a step may be cut off after it took effect.
"""

from __future__ import annotations

import errno
import filecmp
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from onnx_align_pass.transfer.journal import FileState, Journal
from onnx_align_pass.transfer.kept import publish_record
from onnx_align_pass.transfer.links import copy, keep_link, link_or_move, put_new
from onnx_align_pass.transfer.staging import BRIDGE, DATA, MODEL

__all__ = ["Publication", "Standing"]

_OLD = "old"
_LINK = "link"


class Standing(Enum):
    """Which model is at the destination."""

    BEFORE = "the old one"
    BRIDGE = "the bridge"
    AFTER = "the new one"
    OTHER = "somebody else's"


@dataclass(frozen=True, slots=True)
class Publication:
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

    def leads_outside(self) -> bool:
        """Whether a name in the journal leads out of the folder, through a symlink."""
        folder = _resolved(self.folder)
        names = (*self._names, *self.journal.superseded, *self.journal.new_folders)
        parents = {(self.folder / name).parent for name in names}
        return not all(_resolved(one).is_relative_to(folder) for one in parents)

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
        if self.journal.model_after is None:
            self.model.unlink(missing_ok=True)
        elif self.journal.model_before is None and self.standing() is Standing.BEFORE:
            put_new(self.staging / MODEL, self.model)
        else:
            (self.staging / MODEL).replace(self.model)
        self.sync(self.folder)

    def retire(self, *, spared: Collection[str] = ()) -> None:
        """Remove the data files that the new pair has superseded, but for those `spared`.

        Folders that are empty then go too. What was kept is recorded.

        Raises:
            OSError: One cannot be removed; the others are.
        """
        publish_record(self.staging)
        failure = None
        for name, state in self.journal.superseded.items():
            try:
                if name not in spared and state and FileState.of(self.folder / name) == state:
                    (self.folder / name).unlink()
            except OSError as error:
                failure = error
        self._remove_emptied()
        if failure is not None:
            raise failure

    def _remove_emptied(self) -> None:
        """Remove folders below that held nothing but what was removed from them."""
        gone = (
            name
            for name, state in self.journal.superseded.items()
            if state and not os.path.lexists(self.folder / name)
        )
        above = {parent for name in gone for parent in Path(name).parents if parent.name}
        for parent in sorted(above, reverse=True):
            with suppress(OSError):  # something else is in it
                (self.folder / parent).rmdir()

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
            put_new(bridge, self.model)
        else:
            if not keep_link(self.model, old):
                copy(self.model, old)
            bridge.replace(self.model)
        self.sync(self.folder)

    def _publish(self, name: str) -> None:
        staged, final = self.staging / DATA / name, self.folder / name
        if not self.journal.replaces:
            if not self._is_published(name) or os.path.lexists(staged):
                put_new(staged, final)
        elif not self._is_published(name):
            old = self.staging / _OLD / DATA / name
            # The model is the bridge: nothing needs the old file under its name.
            if FileState.of(final) is not None and not keep_link(final, old):
                final.rename(old)
            link_or_move(staged, self.staging / _LINK / name).replace(final)

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


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))

"""Remove the data files that `keep_old_data` left, once no reader needs them any more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass.errors import ModelNotFoundError
from onnx_align_pass.explaining import explained
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.printable import printable
from onnx_align_pass.references import Around, References
from onnx_align_pass.report import SCHEMA_VERSION
from onnx_align_pass.transfer.commit import folder_lock
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.kept import read_record, records_in
from onnx_align_pass.transfer.recover import is_staging_name

__all__ = ["PruneReport", "PrunedFile", "prune_file"]


@dataclass(frozen=True, slots=True)
class PrunedFile:
    """An old data file."""

    path: Path
    nbytes: int


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What was removed, or would be."""

    removed: tuple[PrunedFile, ...]
    left: tuple[str, ...]
    """Why what was recorded stays."""
    dry_run: bool
    failed: tuple[str, ...] = ()
    """What could not be removed, and why."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "dry_run": self.dry_run,
            "removed": [
                {"path": printable(str(one.path)), "bytes": one.nbytes} for one in self.removed
            ],
            "left": [printable(one) for one in self.left],
            "failed": [printable(one) for one in self.failed],
        }


def prune_file(path: StrPath, *, dry_run: bool = False) -> PruneReport:
    """Remove what `keep_old_data` left beside a model, where no model points at it.

    Only files that a run of this user has recorded, and that are still what they were then; never
    by what a model says, or by what they are called. Whether a program has one open, or will open
    it, nobody can see: ask when the readers of the old model have ended.

    Args:
        path: A model, which need not be there any more, or a folder, with those below it.
        dry_run: Only say what would be removed.

    Raises:
        ModelNotFoundError: There is neither such a folder nor the folder of such a model.
        WriteError: Something cannot be looked at.
    """
    given = given_path(path)
    pruning = _Pruning(dry_run)
    with explained(given, 0, reads=False):
        for record in list(_records(given)):
            # Only under the lock is it certain that no run is about to point at one of them.
            with nullcontext() if dry_run else folder_lock(record.parent):
                pruning.take(record)
    return PruneReport(tuple(pruning.removed), tuple(pruning.left), dry_run, tuple(pruning.failed))


class _Pruning:
    """What became of the files of all records until now."""

    def __init__(self, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._references = References()
        self.removed: list[PrunedFile] = []
        self.left: list[str] = []
        self.failed: list[str] = []

    def take(self, record: Path) -> None:
        """Remove what a record names, as far as it may go; and the record with the last."""
        try:
            files = read_record(record)
        except FileNotFoundError:
            return  # another run has taken it
        except ValueError as error:
            self.left.append(f"{record}: {error}")
            return
        around = self._references.around(None)
        gone = [self._remove(record.parent / name, state, around) for name, state in files.items()]
        if all(gone) and not self._dry_run:
            record.unlink(missing_ok=True)

    def _remove(self, old: Path, state: FileState, around: Around) -> bool:
        """Remove a file, unless something speaks against it; whether it is gone."""
        found = FileState.of(old)
        if found is None:
            return True
        reason = "it is not what it was" if found != state else _reason_to_stay(old, around)
        if reason is not None:
            self.left.append(f"{old}: {reason}")
            return False
        try:
            if not self._dry_run:
                old.unlink()
        except OSError as error:
            self.failed.append(f"{old}: {error.strerror or error}")
            return False
        self.removed.append(PrunedFile(old, found.size))
        return True


def _reason_to_stay(old: Path, around: Around) -> str | None:
    sharers = around.others(old)
    if sharers.users:
        return f"{sharers.users[0].name} uses it"
    if unknown := (*sharers.unreadable, *sharers.broken):
        return f"whether {unknown[0].name} uses it is unknown"
    return None


def _records(given: Path) -> Iterator[Path]:
    if os.path.isdir(given):
        for folder, names, _ in os.walk(given, onerror=_refuse):
            names[:] = sorted(name for name in names if not is_staging_name(name))
            yield from records_in(Path(folder), None)
        return
    if not os.path.isdir(given.parent):
        raise ModelNotFoundError(
            "there is no such folder or model", file=given, hint="Name a folder, or a model."
        )
    yield from records_in(given.parent, given.name)


def _refuse(error: OSError) -> None:
    raise error

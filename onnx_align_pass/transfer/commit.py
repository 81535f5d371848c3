"""Make staged files visible: model and data both, or neither. `publication` has the steps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.errors import SourceChangedError, WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.journal import JOURNAL, FileState, Journal, write_journal
from onnx_align_pass.transfer.kept import write_record
from onnx_align_pass.transfer.publication import Publication, Standing
from onnx_align_pass.transfer.staging import Stage

__all__ = ["commit", "folder_lock", "locked"]

_DOING = {
    Standing.BEFORE: "publishing",
    Standing.AFTER: "the new model is in place, but syncing it to the disk",
}


def _nothing() -> None:
    """Nothing more is to be looked at."""


def commit(
    stage: Stage,
    journal: Journal,
    *,
    durable: bool,
    recheck: Callable[[], None] = _nothing,
    also_lock: Iterable[Path] = (),
) -> None:
    """Publish a stage whose files are complete and, if durable, synced.

    Args:
        stage: The staged files.
        journal: What they replace; the folders that it takes are looked for here.
        durable: Whether to sync between the steps.
        recheck: Called when no other run can publish any more; what it raises ends the run, with
            nothing published.
        also_lock: Further folders in which nobody may publish meanwhile: the new model points at
            files there, or takes the place of one that stands there.

    Raises:
        SourceChangedError: Model or data at the destination changed since the run began.
        WriteError: A step failed; the old pair is whole, or, as the error says, the new one.
    """
    model = stage.folder / journal.model
    with locked(stage.folder, also_lock):
        _still_the_same(stage.folder, journal)
        # Not before: a run that published until now may have removed a folder, or made one.
        journal = replace(journal, new_folders=_missing_folders(stage.folder, journal))
        recheck()
        _write_down(stage.path, journal, durable)
        if durable:
            for made in stage.made:
                kernel.sync_folder(made.parent)
        steps = Publication(stage.path, journal, kernel.sync_folder if durable else _no_sync)
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
def locked(folder: Path, others: Iterable[Path]) -> Iterator[None]:
    """Lock folders, in the one order that all runs keep: so none waits for what waits for it."""
    folders = {os.path.realpath(one) for one in (folder, *others)}
    with ExitStack() as locks:
        for one in sorted(folders, key=lambda path: (-path.count(os.sep), path)):
            locks.enter_context(folder_lock(Path(one)))
        yield


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
            kernel.let_go(fd)


def _missing_folders(folder: Path, journal: Journal) -> tuple[str, ...]:
    above = {parent for name in journal.data_before for parent in Path(name).parents}
    return tuple(one.as_posix() for one in sorted(above) if not (folder / one).exists())


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
    if journal.kept:
        write_record(staging, journal.kept)
    written = write_journal(staging, journal)
    if durable:
        with written.open("rb+", buffering=0) as file:
            kernel.sync_file(file.fileno())
    written.rename(staging / JOURNAL)
    if durable:
        for folder, _, _ in os.walk(staging):
            kernel.sync_folder(Path(folder))
        kernel.sync_folder(staging.parent)

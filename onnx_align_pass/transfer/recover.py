"""What killed runs left behind: found, told from live runs, finished or discarded."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onnx_align_pass.errors import WriteError
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.commit import finish, folder_lock
from onnx_align_pass.transfer.journal import FileState, Journal, read_journal, read_stamp
from onnx_align_pass.transfer.staging import DATA, staging_prefix

__all__ = ["Leftover", "is_staging_name", "recover_folder"]

Outcome = Literal["finished", "discarded", "live", "untrusted"]
_STAGING = re.compile(r"\..+\.align-[0-9a-f]{8}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A staging folder that was found, and what was done about it."""

    path: Path
    outcome: Outcome
    reason: str


def is_staging_name(name: str) -> bool:
    """Whether a folder is called as staging folders are."""
    return _STAGING.fullmatch(name) is not None


def recover_folder(folder: Path, model_name: str | None = None) -> tuple[Leftover, ...]:
    """Finish or discard what killed runs left in a folder; live runs are not touched.

    Args:
        folder: Where the models are.
        model_name: Only what belongs to this model; None: to any.

    Raises:
        WriteError: Something that was left behind cannot be finished or removed.
    """
    return tuple(_recover(path) for path in sorted(_staging_folders(folder, model_name)))


def _staging_folders(folder: Path, model_name: str | None) -> Iterator[Path]:
    prefix = "." if model_name is None else staging_prefix(model_name)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = folder / name
        if name.startswith(prefix) and is_staging_name(name) and not path.is_symlink():
            if path.is_dir():
                yield path


def _recover(path: Path) -> Leftover:
    try:
        lock = kernel.open_folder(path)
    except FileNotFoundError:
        return Leftover(path, "discarded", "another run removed it")
    except OSError as error:
        return Leftover(path, "untrusted", f"it cannot be read: {error.strerror}")
    try:
        if lock is None or not kernel.try_lock(lock):
            return Leftover(path, "live", "a run is writing it")
        with folder_lock(path.parent):
            return _settle(path)
    except OSError as error:
        raise WriteError.of(error, path, doing="recovering") from None
    finally:
        if lock is not None:
            os.close(lock)


def _settle(path: Path) -> Leftover:
    if not any(path.iterdir()):
        path.rmdir()
        return Leftover(path, "discarded", "it was empty")
    if not read_stamp(path):
        return Leftover(
            path, "untrusted", "it was not made here by this user; look at it and remove it by hand"
        )
    journal = read_journal(path)
    if journal is None:
        shutil.rmtree(path)
        return Leftover(path, "discarded", "the run ended before its files were complete")
    reason = _unfinishable(path, journal)
    if reason is None:
        finish(path, journal)
    shutil.rmtree(path)
    if reason is None:
        return Leftover(path, "finished", "the run ended while it published its files")
    return Leftover(path, "discarded", reason)


def _unfinishable(path: Path, journal: Journal) -> str | None:
    """Say why a commit must not be carried on; None if it must."""
    folder = path.parent
    model = FileState.of(folder / journal.model)
    ours = model in journal.staged_models
    if not ours and model != journal.model_before:
        return "the model was written anew since"
    begun = ours or any(
        FileState.of(folder / name) != state for name, state in journal.data_before.items()
    )
    if not begun:
        return "the run ended before it published anything"
    for name, state in journal.data_before.items():
        final, staged = FileState.of(folder / name), FileState.of(path / DATA / name)
        if not ours and final != state and staged is not None and final is not None:
            if final.inode != staged.inode:
                return f"{name} was written anew since"
    return None

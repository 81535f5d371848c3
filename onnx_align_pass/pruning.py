"""Remove the data files that `keep_old_data` left, once no reader needs them any more."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass.errors import WriteError
from onnx_align_pass.layout.generations import family, token_of
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import data_file_names
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.printable import printable
from onnx_align_pass.references import Around, References
from onnx_align_pass.repack_folder import models_below
from onnx_align_pass.report import SCHEMA_VERSION
from onnx_align_pass.transfer.commit import folder_lock
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
    """Why what looks like old data stays."""
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "dry_run": self.dry_run,
            "removed": [
                {"path": printable(str(one.path)), "bytes": one.nbytes} for one in self.removed
            ],
            "left": [printable(one) for one in self.left],
        }


def prune_file(path: StrPath, *, dry_run: bool = False) -> PruneReport:
    """Remove what `keep_old_data` left beside a model: older data files that no model points at.

    An older data file is one whose name differs from that of a data file of the model in its token
    alone (`model.onnx-5f3a9c01.data`), or has none where the model's has one. Whether a program
    has one open, or will open it, nobody can see: ask when the readers of the old model have ended.

    Args:
        path: A model, or a folder of models.
        dry_run: Only say what would be removed.

    Raises:
        ModelError: The model is missing or broken; nothing was removed.
        WriteError: A file cannot be removed; those named before it are.
    """
    given = given_path(path)
    models = models_below(given) if os.path.isdir(given) else [given]
    references, removed, left = References(), dict[Path, PrunedFile](), dict[str, None]()
    for model in models:
        read_skeleton(model)
        # Only under the lock is it certain that no run is about to point at one of them.
        with nullcontext() if dry_run else folder_lock(model.parent):
            around = references.around(model)
            for old in _older(model):
                reason = _reason_to_stay(old, around)
                if reason is not None:
                    left[f"{old}: {reason}"] = None
                    continue
                removed.setdefault(old, PrunedFile(old, old.lstat().st_size))
                if not dry_run:
                    _remove(old)
    return PruneReport(tuple(removed.values()), tuple(left), dry_run)


def _older(model: Path) -> Iterator[Path]:
    """Files beside the model's data that are called as earlier ones of it would be."""
    names = {model.parent / name for name in data_file_names(read_skeleton(model))}
    home = os.path.realpath(model.parent)
    for folder in sorted({name.parent for name in names}):
        if not Path(os.path.realpath(folder)).is_relative_to(home):
            continue  # by way of a symlink, where a stranger's model has no say
        kin = {family(one.name): token_of(one.name) for one in names if one.parent == folder}
        for found in sorted(_names_in(folder)):
            path, token = folder / found, token_of(found)
            if path not in names and family(found) in kin and token != kin[family(found)]:
                yield path


def _reason_to_stay(old: Path, around: Around) -> str | None:
    try:
        if not stat.S_ISREG(old.lstat().st_mode):
            return "it is not a regular file"
    except FileNotFoundError:
        return "it is gone"
    # A run that has published its data, and not its model yet, is still seen by its staging folder.
    for folder in (Path(os.path.realpath(old.parent)), *Path(os.path.realpath(old.parent)).parents):
        if any(map(is_staging_name, _names_in(folder))):
            return f"a run is at work in {folder}, or was killed: `onnx-align recover` finishes it"
    sharers = around.others(old)
    if sharers.users:
        return f"{sharers.users[0].name} uses it"
    if unknown := (*sharers.unreadable, *sharers.broken):
        return f"whether {unknown[0].name} uses it is unknown"
    return None


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _remove(old: Path) -> None:
    try:
        old.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError.of(error, old, doing="removing the old data") from None

"""Remove the data files that `keep_old_data` left, once no reader needs them any more."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass.errors import WriteError
from onnx_align_pass.explaining import explained
from onnx_align_pass.layout.generations import family, token_of
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import data_file_names
from onnx_align_pass.paths import StrPath, given_path, look
from onnx_align_pass.printable import printable
from onnx_align_pass.references import References, owners_that_count
from onnx_align_pass.repack_folder import models_below
from onnx_align_pass.report import SCHEMA_VERSION
from onnx_align_pass.transfer.commit import locked
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

    Such files are told by their names: `model.onnx.gen-5f3a9c01d27e.data`, where the model's data
    has another token, or none; and that name without a token, where the model's has one. Whether a
    program has one open, or will open it, nobody can see: ask when the readers of the old model
    have ended.

    Args:
        path: A model, or a folder of models.
        dry_run: Only say what would be removed.

    Raises:
        ModelError: A model is missing or broken; nothing was removed.
        WriteError: A file cannot be looked at, or removed; those before it are.
    """
    given = given_path(path)
    models = models_below(given) if os.path.isdir(given) else [given]
    for model in models:
        data_file_names(read_skeleton(model))
    references, removed, left = References(), dict[Path, PrunedFile](), dict[str, None]()
    for model in models:
        # Only under the locks is it certain that no run is about to point at one of them.
        with explained(model, 0, reads=False), _alone(model, dry_run=dry_run):
            for old in _older(model):
                reason = _reason_to_stay(model, old, references)
                if reason is not None:
                    left[f"{old}: {reason}"] = None
                    continue
                removed.setdefault(old, PrunedFile(old, old.lstat().st_size))
                if not dry_run:
                    _remove(old)
    return PruneReport(tuple(removed.values()), tuple(left), dry_run)


def _alone(model: Path, *, dry_run: bool) -> AbstractContextManager[None]:
    return nullcontext() if dry_run else locked(model.parent, _data_folders(model))


def _data_folders(model: Path) -> list[Path]:
    """The folders of a model's data, but for those that a symlink in the model's folder is."""
    home, folders = os.path.realpath(model.parent), {one.parent for one in _data_of(model)}
    inside = (one for one in folders if Path(os.path.realpath(one)).is_relative_to(home))
    return sorted(one for one in inside if one.is_dir())


def _data_of(model: Path) -> set[Path]:
    return {model.parent / name for name in data_file_names(read_skeleton(model))}


def _older(model: Path) -> Iterator[Path]:
    """Files beside the model's data that are called as earlier ones of it would be."""
    data = _data_of(model)
    for folder in _data_folders(model):
        kin = {family(one.name): token_of(one.name) for one in data if one.parent == folder}
        for name in sorted(_names_in(folder)):
            path, token = folder / name, token_of(name)
            if path not in data and family(name) in kin and token != kin[family(name)]:
                yield path


def _reason_to_stay(model: Path, old: Path, references: References) -> str | None:
    found = look(old, follow=False)
    if found is None:
        return "it is gone"
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    # A run that has published its data, and not its model yet, is still seen by its staging folder.
    place = Path(os.path.realpath(old.parent))
    for folder in (place, *place.parents):
        if any(_is_run(folder / name, old) for name in _names_in(folder)):
            return f"a run is at work in {folder}, or was killed: `onnx-align recover` finishes it"
    sharers = references.others(model, old)
    if sharers.users:
        return f"{sharers.users[0].name} uses it"
    if unknown := (*sharers.unreadable, *sharers.broken):
        return f"whether {unknown[0].name} uses it is unknown"
    return None


def _is_run(path: Path, old: Path) -> bool:
    """Whether this is the staging folder of a run that may need an old file."""
    if not is_staging_name(path.name):
        return False
    owners, found = owners_that_count(path.parent, old), look(path, follow=False)
    return found is not None and (owners is None or found.st_uid in owners)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _remove(old: Path) -> None:
    try:
        old.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError.of(error, old, doing="removing the old data") from None

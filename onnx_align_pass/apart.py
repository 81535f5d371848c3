"""Names that a file system may take for one: they differ in upper and lower case, or in accents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from onnx_align_pass.errors import DestinationError
from onnx_align_pass.paths import same_file
from onnx_align_pass.spelling import alike

__all__ = ["check_apart"]


def check_apart(names: Iterable[str], folder: Path) -> None:
    """Prove that files of these names would be as many files. Tried out where it is in doubt.

    Args:
        names: Relative to the folder.
        folder: It need not be there yet.

    Raises:
        DestinationError: Two would be one.
        OSError: That cannot be tried out.
    """
    for twins in _twins(names):
        with tempfile.TemporaryDirectory(prefix=".", dir=_nearest(folder)) as trial:
            for number, name in enumerate(twins):
                path = Path(trial, name)
                if not _make(path):
                    same = (one for one in twins[:number] if same_file(path, Path(trial, one)))
                    one = next(same, twins[0])
                    raise DestinationError(
                        "two files would be one: their names are the same on this file system",
                        file=folder / name,
                        found=str(folder / one),
                        hint="Give one of them another name, or write to another disk.",
                    )


def _twins(names: Iterable[str]) -> list[list[str]]:
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(alike(name), []).append(name)
    return [found for found in spellings.values() if len(found) > 1]


def _nearest(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _make(path: Path) -> bool:
    """Make a file, and the folders above it; whether it is a new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

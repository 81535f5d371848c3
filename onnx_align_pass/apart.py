"""Names that a file system may take for one: they differ in upper and lower case, or in accents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path, PurePath

from onnx_align_pass.errors import DestinationError
from onnx_align_pass.paths import alike

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
    for one, other in _twins(names):
        if all(_taken_for_one(*pair, folder) for pair in _differences(one, other)):
            raise DestinationError(
                "two files would be one: their names are the same on this file system",
                file=folder / other,
                found=str(folder / one),
                hint="Give one of them another name, or write to another disk.",
            )


def _twins(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(alike(name), []).append(name)
    for found in spellings.values():
        yield from combinations(found, 2)


def _differences(one: str, other: str) -> list[tuple[str, str]]:
    pairs = zip(PurePath(one).parts, PurePath(other).parts, strict=True)
    return [pair for pair in pairs if pair[0] != pair[1]]


def _taken_for_one(one: str, other: str, folder: Path) -> bool:
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    with tempfile.TemporaryDirectory(prefix=".", dir=there) as name:
        Path(name, one).touch()
        return os.path.lexists(Path(name, other))

"""Names for data files that stand in for others, until these are replaced."""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from onnx_align_pass.references import Around, References
from onnx_align_pass.transfer.commit import folder_lock

__all__ = ["clear_aside", "free_name"]


def free_name(folder: Path, name: str) -> str:
    """A name like another, that nobody has."""
    place, slash, last = name.rpartition("/")
    names = (f"{place}{slash}next-{number}-{last}" for number in count(1))
    return next(one for one in names if not os.path.lexists(folder / one))


def clear_aside(folder: Path, names: Sequence[str]) -> list[str]:
    """Remove what a run that was killed left under such names, and no model points at.

    Only a file that holds, byte for byte, what stands under the right name now: nothing is lost.

    Args:
        folder: The models' folder.
        names: Data files that stand there, relative to it.

    Returns:
        What became of each, for people.
    """
    left = {name: list(_aside(folder / name)) for name in names}
    if not any(left.values()):
        return []
    notes = []
    with folder_lock(folder):
        around = References().around(None)
        for name, paths in left.items():
            for path in paths:
                if _is_needless(path, folder / name, around):
                    with suppress(OSError):
                        path.unlink()
                        notes.append(f"{path.name} is removed: a run that was killed left it")
                        continue
                notes.append(f"{path.name} is left: whether anybody needs it is unknown")
    return notes


def _aside(path: Path) -> Iterator[Path]:
    pattern = re.compile(rf"next-\d+-{re.escape(path.name)}")
    with suppress(OSError):
        for name in sorted(os.listdir(path.parent)):
            if pattern.fullmatch(name):
                yield path.parent / name


def _is_needless(path: Path, standing: Path, around: Around) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_nlink > 1:
        return False
    sharers = around.others(path)
    if sharers.users or sharers.unreadable or sharers.broken:
        return False
    try:
        return filecmp.cmp(path, standing, shallow=False)
    except OSError:
        return False

"""The call that finishes or discards what killed runs left behind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.references import References
from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer import recover
from onnx_align_pass.transfer.recover import Leftover

__all__ = ["Leftover", "recover_folder"]


def recover_folder(folder: StrPath, model_name: str | None = None) -> tuple[Leftover, ...]:
    """Finish or discard what killed runs left in a folder; live runs are not touched.

    Args:
        folder: Where the models are.
        model_name: Only what belongs to this model; None: to any.

    Raises:
        UsageError: The path is empty.
        WriteError: Something that was left behind cannot be finished or removed.
    """
    return recover.recover_folder(given_path(folder, "folder"), model_name, names=_Names())


class _Names:
    """Reads which models name a file, each of them once."""

    def __init__(self) -> None:
        self._references = References()
        self._spelled: dict[Path, tuple[frozenset[str], frozenset[str]]] = {}

    def __call__(self, model: Path, file: Path) -> bool | None:
        """Whether a model names a file. None: it cannot be read.

        By its name, not by its inode: of a file that has two, one may go.
        """
        names = self._references.of(model)
        if not isinstance(names, frozenset):
            return None
        known = self._spelled.get(model)
        if known is None or known[0] is not names:
            known = self._spelled[model] = names, _spelled(model, names)
        return alike(str(file)) in known[1]


def _spelled(model: Path, names: Iterable[str]) -> frozenset[str]:
    """Where a model's data files are, as they are named and with all symlinks followed."""
    places = [model.parent / name for name in names]
    both = (*map(os.path.normpath, places), *map(os.path.realpath, places))
    return frozenset(map(alike, both))

"""Which data files a model points at: a data file belongs to every model that does."""

from __future__ import annotations

import os
from pathlib import Path

from onnx_align_pass.errors import AlignError
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import data_file_names

__all__ = ["References"]

Inode = tuple[int, int]


class References:
    """Who points at what in a folder. Each model is read once."""

    def __init__(self) -> None:
        self._of: dict[Path, frozenset[str] | None] = {}

    def of(self, model: Path) -> frozenset[str] | None:
        """Names of a model's data files, relative to its folder; None if it cannot be read."""
        if model not in self._of:
            try:
                self._of[model] = data_file_names(read_skeleton(model))
            except AlignError:
                self._of[model] = None
        return self._of[model]

    def forget(self, model: Path) -> None:
        """Drop what is known of a model that was written."""
        self._of.pop(model, None)

    def others(self, model: Path, data: Path) -> tuple[list[Path], list[Path]]:
        """Find the other models beside `model` that point at the file `data`, by inode.

        Returns:
            The models that do, and those that could not be read.
        """
        wanted = _inode(data)
        users: list[Path] = []
        unreadable: list[Path] = []
        for other in _models_in(model.parent):
            if wanted is None or _inode(other) == _inode(model):
                continue
            names = self.of(other)
            if names is None:
                unreadable.append(other)
            elif any(_inode(other.parent / name) == wanted for name in names):
                users.append(other)
        return users, unreadable


def _models_in(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.lower().endswith(".onnx")]


def _inode(path: Path) -> Inode | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino

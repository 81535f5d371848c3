"""Which of many paths lead to one file, with one look at each of them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from onnx_align_pass.paths import Inode, inode, same_file
from onnx_align_pass.spelling import alike

__all__ = ["SameFiles"]


class SameFiles:
    """What many paths lead to, as `same_file` has it, each looked at once, and not before asked.

    Args:
        paths: The first of them, each on its own account.
        passed_over: Errors for which a path is taken for another file.
    """

    def __init__(
        self, paths: Iterable[Path] = (), *, passed_over: tuple[type[OSError], ...] = ()
    ) -> None:
        self._waiting = [(path, path) for path in paths]
        self._passed_over = passed_over
        self._by_inode: defaultdict[Inode, set[Path]] = defaultdict(set)
        self._by_name: defaultdict[str, list[tuple[Path, Path]]] = defaultdict(list)
        self._folders: dict[Path, str] = {}

    def add(self, path: Path, owner: Path) -> None:
        """Add a path that somebody names."""
        self._waiting.append((path, owner))

    def owners(self, path: Path) -> set[Path]:
        """Find out who names the file that a path leads to.

        Raises:
            OSError: It, or one of those that were added, cannot be looked at.
        """
        found = inode(path)
        if found is None:
            return set()
        while self._waiting:
            self._look(*self._waiting[-1])
            self._waiting.pop()
        owners = set(self._by_inode.get(found, ()))
        # Some file systems number a file by its spelling: there these are left to ask.
        for other, owner in self._by_name.get(self._spelling(path), ()):
            with suppress(*self._passed_over):
                if owner not in owners and same_file(other, path):
                    owners.add(owner)
        return owners

    def _look(self, path: Path, owner: Path) -> None:
        with suppress(*self._passed_over):
            found = inode(path)
            if found is not None:
                self._by_inode[found].add(owner)
                self._by_name[self._spelling(path)].append((path, owner))

    def _spelling(self, path: Path) -> str:
        folder = self._folders.get(path.parent)
        if folder is None:
            folder = self._folders[path.parent] = alike(os.path.realpath(path.parent))
        return f"{folder}/{alike(path.name)}"

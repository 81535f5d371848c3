"""Which data files a model points at: a data file belongs to every model that does."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from onnx_align_pass.cures import CURES
from onnx_align_pass.errors import BrokenModelError, DataFileSharedError, ModelError
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import data_file_names
from onnx_align_pass.paths import inode, is_one_name, owner_of, owners_that_count
from onnx_align_pass.same_files import SameFiles
from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer.kernel import let_go
from onnx_align_pass.transfer.open_source import FileIdentity
from onnx_align_pass.transfer.recover import is_staging_name

__all__ = ["Around", "References", "Sharers"]

_SMALL_BYTES: Final = 1 << 26
"""Larger files whose names do not end in `.onnx` are taken for data: they are not looked into."""

_IR_VERSION: Final = 1 << 3
"""The tag of a ModelProto's first field, a varint."""
_NO_VERSION: Final = 100
"""Far beyond the versions that there are."""


@dataclass(frozen=True, slots=True)
class Sharers:
    """Who else may need a file."""

    users: tuple[Path, ...]
    """Models that point at it."""
    unreadable: tuple[Path, ...]
    """Models that may not be read: whether they point at it is unknown."""
    broken: tuple[Path, ...]
    """Files called `.onnx` that are no models as they are, such as Git LFS pointers."""

    def doubts(self, name: str) -> tuple[str, ...]:
        """Say of which models it is not known whether they use the file of this name."""
        unknown = f"whether it uses {name} is unknown"
        return (
            *(f"{one.name} may not be read: {unknown}" for one in self.unreadable),
            *(f"{one.name} is no model as it is: {unknown}" for one in self.broken),
        )


class References:
    """Who points at what. A model is read again when its file is another one, or was changed.

    Args:
        besides: Models, in resolved folders, that are never taken for others.
    """

    def __init__(self, besides: Collection[Path] = ()) -> None:
        self._besides = frozenset(besides)
        self._of: dict[Path, tuple[FileIdentity | None, frozenset[str] | ModelError]] = {}

    def of(self, model: Path) -> frozenset[str] | ModelError:
        """Names of a model's data files, relative to its folder; or why they are not known."""
        state, known = _state(model), self._of.get(model)
        if known is not None and known[0] == state:
            return known[1]
        names: frozenset[str] | ModelError
        try:
            names = data_file_names(read_skeleton(model))
        except ModelError as error:
            names = error.as_value()
        self._of[model] = state, names
        return names

    def around(self, model: Path | None) -> Around:
        """Look at the models around once, for all of a model's files; None: for files of nobody."""
        return Around(self, self._besides, model)

    def others(self, model: Path, data: Path) -> Sharers:
        """Look for one file alone; see `Around.others`."""
        return self.around(model).others(data)


class Around:
    """The models that may point at a model's files, as they are when they are first asked for.

    Each location of theirs is looked at once, for however many files: make another to look again.

    Args:
        references: Reads the models.
        besides: Models that are never taken for others.
        model: Another one that is not: the model in question. None: each file that is asked for.
    """

    def __init__(
        self, references: References, besides: Collection[Path], model: Path | None
    ) -> None:
        self.references = references
        self._besides = besides
        self._own = None if model is None else _resolved(model)
        self._places: dict[tuple[Path, frozenset[int] | None, bool], _Place] = {}

    def others(self, data: Path) -> Sharers:
        """Find the models that point at the file `data`, by inode.

        A location leads down from its model, so the models that can name a file are in its folder
        and in those above. In a folder in which anybody may put one, such as `/tmp`, those of other
        people do not count: a stranger could forbid every run, or make each one read his models.

        Raises:
            DataFileSharedError: Nobody can say, for something cannot be looked at.
        """
        try:
            return self._others(data)
        except OSError as error:
            raise DataFileSharedError(
                f"whether other models use it is unknown: {error.strerror or error}",
                file=data,
                found=None if error.filename is None else str(error.filename),
                hint=CURES.get(error.errno or 0),
            ) from None

    def _others(self, data: Path) -> Sharers:
        users: list[Path] = []
        unreadable: list[Path] = []
        broken: list[Path] = []
        own = self._own or _resolved(data)
        exists = inode(data) is not None
        for place in _resolved(data).parents if exists else ():
            near = place == _resolved(data).parent or place.is_relative_to(own.parent)
            found = self._place(place, owners_that_count(place, data), near)
            users += sorted(found.named.owners(data))
            broken += found.broken
            if place.is_relative_to(own.parent):
                # Above the model's folder, other people's files are no reason to stop.
                unreadable += found.unreadable
        others = (
            tuple(one for one in found if not _is_own(one, own))
            for found in (users, unreadable, broken)
        )
        return Sharers(*others)

    def _place(self, folder: Path, owners: frozenset[int] | None, near: bool) -> _Place:
        key = folder, owners, near
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = self._look(*key)
        return known

    def _look(self, folder: Path, owners: frozenset[int] | None, near: bool) -> _Place:
        # Behind a folder that this user may not enter: none of his files.
        found = _Place(SameFiles(passed_over=(PermissionError,)), [], [])
        for other in _models_in(folder, owners, near=near):
            if other in self._besides or (self._own and _is_own(other, self._own)):
                continue
            names = self.references.of(other)
            if isinstance(names, frozenset):
                for name in names:
                    found.named.add(other.parent / name, other)
            elif other.suffix.lower() != ".onnx" and not _fails(other, names):
                continue  # no model, as its name says
            elif isinstance(names, BrokenModelError):
                found.broken.append(other)
            else:
                found.unreadable.append(other)
        return found


class _Place(NamedTuple):
    """What the models of one folder name."""

    named: SameFiles
    unreadable: list[Path]
    broken: list[Path]


def _resolved(path: Path) -> Path:
    """A path in its true folder; the last name may be a link's."""
    return Path(os.path.realpath(path.parent), path.name)


def _is_own(other: Path, own: Path) -> bool:
    """Whether a model is the one in question, which may be spelled otherwise."""
    if other == own:
        return True
    return alike(other.name) == alike(own.name) and is_one_name(other, own)


def _state(model: Path) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(model))
    except (OSError, ValueError):
        return None


def _fails(model: Path, why: ModelError) -> bool:
    """Whether a file that may be read is not: it, or its disk, is not what it was."""
    return not isinstance(why, BrokenModelError) and os.access(model, os.R_OK)


def _models_in(folder: Path, owners: frozenset[int] | None, *, near: bool) -> list[Path]:
    """Files that are models by their names, and small ones that may be: `m.onnx.bak`, `m.pb`.

    Near the data those count too that only begin as models do, whatever they are called.
    """
    try:
        with os.scandir(folder) as found:
            models = [Path(one.path) for one in found if _may_be_model(one, near=near)]
            return sorted(one for one in models if owners is None or owner_of(one) in owners)
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return []


def _may_be_model(entry: os.DirEntry[str], *, near: bool) -> bool:
    name = entry.name.lower()
    named = ".onnx" in name or name.endswith(".pb")
    if is_staging_name(entry.name) or not (named or near):
        return False
    try:
        if entry.is_dir():
            return False
        if name.endswith(".onnx"):
            return True
        small = entry.stat().st_size <= _SMALL_BYTES
        return small and (named or (entry.is_file() and _begins_as_model(entry.path)))
    except OSError:
        return name.endswith(".onnx")


def _begins_as_model(path: str) -> bool:
    """Whether a file begins with the version of the format, as what exporters write does."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        first = os.read(fd, 2)
    finally:
        let_go(fd)
    return len(first) == 2 and first[0] == _IR_VERSION and 0 < first[1] < _NO_VERSION

"""Where a result may be written: never over the source, never over somebody else's file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from onnx_align_pass.apart import check_apart
from onnx_align_pass.errors import (
    DataFileSharedError,
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    WriteError,
)
from onnx_align_pass.other_entries import other_entries
from onnx_align_pass.paths import is_one_name, look, same_file
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.references import Around, References
from onnx_align_pass.same_files import SameFiles
from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.recover import is_staging_name

__all__ = ["Destination", "Replacement"]

_PRUNE = "`onnx-align prune` removes it"


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a commit will find at its destination, and what it will do to it."""

    model_before: FileState | None
    data_before: dict[str, FileState | None]
    superseded: dict[str, FileState | None]
    notes: tuple[str, ...]
    kept: dict[str, FileState] = field(default_factory=dict)
    """Data files of the old model that stay for its readers."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A model file to be written, and the rules for it."""

    model: Path
    in_place: bool
    overwrite: bool
    source_is_held: bool = False
    """The source is in memory, and is pointed at the new files once they stand: they may replace
    the files that it is read from."""
    source_moves: bool = False
    """All of the source's tensors are: what it was read from may be removed too."""
    keeps_old: bool = False
    """Data files of the model that is replaced stay, for its readers; see `freshly_named`."""
    data_like: os.stat_result | None = None
    """Whose mode and owner data files get that replace none; None: those of new files."""

    @classmethod
    def of(
        cls, source: Path, destination: Path | None, *, overwrite: bool, keeps_old: bool = False
    ) -> Destination:
        """Choose the destination model; a folder means the source's name in it.

        Raises:
            DestinationError: It is a symlink in place, the source under any spelling, or exists.
            WriteError: The system does not let it be looked at.
        """
        try:
            found = cls._of(source, destination, overwrite=overwrite)
        except OSError as error:
            raise WriteError.of(error, destination or source) from None
        return replace(found, keeps_old=keeps_old)

    @classmethod
    def _of(cls, source: Path, destination: Path | None, *, overwrite: bool) -> Destination:
        if destination is None:
            _check_no_link(source, "in place is refused: the model is a symlink")
            return cls(source, in_place=True, overwrite=overwrite)
        if "\0" in str(destination):
            raise DestinationError("no file can have this name", file=destination)
        model = destination / source.name if os.path.isdir(destination) else destination
        if same_file(model, source):
            raise DestinationIsSourceError(
                "the destination is the source",
                file=model,
                hint="Choose another name, or ask for in place.",
            )
        _check_replaceable(model)
        if _exists(model) and not overwrite:
            raise DestinationExistsError(
                "the destination exists", file=model, hint="Choose another name, or force it."
            )
        return cls(model, in_place=False, overwrite=overwrite)

    @classmethod
    def of_model(
        cls, path: Path, *, force: bool, source_moves: bool = False, keeps_old: bool = False
    ) -> Destination:
        """Where a model that is in memory is saved; a model that is there is replaced.

        Args:
            path: The model file.
            force: Replace a data file too that no model claims.
            source_moves: See the field.
            keeps_old: See the field.

        Raises:
            DestinationError: No file can have this name, or a folder has it.
            WriteError: The system does not let it be looked at.
        """
        if "\0" in str(path):
            raise DestinationError("no file can have this name", file=path)
        try:
            _check_replaceable(path)
        except OSError as error:
            raise WriteError.of(error, path) from None
        return cls(
            path,
            in_place=False,
            overwrite=force,
            source_is_held=True,
            source_moves=source_moves,
            keeps_old=keeps_old,
        )

    @property
    def folder(self) -> Path:
        """The folder of the model, and of its data."""
        return self.model.parent

    def examine(self, prepared: Prepared, references: References) -> Replacement:
        """Look at everything that the plan would replace or leave behind.

        Raises:
            DestinationError: Something there must not be touched.
            WriteError: The system does not let it be looked at.
        """
        try:
            return self._examine(prepared, references)
        except OSError as error:
            raise WriteError.of(error, error.filename or self.model) from None

    def recheck(self, replacement: Replacement, references: References) -> None:
        """Prove, when nobody else can publish any more, that no model has come to use the files.

        Raises:
            DataFileSharedError: One has, since the run began.
        """
        around = references.around(self.model)
        replaced = {**replacement.data_before, **replacement.superseded}
        for name, state in replaced.items():
            if state is not None:
                self._check_sharing(self.folder / name, around)

    def _examine(self, prepared: Prepared, references: References) -> Replacement:
        claimed = self._claimed(prepared, references)
        names = [file.name for file in prepared.plan.files]
        check_apart([self.model.name, *names], self.folder)
        around = references.around(self.model)
        read = SameFiles(self._read(prepared))
        kept = SameFiles(self.folder / one for one in prepared.kept)
        old, new = _by_spelling(claimed), _by_spelling(names)
        notes: list[str] = []
        if _exists(self.model):
            self._check_not_read(self.model, read)
            notes += self._check_sharing(self.model, around)
        for name in names:
            self._check_name(name, kept)
            path = self.folder / name
            if not _exists(path):
                continue
            ours = name in claimed or self._is_respelled(name, old)
            self._check_existing(path, ours, read)
            notes += self._check_sharing(path, around, ours=ours)
        superseded: dict[str, FileState | None] = {}
        left: dict[str, FileState] = {}
        for name in sorted(claimed.difference(names, prepared.kept)):
            if self.keeps_old:
                state = FileState.of(self.folder / name)
                if state is not None:
                    left[name] = state
                    notes.append(f"{name} is left for readers of the old model: {_PRUNE}")
                continue
            if self._is_respelled(name, new):
                continue
            reason = self._kept_for(name, prepared, around, read)
            if reason is None:
                superseded[name] = FileState.of(self.folder / name)
            elif reason:
                notes.append(f"{name} is left: {reason}")
        return Replacement(
            FileState.of(self.model),
            {name: FileState.of(self.folder / name) for name in names},
            superseded,
            tuple(dict.fromkeys(notes)),
            left,
        )

    def _is_respelled(self, name: str, names: Mapping[str, list[str]]) -> bool:
        """Whether one of the names is this one, where upper and lower case are one."""
        twins = names.get(alike(name), ())
        return any(is_one_name(self.folder / one, self.folder / name) for one in twins)

    def _claimed(self, prepared: Prepared, references: References) -> frozenset[str]:
        """Data files of the model that is replaced, by plain relative names."""
        if self.in_place and not self.source_is_held:
            return prepared.homes
        if not _is_file(self.model):
            return frozenset()
        names = references.of(self.model)
        if not isinstance(names, frozenset):
            return frozenset()
        plain = (os.path.normpath(name) for name in names)
        return frozenset(n for n in plain if not n.startswith((os.pardir, "/")) and n != os.curdir)

    def _check_name(self, name: str, kept: SameFiles) -> None:
        path = self.folder / name
        if kept.owners(path):
            raise DestinationExistsError(
                "the data file is one that the model goes on pointing at",
                file=path,
                hint="Name the new data file otherwise.",
            )
        if path == self.model:
            raise DestinationError(
                "data and model would be one file", file=path, hint="Name the data file otherwise."
            )
        if any(map(is_staging_name, Path(name).parts)):
            raise DestinationError(
                "the data file's name is one of those under which runs stage their files",
                file=path,
                hint="Name the data file otherwise.",
            )
        if path.parent.is_dir() and path.parent.stat().st_dev != self.folder.stat().st_dev:
            raise DestinationError(
                "the data file would lie on another file system than the model",
                file=path,
                hint="Keep the data beside the model: name the data file otherwise.",
            )
        parent, folder = os.path.realpath(path.parent), os.path.realpath(self.folder)
        if os.path.commonpath([parent, folder]) != folder:
            raise DestinationError(
                "the data file would lie outside the model's folder",
                file=path,
                found=parent,
                hint="onnxruntime and onnx refuse such a model: keep the data beside it.",
            )

    def _check_existing(self, path: Path, claimed: bool, read: SameFiles) -> None:
        if os.path.isdir(path):
            raise DestinationExistsError(
                "the data file's name is a folder's",
                file=path,
                hint="Name the data file otherwise.",
            )
        if not self.in_place:
            self._check_not_read(path, read)
        if not claimed and path.suffix.lower() == ".onnx":
            raise DestinationExistsError(
                "the data file's name is a model's", file=path, hint="Name the data file otherwise."
            )
        if not self.overwrite and not claimed:
            raise DestinationExistsError(
                "the data file exists, and the model does not point at it",
                file=path,
                hint="Choose another data file name, or force it.",
            )
        others = [] if self.overwrite else other_entries(path, self.model)
        if others:
            raise DataFileSharedError(
                "the safetensors file holds more than this model points at",
                file=path,
                found=", ".join(others),
                hint="Write to a new destination, name the data file otherwise, or force it.",
            )

    def _check_not_read(self, path: Path, read: SameFiles) -> None:
        """Refuse to replace a file that the source is made of."""
        if self.source_is_held:
            return
        if read.owners(path):
            raise DestinationIsSourceError(
                "the destination is the source, or the source's data",
                file=path,
                hint="Choose another name or folder, or ask for in place.",
            )

    def _read(self, prepared: Prepared) -> list[Path]:
        """The files that the source is made of; in place, but for the model itself."""
        skeleton = prepared.skeleton
        data = [*(skeleton.data_path(home) for home in prepared.homes), *prepared.read]
        return data if self.in_place else [skeleton.path, *data]

    def _check_sharing(self, path: Path, around: Around, *, ours: bool = True) -> list[str]:
        """Refuse to replace a file that another model uses, or may use.

        Args:
            path: The file.
            around: Who points at what.
            ours: Whether it is the model's that is replaced: only then may it be forced.
        """
        sharers = around.others(path)
        if sharers.users:
            raise DataFileSharedError(
                "the file is the data of another model too",
                file=path,
                found=", ".join(str(user) for user in sharers.users),
                hint="Write to a new destination, or give this model a data file of its own.",
            )
        if sharers.unreadable and not (self.overwrite and ours):
            force = ", or force it" if ours else ""
            raise DataFileSharedError(
                "a model beside it may not be read: whether it uses the file is unknown",
                file=path,
                found=", ".join(str(around.references.of(model)) for model in sharers.unreadable),
                hint=f"Make it readable, write to a new destination{force}.",
            )
        return list(sharers.doubts(path.name))

    def _kept_for(
        self, name: str, prepared: Prepared, around: Around, read: SameFiles
    ) -> str | None:
        """Why a data file that the model does not need any more is left; None: it is removed.

        Empty where nobody needs to be told.
        """
        path = self.folder / name
        if os.path.islink(path):
            return f"it is a link to {os.path.realpath(path)}"
        if not _is_file(path):
            return ""
        if not (self.in_place or self.source_moves) and read.owners(path):
            held = self.source_is_held and name in prepared.homes
            return "the model in memory goes on reading from it" if held else ""
        sharers = around.others(path)
        if sharers.users:
            return f"{sharers.users[0].name} uses it"
        if unknown := (*sharers.unreadable, *sharers.broken):
            return f"whether {unknown[0].name} uses it is unknown"
        if others := other_entries(path, self.model):
            return f"it holds more than the model points at, such as {others[0]}"
        return None


def _check_replaceable(model: Path) -> None:
    """Refuse what is no model file: a folder, a link to another model, a pipe."""
    if os.path.isdir(model):
        raise DestinationExistsError(
            "the destination is a folder", file=model, hint="Name a file in it."
        )
    # Its data is its target's, which would be taken for data that nobody uses any more.
    _check_no_link(model, "the destination is a symlink")
    if _exists(model) and not _is_file(model):
        raise DestinationExistsError("the destination is not a regular file", file=model)


def _check_no_link(model: Path, problem: str) -> None:
    if os.path.islink(model):
        raise DestinationError(
            problem,
            file=model,
            found=f"its target {os.path.realpath(model)}",
            hint="Name the target itself, or a new destination.",
        )


def _by_spelling(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Names by what those have in common that may be one."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(alike(name), []).append(name)
    return found


def _exists(path: Path) -> bool:
    return look(path, follow=False) is not None


def _is_file(path: Path) -> bool:
    found = look(path)
    return found is not None and stat.S_ISREG(found.st_mode)

"""A folder of models: each repacked, every other file carried along."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.apart import check_apart
from onnx_align_pass.carry import carry, check_links, check_replaced, missing_folders, opened
from onnx_align_pass.errors import (
    DestinationError,
    DestinationExistsError,
    ModelNotFoundError,
    UnsafeDataFileError,
    WriteError,
)
from onnx_align_pass.explaining import explained
from onnx_align_pass.paths import StrPath, given_path, given_target, inode
from onnx_align_pass.recovering import recover_folder
from onnx_align_pass.references import References
from onnx_align_pass.repack import repack
from onnx_align_pass.report import AlignReport, ModelAlignment
from onnx_align_pass.run import Options
from onnx_align_pass.survey import Surveyed, survey
from onnx_align_pass.transfer.kept import is_record_name
from onnx_align_pass.transfer.recover import is_staging_name

__all__ = ["models_below", "repack_any", "repack_folder"]


def repack_any(source: StrPath, destination: StrPath | None, options: Options) -> AlignReport:
    """Repack a model, or a folder of models; paths are as people give them.

    Args:
        source: A model, or a folder of models.
        destination: The new model, or a folder for it, which one that ends with a slash is; for a
            folder of models the new folder; None: in place.
        options: What was asked for.

    Raises:
        UsageError: A path is empty.
        ModelError: A model is broken, or a destination refused.
        WriteError: Writing failed; models published before stay.
    """
    path = given_path(source, "source")
    target = None if destination is None else given_target(destination, path)
    with explained(target or path, 0):
        if os.path.isdir(path):
            return repack_folder(path, target, options)
        return AlignReport((repack(path, target, options, References()),))


def repack_folder(source: Path, target: Path | None, options: Options) -> AlignReport:
    """Repack every model below a folder, in place or into another folder.

    Every model is read and planned, and every destination looked at, before the first is written:
    what can be refused is refused while nothing has happened. Each model is published by itself.

    Raises:
        ModelError: A model is broken, or a destination refused.
        WriteError: Writing failed; models published before stay.
    """
    found = list(_files_below(source))
    models = _models_of(found, source)
    check_links(source, models)
    if target is None:
        return _in_place(models, source, options)
    return _elsewhere(found, models, source, target, options)


def models_below(folder: Path) -> list[Path]:
    """The models that a run on a folder repacks, in its order.

    Raises:
        ModelNotFoundError: There is none, or a folder below cannot be read.
        UnsafeDataFileError: A folder below is a symlink.
    """
    return _models_of(_files_below(folder), folder)


def _in_place(models: Sequence[Path], source: Path, options: Options) -> AlignReport:
    references = References()
    notes = _recover(model.parent for model in models)
    survey(models, source, None, options, references)
    return _report([repack(one, None, options, references) for one in models], notes)


def _elsewhere(
    found: Sequence[Path], models: Sequence[Path], source: Path, target: Path, options: Options
) -> AlignReport:
    references = References()
    finals = [target / path.relative_to(source) for path in found]
    folders = list(dict.fromkeys(final.parent for final in finals))
    _check_target(source, target, folders)
    notes = _recover(folders)
    planned = survey(models, source, target, options, references)
    others = _others(found, models, source, planned)
    _check_names(others, planned, target, options)
    _check_apart([*(one.name for one in planned), *_data_of(planned), *others], target)
    notes += check_replaced(others, target, found, references)
    with opened(source, others, allow_hard_links=options.allow_hard_links) as files:
        made = missing_folders(folders)
        done = [
            repack(one, target / one.relative_to(source), options, references) for one in models
        ]
        carry(others, target, files, made, progress=options.progress, durable=options.durable)
    return _report(done, notes, tuple(others))


def _files_below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in one order; not what a run is staging there."""
    for path, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = sorted(name for name in folders if not is_staging_name(name))
        for name in folders:
            _refuse_link(Path(path, name))
        yield from (Path(path, name) for name in sorted(names) if not is_record_name(name))


def _refuse_unreadable(error: OSError) -> None:
    raise ModelNotFoundError(
        f"the folder cannot be read: {error.strerror or error}",
        file=str(error.filename),
        hint="Check its permissions, or name the models one by one.",
    ) from None


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise UnsafeDataFileError(
            "a folder in the folder is a symlink",
            file=folder,
            found=f"its target {os.path.realpath(folder)}",
            hint="Put the folder itself there, or repack its target by itself.",
        )


def _models_of(found: Iterable[Path], folder: Path) -> list[Path]:
    models = [path for path in found if path.suffix.lower() == ".onnx"]
    if not models:
        raise ModelNotFoundError(
            "there is no .onnx file in the folder", file=folder, hint="Name a folder of models."
        )
    return models


def _recover(folders: Iterable[Path]) -> tuple[str, ...]:
    left = [one for folder in dict.fromkeys(folders) for one in recover_folder(folder)]
    return tuple(f"{one.path.name}: {one.outcome}: {one.reason}" for one in left)


def _check_target(source: Path, target: Path, folders: Iterable[Path]) -> None:
    if os.path.lexists(target) and not os.path.isdir(target):
        raise DestinationExistsError(
            "the destination is a file, the source a folder", file=target, hint="Name a folder."
        )
    outer = Path(os.path.realpath(source))
    if outer.is_relative_to(os.path.realpath(target)):
        raise DestinationError(
            "the destination is the source, or holds it",
            file=target,
            hint="Choose a folder elsewhere, or ask for in place.",
        )
    for folder in (target, *folders):
        if Path(os.path.realpath(folder)).is_relative_to(outer):
            raise DestinationError(
                "the destination lies in the source",
                file=folder,
                hint="Choose a folder elsewhere, or ask for in place.",
            )


def _others(
    found: Iterable[Path], models: Iterable[Path], source: Path, planned: Iterable[Surveyed]
) -> dict[str, Path]:
    """The files that are no model and no model's data, by name relative to the folder."""
    known, read = set(models), {one for model in planned for one in model.read}
    others = [path for path in found if path not in known and inode(path) not in read]
    check_links(source, others)
    return {path.relative_to(source).as_posix(): path for path in others}


def _check_names(
    others: Mapping[str, Path], planned: Iterable[Surveyed], target: Path, options: Options
) -> None:
    writers = {name: one.model for one in planned for name in one.data}
    for name in others:
        if name in writers:
            raise DestinationExistsError(
                f"a file of this name is in the folder, and {writers[name].name} does not use it",
                file=name,
                hint="Choose another data file name, or move that file away.",
            )
        if os.path.lexists(target / name) and not options.overwrite:
            raise DestinationExistsError(
                "the destination exists", file=target / name, hint="Choose another, or force it."
            )


def _data_of(planned: Iterable[Surveyed]) -> list[str]:
    return [name for one in planned for name in one.data]


def _check_apart(names: Iterable[str], target: Path) -> None:
    try:
        check_apart(names, target)
    except OSError as error:
        raise WriteError.of(error, target) from None


def _report(
    done: Sequence[ModelAlignment], notes: tuple[str, ...], carried: tuple[str, ...] = ()
) -> AlignReport:
    """The report of a run; what is to be said of the folder is said with its first model."""
    first = replace(done[0], notes=(*done[0].notes, *notes))
    return AlignReport((first, *done[1:]), carried)

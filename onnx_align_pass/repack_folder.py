"""A folder of models: each repacked, every other file carried along."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnx_align_pass.carry import carry, opened
from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DestinationError, DestinationExistsError, ModelNotFoundError
from onnx_align_pass.prepare import open_sources, prepare
from onnx_align_pass.references import References
from onnx_align_pass.repack import Options, lies_as_planned, repack
from onnx_align_pass.report import AlignReport
from onnx_align_pass.transfer.recover import is_staging_name, recover_folder

__all__ = ["repack_folder"]


def repack_folder(source: Path, target: Path | None, options: Options) -> AlignReport:
    """Repack every model below a folder, in place or into another folder.

    Every model is read and planned, and every destination looked at, before the first is written:
    what can be refused is refused while nothing has happened. Each model is published by itself.

    Raises:
        ModelError: A model is broken, or a destination refused.
        WriteError: Writing failed; models published before stay.
    """
    found = list(_files_below(source))
    models = [path for path in found if path.suffix.lower() == ".onnx"]
    if not models:
        raise ModelNotFoundError("there is no .onnx file in the folder", file=source)
    references = References()
    if target is None:
        for folder in dict.fromkeys(model.parent for model in models):
            recover_folder(folder)
        _survey(models, source, None, options, references)
        return AlignReport(tuple(repack(one, None, options, references) for one in models))
    _check_target(source, target)
    survey = _survey(models, source, target, options, references)
    others = {
        path.relative_to(source).as_posix(): path
        for path in found
        if path not in models and _inode(path) not in survey.read
    }
    _check_names(others, survey.planned, target, options)
    with opened(source, others) as files:
        done = tuple(
            repack(one, target / one.relative_to(source), options, references) for one in models
        )
        carry(others, target, files, progress=options.progress, durable=options.durable)
    return AlignReport(done, tuple(others))


def _files_below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in one order; not what a run is staging there."""
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_staging_name(name))
        yield from (Path(path) / name for name in sorted(names))


def _check_target(source: Path, target: Path) -> None:
    if os.path.lexists(target) and not os.path.isdir(target):
        raise DestinationExistsError("the destination is a file, the source a folder", file=target)
    inner, outer = Path(os.path.realpath(target)), Path(os.path.realpath(source))
    if inner.is_relative_to(outer):
        raise DestinationError(
            "the destination lies in the source",
            file=target,
            hint="Choose a folder elsewhere, or ask for in place.",
        )


@dataclass(frozen=True, slots=True)
class _Survey:
    """What the models of a folder read, and what they will write."""

    read: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode of each data file."""
    planned: dict[str, Path] = field(default_factory=dict)
    """Models by the names of their data files to be, relative to the folder."""


def _survey(
    models: Sequence[Path],
    source: Path,
    target: Path | None,
    options: Options,
    references: References,
) -> _Survey:
    survey = _Survey()
    for model in models:
        place = None if target is None else target / model.relative_to(source)
        destination = Destination.of(model, place, overwrite=options.overwrite)
        with open_sources(model) as files:
            prepared = prepare(
                model,
                files,
                options.storage,
                options.layout,
                model_name=model.name,
                in_place=target is None,
            )
            if target is not None or not lies_as_planned(prepared, files):
                destination.examine(prepared, references)
        survey.read.update(_inode(prepared.skeleton.data_path(home)) for home in prepared.homes)
        for file in prepared.plan.files:
            name = (model.parent.relative_to(source) / file.name).as_posix()
            if survey.planned.setdefault(name, model) != model and target is not None:
                raise DestinationError(
                    "two models would have one data file",
                    file=name,
                    found=f"{survey.planned[name].name} and {model.name}",
                    hint="Use {model} or {stem} in the data file's name.",
                )
    return survey


def _check_names(
    others: Mapping[str, Path], planned: Mapping[str, Path], target: Path, options: Options
) -> None:
    for name in others:
        if name in planned:
            raise DestinationExistsError(
                f"a file of this name is in the folder, and {planned[name].name} does not use it",
                file=name,
                hint="Choose another data file name, or move that file away.",
            )
        if os.path.lexists(target / name) and not options.overwrite:
            raise DestinationExistsError(
                "the destination exists", file=target / name, hint="Choose another, or force it."
            )


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino

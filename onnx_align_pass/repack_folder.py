"""A folder of models: each repacked, every other file carried along."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from onnx_align_pass.errors import (
    DestinationError,
    DestinationExistsError,
    ModelNotFoundError,
)
from onnx_align_pass.prepare import open_sources, prepare
from onnx_align_pass.references import References
from onnx_align_pass.repack import Options, repack
from onnx_align_pass.report import AlignReport
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.recover import is_staging_name
from onnx_align_pass.transfer.staging import Stage
from onnx_align_pass.write import explained

__all__ = ["repack_folder"]


def repack_folder(source: Path, target: Path | None, options: Options) -> AlignReport:
    """Repack every model below a folder, in place or into another folder.

    Every model is read and planned before the first is written, so that a broken one stops the run
    while nothing has happened. Each model is published by itself.

    Raises:
        ModelError: A model is broken, or a destination refused.
        WriteError: Writing failed; models published before stay.
    """
    found = list(_files_below(source))
    models = [path for path in found if path.suffix.lower() == ".onnx"]
    if not models:
        raise ModelNotFoundError("there is no .onnx file in the folder", file=source)
    if target is not None:
        _check_target(source, target)
    read, planned = _data_files(models, source, options)
    others = [] if target is None else [path for path in found if _inode(path) not in read]
    carry = {path.relative_to(source).as_posix(): path for path in others if path not in models}
    if target is not None:
        _check_names(carry, planned, target, options)
    references = References()
    done = tuple(
        repack(model, target and target / model.relative_to(source), options, references)
        for model in models
    )
    if target is not None:
        _carry(carry, source, target, options)
    return AlignReport(done, tuple(carry))


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


def _data_files(
    models: Sequence[Path], source: Path, options: Options
) -> tuple[set[tuple[int, int]], dict[str, Path]]:
    """Inodes of the data files that the models read, and names of those that they will have."""
    read: set[tuple[int, int]] = set()
    planned: dict[str, Path] = {}
    for model in models:
        with open_sources(model) as files:
            prepared = prepare(
                model,
                files,
                options.storage,
                options.layout,
                model_name=model.name,
                in_place=False,
            )
        read.update(_inode(prepared.skeleton.data_path(home)) for home in prepared.homes)
        for file in prepared.plan.files:
            name = (model.parent.relative_to(source) / file.name).as_posix()
            if planned.setdefault(name, model) != model:
                raise DestinationError(
                    "two models would have one data file",
                    file=name,
                    found=f"{planned[name].name} and {model.name}",
                    hint="Use {model} or {stem} in the data file's name.",
                )
    return read, planned


def _check_names(
    carry: Mapping[str, Path], planned: Mapping[str, Path], target: Path, options: Options
) -> None:
    for name in carry:
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


def _carry(carry: Mapping[str, Path], source: Path, target: Path, options: Options) -> None:
    """Copy files as they are, each published by a rename."""
    root = Path(os.path.realpath(source))
    # A hub's snapshot is made of symlinks into the blobs beside it.
    roots = (root, *(Path(os.path.realpath(path)).parent for path in carry.values() if _blob(path)))
    with SourceFiles(roots=roots, owner_uid=source.stat().st_uid) as files, Ladder() as ladder:
        for name, path in carry.items():
            final = target / name
            size = files.size(path)
            with Stage(final.parent, final.name) as stage, explained(final, size):
                staged = stage.data_path(final.name)
                fd = stage.create(staged, path.stat())
                try:
                    write_pieces(
                        fd,
                        [Piece(FileSpan(path, 0, size), 0, name)],
                        size,
                        sources=files,
                        ladder=ladder,
                        progress=options.progress,
                        durable=options.durable,
                    )
                finally:
                    os.close(fd)
                staged.replace(final)


def _blob(path: Path) -> bool:
    """Whether a file is a symlink as a hub's cache has them: `../../blobs/HASH`."""
    return path.is_symlink() and Path(os.path.realpath(path)).parent.name == "blobs"


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino

"""What a folder's models read and will write, and the refusals that follow. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onnx_align_pass.dead_bytes import check_claimed
from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DataFileSharedError, DestinationError
from onnx_align_pass.fresh_names import freshly_named
from onnx_align_pass.layout.expansion import FileRange, expansion_of, spans_written
from onnx_align_pass.paths import Inode, inode
from onnx_align_pass.pieces import check_model_size
from onnx_align_pass.prepare import open_sources, prepare
from onnx_align_pass.references import References
from onnx_align_pass.repack import lies_as_planned
from onnx_align_pass.run import Options
from onnx_align_pass.spans import FileSpan

__all__ = ["Surveyed", "survey"]

_SHARE: Final = (
    "Align them one by one with --shared-data, which stores once what they share; or --force."
)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What one model reads, and what it will write."""

    model: Path
    name: str
    """Relative to the folder."""
    data: tuple[str, ...]
    """Names of its data files to be, relative to the folder."""
    read: frozenset[Inode]
    """Its data files as they are."""
    settled: bool
    """It lies as planned where it is: nothing of it will be written."""
    copied: tuple[FileRange, ...]
    """What would be copied of files, which are known by their inodes."""


def survey(
    models: Sequence[Path],
    source: Path,
    target: Path | None,
    options: Options,
    references: References,
) -> tuple[Surveyed, ...]:
    """Read and plan every model, and look at every destination.

    Raises:
        ModelError: A model is broken, or a destination refused.
        WriteError: The system does not let a destination be looked at.
    """
    found = tuple(_look(model, source, target, options, references) for model in models)
    _check_names(found)
    if not options.overwrite:
        written = (one for model in found if not model.settled for one in model.copied)
        expansion_of(written, tied=False).check("to write, by all models", hint=_SHARE)
    if target is None and not options.keep_old_data:
        _check_readers(found)
    return found


def _look(
    model: Path, source: Path, target: Path | None, options: Options, references: References
) -> Surveyed:
    relative = model.relative_to(source)
    place = None if target is None else target / relative
    destination = Destination.of(
        model, place, overwrite=options.overwrite, keeps_old=options.keep_old_data
    )
    with open_sources(model, allow_hard_links=options.allow_hard_links) as files:
        prepared = prepare(
            model,
            files,
            options.storage,
            options.layout,
            allow_expansion=options.overwrite,
            model_name=model.name,
            in_place=target is None,
        )
        check_model_size(prepared, options.max_model_bytes)
        settled = target is None and lies_as_planned(prepared, files)
        if not settled:
            if destination.in_place and not (options.overwrite or destination.keeps_old):
                check_claimed(prepared, files)
            prepared = freshly_named(prepared, destination)
            check_model_size(prepared, options.max_model_bytes)
            destination.examine(prepared, references)
        copied = tuple(_by_inode(spans_written(prepared.requests, prepared.plan)))
    homes = (inode(prepared.skeleton.data_path(home)) for home in prepared.homes)
    return Surveyed(
        model,
        relative.as_posix(),
        tuple(_name_of(relative.parent / file.name) for file in prepared.plan.files),
        frozenset(one for one in homes if one is not None),
        settled,
        copied,
    )


def _by_inode(spans: Iterable[FileSpan]) -> Iterator[FileRange]:
    """Ranges of what the paths lead to: several models may call one file by several names."""
    known: dict[Path, Inode | None] = {}
    for path, offset, length in spans:
        if path not in known:
            known[path] = inode(path)
        yield known[path], offset, length


def _name_of(relative: Path) -> str:
    return Path(os.path.normpath(relative)).as_posix()


def _check_names(found: Sequence[Surveyed]) -> None:
    """Refuse two models that would write one file."""
    owners = {one.name: one for one in found}
    for one in found:
        for name in one.data:
            owner = owners.setdefault(name, one)
            if owner is one or (owner.settled and one.settled):
                continue
            its = "the model" if owner.name == name else "data file of"
            raise DestinationError(
                "two models would have one data file",
                file=name,
                found=f"{its} {owner.name}, and data file of {one.name}",
                hint="Use {model} or {stem} in the data file's name.",
            )


def _check_readers(found: Sequence[Surveyed]) -> None:
    """In place, refuse a data file that one model would replace while another reads it.

    Models that will have no data files replace none; what they leave goes with its last reader.
    """
    readers: dict[Inode, Surveyed] = {}
    for one in found:
        for data in one.read:
            other = readers.setdefault(data, one)
            replaced = bool(one.data or other.data) and not (other.settled and one.settled)
            if other is not one and replaced:
                raise DataFileSharedError(
                    "two models read one data file",
                    file=one.model,
                    found=f"{other.name} and {one.name}",
                    hint="Write to a new destination: there each gets a data file of its own.",
                )

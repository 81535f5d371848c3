"""The call that people make to give a model another name, or another folder."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import (
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    ModelError,
    ModelNotFoundError,
    WriteError,
)
from onnx_align_pass.explaining import explained
from onnx_align_pass.moved import stands
from onnx_align_pass.moving import Moved, move, state_of
from onnx_align_pass.paths import StrPath, given_path, is_one_name, look
from onnx_align_pass.prepare import open_sources
from onnx_align_pass.progress import PUBLISHING, SILENT, Progress
from onnx_align_pass.recovering import Leftover, recover_folder
from onnx_align_pass.references import References
from onnx_align_pass.relocation import Relocation, check_unshared, check_whole, relocation_of
from onnx_align_pass.rename_report import RenamedFile, RenameReport
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.kernel import sync_folder, sync_path
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.removal import remove_pair

__all__ = ["rename_file"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a rename was asked for; see `rename_file`."""

    source: Path
    place: Path
    """The new model file."""
    external_data: str | None
    overwrite: bool
    durable: bool
    progress: Progress
    allow_hard_links: bool


def rename_file(
    source: StrPath,
    destination: StrPath,
    *,
    external_data: str | None = None,
    overwrite: bool = False,
    durable: bool = True,
    progress: Progress = SILENT,
    allow_hard_links: bool = False,
) -> RenameReport:
    """Give a model another name, or another folder, and its data files with it.

    On one file system no weight is read or written: data files get their new names beside the old
    ones, the model that points at these is published, and then the old names go. So at every
    instant the old model is whole, or the new one, or both. The same call again finishes what a
    killed one began.

    Args:
        source: The model.
        destination: What it will be, or a folder for it.
        external_data: Name of its one data file; `{model}` and `{stem}` stand for the new model's
            name. None: names that begin with the old model's name change with it, others stay.
        overwrite: Replace a destination that exists. Never the source, nor another model's data.
        durable: Return only when the result is on the disk; False keeps the order of the steps.
        progress: Told of what has to be copied, or written.
        allow_hard_links: See `align_file`.

    Returns:
        What became of each file.

    Raises:
        UsageError: A path is empty, or `external_data` is no name for the data.
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; the old model is whole, and the new one where the error says so.
    """
    started = time.perf_counter()
    path = given_path(source, "source")
    with explained(given_path(destination, "destination"), 0):
        place = _place(path, destination)
        check_whole(path)
        of_source = recover_folder(path.parent, path.name)
        left = [*of_source, *recover_folder(place.parent, place.name)]
        if look(path, follow=False) is not None:
            asked = _Asked(
                path, place, external_data, overwrite, durable, progress, allow_hard_links
            )
            report = _rename(asked)
        else:
            report = _done_before(path, place, of_source)
    return replace(
        report,
        notes=(
            *report.notes,
            *(f"{one.path.name}: {one.outcome}: {one.reason}" for one in left),
        ),
        seconds=time.perf_counter() - started,
    )


def _place(source: Path, destination: StrPath) -> Path:
    """The new model file."""
    target = given_path(destination, "destination")
    if "\0" in str(target):
        raise DestinationError("no file can have this name", file=target)
    into = os.fspath(destination).endswith(("/", os.sep)) or os.path.isdir(target)
    place = target / source.name if into else target
    if os.path.isdir(place):
        raise DestinationExistsError(
            "the destination is a folder", file=place, hint="Name a file in it."
        )
    if is_one_name(source, place):
        raise DestinationIsSourceError(
            "the destination is the source",
            file=place,
            hint="Choose another name; where upper and lower case are one, go by a third name.",
        )
    return place


def _done_before(source: Path, place: Path, left: Iterable[Leftover]) -> RenameReport:
    """Report a rename that lacked only the removal of the old data, which is done by now."""
    there = os.path.isfile(place)
    if there and any(one.outcome == "finished" for one in left):
        return RenameReport(source, place, "renamed", place.stat().st_size, (), resumed=True)
    raise ModelNotFoundError(
        "there is no such model",
        file=source,
        found=f"one at {place}" if there else None,
        hint="Was it renamed already?" if there else None,
    )


def _rename(asked: _Asked) -> RenameReport:
    references = References()
    with open_sources(asked.source, allow_hard_links=asked.allow_hard_links) as files:
        plan = relocation_of(asked.source, asked.place, files, asked.external_data)
        notes = check_unshared(plan, references, force=asked.overwrite)
        _check_removable(plan, files)
        states = {path: state_of(files, path) for path in (asked.source, *plan.old_paths)}
        done = _published(asked, plan, files, references)
    _remove_old(asked, plan, states, references, done)
    moved = zip(plan.moves, done.data, strict=True)
    data = [RenamedFile(one.before, one.after, one.size, how) for one, how in moved]
    data += [RenamedFile(one.before, one.after, one.size, "kept") for one in plan.kept]
    return RenameReport(
        source=asked.source,
        destination=asked.place,
        how=done.model,
        model_bytes=done.states[plan.model].size,
        data_files=tuple(data),
        removed=tuple(
            name for name in done.superseded if not os.path.lexists(asked.place.parent / name)
        ),
        resumed=done.resumed,
        notes=tuple(dict.fromkeys((*done.notes, *notes))),
    )


def _check_removable(plan: Relocation, files: SourceFiles) -> None:
    """Refuse where the old names could not be removed, before there are new ones.

    Raises:
        SourceChangedError: They are gone.
        WriteError: A folder does not let its files be removed.
    """
    for folder in {path.parent for path in (plan.source, *plan.old_paths)}:
        if not os.access(folder, os.W_OK | os.X_OK):
            files.verify_unchanged()
            code = errno.EROFS if _is_read_only(folder) else errno.EACCES
            denied = OSError(code, os.strerror(code))
            raise WriteError.of(denied, folder, doing="removing what would be left there")


def _is_read_only(folder: Path) -> bool:
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _published(
    asked: _Asked, plan: Relocation, files: SourceFiles, references: References
) -> Moved:
    """Bring the new model to its place, unless a run that was killed has done that."""
    with Ladder() as ladder:
        there = {path: FileState.of(path) for path in (plan.model, *(new for _, new in plan.paths))}
        found = {path: state for path, state in there.items() if state is not None}
        if len(found) == len(there) and stands(plan, files, ladder.buffer):
            asked.progress.phase(PUBLISHING)
            if asked.durable:
                _sync([new for _, new in plan.paths] + [asked.place])
            return Moved.before(plan, found)
    return move(
        plan,
        Destination.of(asked.source, asked.place, overwrite=asked.overwrite),
        references=references,
        files=files,
        progress=asked.progress,
        durable=asked.durable,
    )


def _sync(paths: Sequence[Path]) -> None:
    """Bring to the disk what a run that was killed may have left to the kernel."""
    with explained(paths[-1], 0, reads=False):
        for path in paths:
            sync_path(path)
        _sync_folders(paths)


def _sync_folders(paths: Iterable[Path]) -> None:
    for folder in {path.parent for path in paths}:
        with suppress(FileNotFoundError):  # it held nothing but old data
            sync_folder(folder)


def _remove_old(
    asked: _Asked,
    plan: Relocation,
    states: dict[Path, FileState],
    references: References,
    new: Moved,
) -> None:
    """Remove the old names: the model's, then those of its data."""
    source = asked.source
    data = {one.before: states[old] for one, old in zip(plan.moves, plan.old_paths, strict=True)}

    def recheck() -> None:
        new.verify_standing()
        check_unshared(plan, references, force=asked.overwrite)

    try:
        with explained(source, 0, reads=False):
            remove_pair(
                source,
                states[source],
                data,
                durable=asked.durable,
                recheck=recheck,
                also_lock={path.parent for path in new.states},
            )
            if asked.durable:
                _sync_folders([source, *plan.old_paths])
    except (ModelError, WriteError) as error:
        new.verify_standing()
        both = os.path.lexists(source)
        raise WriteError(
            f"{asked.place} is in place, but removing {source.name} failed: {error.problem}",
            file=error.file,
            found=error.found,
            hint="Both are whole. Run the same command again, or remove one."
            if both
            else "Another run has moved the old one: see what is there.",
        ) from None
    left = [path for path in plan.old_paths if os.path.lexists(path)]
    if left:
        raise WriteError(
            f"{asked.place} is in place, but old data could not be removed",
            file=left[0],
            found=", ".join(str(path) for path in left),
            hint="Remove it: until then onnx may refuse the new model, whose data has two names.",
        )

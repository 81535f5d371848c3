"""Carry a plan out: stage the data files and the model, read them back if asked, publish both."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from onnx_align_pass.destination import Destination, Replacement
from onnx_align_pass.errors import WriteError
from onnx_align_pass.explaining import explained
from onnx_align_pass.model.bind import relocate
from onnx_align_pass.model.emit import Part, emit, size_of
from onnx_align_pass.paths import look
from onnx_align_pass.pieces import bind_plan, data_pieces, model_pieces
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.progress import PUBLISHING, Progress
from onnx_align_pass.references import References
from onnx_align_pass.transfer.commit import commit
from onnx_align_pass.transfer.compare import compare_pieces
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.journal import FileState, Journal
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.staging import BRIDGE, MODEL, Stage

__all__ = ["Job", "Written", "journal_of", "model_job", "stage_job", "write"]


@dataclass(frozen=True, slots=True)
class Written:
    """What was published."""

    model_bytes: int
    moved: dict[str, int]
    """Bytes by the rung that moved them."""
    data: Mapping[str, FileState] = field(default_factory=dict)
    """The data files, as they were published."""


@dataclass(frozen=True, slots=True)
class Job:
    """One staged file: what goes into it, and what it replaces."""

    path: Path
    final: Path
    pieces: Sequence[Piece]
    size: int
    like: os.stat_result | None
    """Whose mode and owner it gets; None: those of a new file."""


def write(
    prepared: Prepared,
    destination: Destination,
    replacement: Replacement,
    *,
    references: References,
    files: SourceFiles,
    ladder: Ladder,
    progress: Progress,
    durable: bool,
    verify: bool,
) -> Written:
    """Stage and publish; on any failure the old pair is whole and nothing is left behind.

    Raises:
        WriteError: Writing or publishing failed.
        ModelError: A source cannot be read, or changed meanwhile.
    """
    files.close()  # to stage takes descriptors, and so does to remove what was staged
    with Stage(destination.folder, destination.model.name) as stage, closing(files):
        jobs = _jobs(stage, prepared, destination, replacement)
        needed = sum(job.size for job in jobs)
        progress.begin(destination.model.name, needed - prepared.plan.padding_bytes)
        for job in jobs:
            with explained(job.final, needed, stage=stage):
                stage_job(stage, job, files, ladder, progress, durable=durable)
                if verify:
                    progress.phase("verifying")
                    compare_pieces(job.path, job.pieces, files, ladder.buffer)

        def recheck() -> None:
            destination.recheck(replacement, references)
            files.verify_unchanged()

        files.verify_unchanged()
        # NFS and FUSE keep a file that is open, under a hidden name, and with it its folder.
        files.close()
        progress.phase(PUBLISHING)
        with explained(destination.model, needed, reads=False, stage=stage):
            journal = journal_of(stage, destination, replacement)
            commit(
                stage,
                journal,
                durable=durable,
                recheck=recheck,
                also_lock=[(destination.folder / name).parent for name in prepared.kept],
            )
    model = next(job for job in jobs if job.path == stage.path / MODEL)
    return Written(model.size, dict(ladder.moved), journal.data_after)


def _jobs(
    stage: Stage, prepared: Prepared, destination: Destination, replacement: Replacement
) -> list[Job]:
    """Every file to stage; the model is bound and serialised here, before a byte is written."""
    plan, folder = prepared.plan, destination.folder
    model_stat = _stat(destination.model)
    # What leaves a private model in place stays as private.
    new_stat = model_stat if destination.in_place else destination.data_like
    jobs = [
        Job(
            stage.data_path(file.name),
            folder / file.name,
            pieces,
            file.size,
            _stat(folder / file.name) or new_stat,
        )
        for file, pieces in data_pieces(plan)
    ]
    bind_plan(prepared)
    parts = emit(prepared.skeleton)
    jobs.append(model_job(stage.path / MODEL, destination.model, parts, model_stat))
    if any(state is not None for state in replacement.data_before.values()):
        relocate(prepared.placed, stage.bridge_name)
        parts = emit(prepared.skeleton)
        jobs.append(model_job(stage.path / BRIDGE, destination.model, parts, model_stat))
    return jobs


def model_job(path: Path, final: Path, parts: Sequence[Part], like: os.stat_result | None) -> Job:
    """Make the job of a staged model file."""
    return Job(path, final, model_pieces(parts), size_of(parts), like)


def stage_job(
    stage: Stage,
    job: Job,
    files: SourceFiles,
    ladder: Ladder,
    progress: Progress,
    *,
    durable: bool,
) -> None:
    """Write a staged file.

    Raises:
        ModelError: A source cannot be read.
        OSError: `filename` is the source where reading it failed.
    """
    fd = _created(stage, job, files)
    try:
        write_pieces(
            fd,
            job.pieces,
            job.size,
            sources=files,
            ladder=ladder,
            progress=progress,
            durable=durable,
        )
    finally:
        os.close(fd)


def _created(stage: Stage, job: Job, files: SourceFiles) -> int:
    try:
        return stage.create(job.path, job.like)
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
    files.close()  # they are opened again when they are read
    return stage.create(job.path, job.like)


def _stat(path: Path) -> os.stat_result | None:
    """Whose mode and owner a new file gets; None where there is nothing.

    Raises:
        WriteError: It cannot be looked at: what is private must not become public.
    """
    try:
        return look(path)
    except OSError as error:
        raise WriteError.of(error, path, doing="looking at what is replaced") from None


def journal_of(stage: Stage, destination: Destination, replacement: Replacement) -> Journal:
    """Write down, as a value, what a stage whose files are complete is to replace."""
    model = FileState.of(stage.path / MODEL)
    data = {name: FileState.of(stage.data_path(name)) for name in replacement.data_before}
    assert model is not None, "it was staged"
    return Journal(
        model=destination.model.name,
        model_before=replacement.model_before,
        model_after=model,
        bridge=FileState.of(stage.path / BRIDGE),
        data_before=replacement.data_before,
        data_after={name: state for name, state in data.items() if state is not None},
        superseded=replacement.superseded,
        new_folders=(),
        kept=replacement.kept,
    )

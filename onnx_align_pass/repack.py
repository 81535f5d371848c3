"""One model from file to file: the one place that knows the order of the steps."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from onnx_align_pass.destination import Destination, Replacement
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.prepare import Prepared, open_sources, prepare
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.references import References
from onnx_align_pass.report import DataFile, ModelAlignment
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.ladder import CHUNK_BYTES, Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.recover import recover_folder
from onnx_align_pass.write import Written, write

__all__ = ["Options", "lies_as_planned", "repack"]

_SOON_WRITTEN = 1 << 30
"""Bytes; a longer copy does not keep the garbage collector waiting."""
NO_REPLACEMENT = Replacement(None, {}, {}, ())


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for; see `align_file`."""

    storage: StoragePolicy = field(default_factory=StoragePolicy)
    layout: LayoutPolicy = field(default_factory=LayoutPolicy)
    progress: Progress = SILENT
    verify: bool = False
    overwrite: bool = False
    durable: bool = True
    chunk_size: int = CHUNK_BYTES
    """Most bytes that one transfer moves."""


def repack(
    source: Path, target: Path | None, options: Options, references: References
) -> ModelAlignment:
    """Read, plan, prove, stage and publish one model.

    Args:
        source: The model.
        target: The new model or its folder; None: in place.
        options: What was asked for.
        references: What is known of the models in the folder; shared by the models of one run.

    Raises:
        ModelError: The model or the destination is refused; the destination is as it was.
        WriteError: Writing failed; the destination is as it was.
    """
    started = time.perf_counter()
    destination = Destination.of(source, target, overwrite=options.overwrite)
    leftovers = recover_folder(destination.folder, destination.model.name)
    with (
        collector_paused() as resume_collector,
        Ladder(chunk_size=options.chunk_size) as ladder,
        open_sources(source) as files,
    ):
        prepared = prepare(
            source,
            files,
            options.storage,
            options.layout,
            model_name=destination.model.name,
            in_place=destination.in_place,
        )
        replacement, written = NO_REPLACEMENT, None
        if not (destination.in_place and lies_as_planned(prepared, files)):
            replacement = destination.examine(prepared, references)
            if prepared.plan.total_bytes > _SOON_WRITTEN:
                resume_collector()
            written = write(
                prepared,
                destination,
                replacement,
                files=files,
                ladder=ladder,
                progress=options.progress,
                durable=options.durable,
                verify=options.verify,
            )
            references.forget(destination.model)
        notes = (
            *prepared.plan.notes,
            *replacement.notes,
            *(f"{one.path.name}: {one.outcome}: {one.reason}" for one in leftovers),
        )
        seconds = time.perf_counter() - started
        return _report(prepared, destination, replacement, written, notes, seconds, options.verify)


def _report(
    prepared: Prepared,
    destination: Destination,
    replacement: Replacement,
    written: Written | None,
    notes: tuple[str, ...],
    seconds: float,
    verified: bool,
) -> ModelAlignment:
    plan = prepared.plan
    return ModelAlignment(
        source=prepared.skeleton.path,
        destination=destination.model,
        data_files=tuple(DataFile(file.name, file.size) for file in plan.files),
        external_tensors=len(plan.placements),
        inline_tensors=len(plan.inline),
        tensor_bytes=plan.tensor_bytes,
        padding_bytes=plan.padding_bytes,
        model_bytes=written.model_bytes if written else prepared.skeleton.size,
        unchanged=written is None,
        removed=tuple(
            name
            for name in replacement.superseded
            if not os.path.lexists(destination.folder / name)
        ),
        verified=written is not None and verified,
        moved=written.moved if written else {},
        notes=notes,
        seconds=seconds,
    )


def lies_as_planned(prepared: Prepared, files: SourceFiles) -> bool:
    """Whether a model in place is already what the plan would make of it."""
    plan = prepared.plan
    if prepared.returned or prepared.drops_entries:
        return False
    data_path = prepared.skeleton.data_path
    return all(
        one.request.source == FileSpan(data_path(one.file), one.offset, one.length)
        for one in plan.placements
    ) and all(files.size(data_path(file.name)) == file.size for file in plan.files)

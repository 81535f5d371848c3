"""One model from file to file: the one place that knows the order of the steps."""

from __future__ import annotations

from pathlib import Path

from onnx_align_pass.dead_bytes import check_claimed
from onnx_align_pass.destination import Destination
from onnx_align_pass.fresh_names import freshly_named
from onnx_align_pass.pieces import begins_as_planned, check_model_size
from onnx_align_pass.prepare import Prepared, open_sources, prepare
from onnx_align_pass.references import References
from onnx_align_pass.report import ModelAlignment
from onnx_align_pass.run import Options, begin
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["lies_as_planned", "repack"]


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
    destination = Destination.of(
        source, target, overwrite=options.overwrite, keeps_old=options.keep_old_data
    )
    with (
        begin(destination, options, references) as run,
        open_sources(source, allow_hard_links=options.allow_hard_links) as files,
    ):
        prepared = prepare(
            source,
            files,
            options.storage,
            options.layout,
            allow_expansion=options.overwrite,
            model_name=destination.model.name,
            in_place=destination.in_place,
        )
        check_model_size(prepared, options.max_model_bytes)
        if destination.in_place and lies_as_planned(prepared, files):
            return run.leave(prepared, prepared.skeleton.size)
        if destination.in_place and not (options.overwrite or destination.keeps_old):
            check_claimed(prepared, files)
        if destination.keeps_old:
            prepared = freshly_named(prepared, destination)
            check_model_size(prepared, options.max_model_bytes)
        return run.publish(prepared, files)


def lies_as_planned(prepared: Prepared, files: SourceFiles) -> bool:
    """Whether a model in place is already what the plan would make of it.

    Raises:
        ModelError: A data file cannot be read.
    """
    plan = prepared.plan
    if prepared.returned or prepared.drops_entries:
        return False
    data_path = prepared.skeleton.data_path
    return all(
        one.request.source == FileSpan(data_path(one.file), one.offset, one.length)
        for one in plan.placements
    ) and all(
        files.size(path) == file.size and begins_as_planned(file, path, files)
        for file in plan.files
        for path in [data_path(file.name)]
    )

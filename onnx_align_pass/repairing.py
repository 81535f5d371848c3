"""The calls that people make to mend a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import ModelError
from onnx_align_pass.explaining import explained, reads_explained
from onnx_align_pass.findings import Finding
from onnx_align_pass.mending.mend import Mending, mend
from onnx_align_pass.mending.named import Given
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.paths import StrPath, given_path, given_target
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.prepare import open_sources, prepare
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.references import References
from onnx_align_pass.repair_report import RepairReport
from onnx_align_pass.run import Options, begin
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["find_repairs", "repair_file"]

KEPT = StoragePolicy(size_threshold_bytes=None)
"""Each tensor stays outside or inside, as it is."""


def find_repairs(
    source: StrPath, *, data: Given = (), allow_hard_links: bool = False
) -> RepairReport:
    """Say what `repair_file` would mend, and what it would not; nothing is written.

    Args:
        source: A model.
        data: See `repair_file`.
        allow_hard_links: See `align_file`.

    Raises:
        UsageError: A file that was named may stand for several locations, or for none.
        ModelError: The model is missing or no model at all, or a file that was named is missing.
    """
    path = given_path(source, "source")
    opened = open_sources(path, allow_hard_links=allow_hard_links)
    with reads_explained(path), opened as files:
        _, found = _mended(path, files, data)
    return RepairReport(path, found.repairs, found.remaining, notes=found.notes)


def repair_file(
    source: StrPath,
    destination: StrPath,
    *,
    data: Given = (),
    progress: Progress = SILENT,
    overwrite: bool = False,
    durable: bool = True,
    allow_hard_links: bool = False,
) -> RepairReport:
    """Write a model anew with its external data entries mended; the source is not touched.

    Mended is what has one meaning, whoever reads it: lengths that count padding (see
    `mending.lengths.Surplus` for why that is safe), offsets and lengths that are absent or not
    written plainly, keys that are unknown or given twice, checksums that are stale, and locations
    whose data file the user names. Not mended is what needs a guess: lengths and files that are too
    short, tensors that overlap, bytes that contradict dtype and shape or are given twice, damaged
    protobuf. Each weight stays inside the model or outside; the data is aligned as by `align_file`.

    Args:
        source: A model.
        destination: The new model, or a folder for it.
        data: Data files that are not where the model says, wherever they are: by location, or as
            paths, each alone or as `LOCATION=PATH`. A path alone stands for the one location whose
            file is not found, or of several for the one with the same file name.
        progress: Told of each transfer.
        overwrite: Replace a destination that exists. Never the source, nor another model's data.
            Write also what is far larger than the data that it is made from.
        durable: Return only when the result is on the disk.
        allow_hard_links: See `align_file`.

    Returns:
        What was mended. Where nothing was wrong, nothing was written.

    Raises:
        UsageError: A file that was named may stand for several locations, or for none.
        ModelError: Something is wrong that cannot be mended, and nothing was written; or the model
            or the destination is refused.
        WriteError: Writing failed; the destination is as it was.
    """
    path = given_path(source, "source")
    target = given_target(destination, path)
    options = Options(KEPT, LayoutPolicy(), progress, overwrite=overwrite, durable=durable)
    opened = open_sources(path, allow_hard_links=allow_hard_links)
    with explained(target, 0), opened as files:
        skeleton, found = _mended(path, files, data)
        if found.remaining:
            raise _refusal(found.remaining)
        if not found.repairs:
            return RepairReport(path, (), notes=found.notes)
        place = Destination.of(path, target, overwrite=overwrite)
        with begin(place, options, References()) as run:
            prepared = prepare(
                path,
                files,
                options.storage,
                options.layout,
                model_name=place.model.name,
                in_place=False,
                skeleton=skeleton,
                allow_expansion=overwrite,
            )
            written = run.publish(prepared, files)
    return RepairReport(path, found.repairs, written=written, notes=found.notes)


def _mended(path: Path, files: SourceFiles, data: Given) -> tuple[Skeleton, Mending]:
    skeleton = read_skeleton(path)
    with explained(path, 0):
        found = mend(skeleton, files, data)
        if found.remaining:
            files.verify_unchanged()
        return skeleton, found


def _refusal(remaining: Sequence[Finding]) -> ModelError:
    first, others = remaining[0].error, len(remaining) - 1
    more = f"; {others:,} more faults cannot be mended either" if others else ""
    hint = first.hint or ""
    if others:
        hint = f"{hint} To see all of them: --dry-run.".strip()
    return ModelError(
        f"{first.problem}{more}",
        tensor=first.tensor,
        file=first.file,
        needed=first.needed,
        found=first.found,
        hint=hint,
        code=first.code,
    )

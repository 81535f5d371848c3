"""From file to file through passes: load, run them, write; the way of the ir.Model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx_ir as ir

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import PassFailedError, UsageError, cause_of
from onnx_align_pass.loading import load
from onnx_align_pass.passes.tag_external import TagExternalDataPass
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.pipeline import AlignPipeline, WriteAlignedPass, built
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.recovering import recover_folder
from onnx_align_pass.registry.spec import describe_pass
from onnx_align_pass.report import AlignReport

__all__ = ["align_with_passes"]


def align_with_passes(
    source: StrPath,
    destination: StrPath | None = None,
    *,
    before: Sequence[ir.passes.PassBase | str],
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    progress: Progress = SILENT,
    verify: bool = False,
    overwrite: bool = False,
    keep_old_data: bool = False,
    durable: bool = True,
    allow_hard_links: bool = False,
) -> AlignReport:
    """Repack a model as `align_file` does, with passes run on it before.

    The model goes through an `ir.Model`: what that cannot hold is refused, not lost.

    Args:
        source: A model; not a folder.
        destination: The new model, or a folder for it; None: in place.
        before: The passes, in their order: objects, or texts as `align_pipeline` takes them.
        storage: Which tensors are external data.
        layout: How they lie in the data files.
        progress: Told of each transfer.
        verify: Read everything back and compare it before it is published.
        overwrite: Replace a destination that exists.
        keep_old_data: Where a model is replaced, write its data under a name that no file had, and
            leave the old; see `align_file`.
        durable: Return only when the result is on the disk.
        allow_hard_links: See `align_file`.

    Raises:
        UsageError: A text names no pass, or `source` is a folder.
        PassFailedError: A pass failed; nothing was written.
        LossyLoadError: The model holds what an `ir.Model` cannot.
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; both are as they were.
    """
    if os.path.isdir(source):
        raise UsageError(
            "passes run on one model, and this is a folder",
            hint="Name the .onnx file, one after the other.",
        )
    passes = [built(one) for one in before]
    file = Path.cwd() / given_path(source, "source")
    target = None if destination is None else Path.cwd() / given_path(destination, "destination")
    found = Destination.of(file, target, overwrite=overwrite, keeps_old=keep_old_data)
    place = replace(found, source_is_held=True)
    writer = _WriteTo(
        place.model,
        storage=storage or StoragePolicy(),
        layout=layout or LayoutPolicy(),
        rebind=place.in_place,
        progress=progress,
        verify=verify,
        durable=durable,
        place=place,
    )
    if place.in_place:
        recover_folder(place.folder, place.model.name)  # before its tensors are looked for
    model = load(file, allow_hard_links=allow_hard_links)
    try:
        AlignPipeline([*passes, TagExternalDataPass(writer.storage), writer])(model)
    except ir.passes.PassError as error:
        raise _failed(error, file, passes) from error
    except SystemExit as error:
        said = f"SystemExit: {error.code}"
        raise PassFailedError("a pass ended the program", file=file, found=said) from error
    assert writer.report is not None, "it ran"
    (done,) = writer.report.models
    shown = Path(source) if destination is None else Path(destination)
    if place.model.name != shown.name:
        shown /= place.model.name
    return AlignReport((replace(done, source=Path(source), destination=shown),))


@dataclass(frozen=True)
class _WriteTo(WriteAlignedPass):
    """Writes to a destination that was looked at before."""

    place: Destination | None = None

    def _destination(self) -> Destination:
        return self.place or super()._destination()


def _failed(
    error: BaseException, file: Path, passes: Sequence[ir.passes.PassBase]
) -> PassFailedError:
    """Name the pass, as it is written, and the cause."""
    wrapped = error.__cause__ if isinstance(error.__cause__, ir.passes.PassError) else error
    failed = [one for one in passes if f"'{one}' pass" in str(wrapped)]
    problem = f"the pass {describe_pass(failed[0])} failed" if failed else str(wrapped)
    written = isinstance(wrapped.__cause__, ir.passes.PostconditionError)
    hint = "What was written is not what is there now: run again." if written else None
    return PassFailedError(problem, file=file, found=cause_of(wrapped), hint=hint)

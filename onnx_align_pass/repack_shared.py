"""Several models into one folder, with data files that all share: read, planned, then published."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DestinationExistsError, ModelNotFoundError, UsageError
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.recovering import recover_folder
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options
from onnx_align_pass.shared_plan import Group, opened_group
from onnx_align_pass.shared_run import publish_group
from onnx_align_pass.spelling import alike

__all__ = ["repack_shared"]


def repack_shared(sources: Sequence[Path], folder: Path, options: Options) -> AlignReport:
    """Repack several models into one folder, with data files that all share.

    All models are read, and planned together, before the first is written. One that is there
    exactly as it would be written is left.

    Args:
        sources: The models.
        folder: Where all will be, under their names.
        options: What was asked for; the layout names the data file, and asks for `dedupe`.

    Raises:
        UsageError: Two files would have one name, or a model is not called `.onnx`.
        ModelError: A model or the destination is refused; all is as it was.
        WriteError: Writing failed; models published before stay.
    """
    started = time.perf_counter()
    _check_models(sources, folder)
    left = [one for source in sources for one in recover_folder(folder, source.name)]
    with ExitStack() as stack:
        with collector_paused():
            opened = opened_group(
                sources,
                folder,
                options.storage,
                options.layout,
                allow_hard_links=options.allow_hard_links,
                allow_expansion=options.overwrite,
            )
            group = stack.enter_context(opened)
        _check_names(group)
        done = publish_group(group, options)
    first, *others = (done[member.model] for member in group.members)
    notes = (f"{one.path.name}: {one.outcome}: {one.reason}" for one in left)
    seconds = time.perf_counter() - started - sum(one.seconds for one in others)
    return AlignReport((replace(first, notes=(*first.notes, *notes), seconds=seconds), *others))


def _check_models(sources: Sequence[Path], folder: Path) -> None:
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise DestinationExistsError(
            "the destination is a file", file=folder, hint="Name a folder for the models."
        )
    known: dict[str, Path] = {}
    for source in sources:
        if os.path.isdir(source):
            raise ModelNotFoundError(
                "it is a folder", file=source, hint="Name its models one by one, then the folder."
            )
        if source.suffix.lower() != ".onnx":
            raise UsageError(
                "the model's name does not end in .onnx",
                file=source,
                hint="By that name others see that it uses the shared data: rename it.",
            )
        if (other := known.setdefault(alike(source.name), source)) is not source:
            raise UsageError(
                "two models would have one name",
                file=folder / source.name,
                found=f"{other} and {source}",
                hint="Rename one; small and capital letters are the same on some systems.",
            )
        Destination.of(source, folder / source.name, overwrite=True)


def _check_names(group: Group) -> None:
    """Refuse a data file that has a model's name, or lies in a folder of that name."""
    models = {alike(member.model.name) for member in group.members}
    for file in group.plan.files:
        name = alike(file.name)
        if not models.isdisjoint((name, name.partition("/")[0])):
            raise UsageError(
                "the data file would have the name of a model",
                file=file.name,
                hint="Name the shared data file otherwise.",
            )

"""One ir.Model to files: the one place that knows the order of the steps on this way."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import onnx_ir as ir

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DestinationError
from onnx_align_pass.ir.callback import Callback, CallbackProgress, PublishingNoted
from onnx_align_pass.ir.collected import Collected, Decide, collect
from onnx_align_pass.ir.prepare import prepare_model
from onnx_align_pass.ir.restore import invalidate_plain, restored
from onnx_align_pass.ir.sources import open_model_sources
from onnx_align_pass.layout.names import is_location
from onnx_align_pass.passes.bind import rebind
from onnx_align_pass.references import References
from onnx_align_pass.report import ModelAlignment
from onnx_align_pass.run import Options, begin
from onnx_align_pass.standing import holds, is_published
from onnx_align_pass.transfer.ahead import Ahead

__all__ = ["Saved", "Ways", "save_model"]


@dataclass(frozen=True, slots=True)
class Ways:
    """How a model is saved, beyond what a run from file to file knows."""

    decide: Decide
    rebind: bool = False
    """Point every external tensor at its new file, not only those whose file was replaced."""
    shares: bool = False
    """Go on referencing external data where it lies."""
    ahead: Ahead | None = None
    callback: Callback | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What was done."""

    alignment: ModelAlignment
    rebound: int
    """Tensors of the model that point at other files now."""


def save_model(model: ir.Model, destination: Destination, options: Options, ways: Ways) -> Saved:
    """Collect, plan, prove, stage and publish; then point the model at what was replaced.

    Args:
        model: The model.
        destination: Where to; its path is absolute.
        options: What was asked for.
        ways: How.

    Raises:
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; both are as they were.
    """
    path, layout = destination.model, options.layout
    collected = collect(model, ways.decide)
    with begin(destination, options, References()) as run, open_model_sources(collected) as files:
        prepared = prepare_model(
            collected,
            model,
            files,
            layout,
            destination=path,
            keep_homes=destination.in_place and layout.keeps_homes,
            keeps=_Shared(path).location if ways.shares else _nowhere,
            ahead=ways.ahead,
        )
        noted = PublishingNoted(options.progress)
        if ways.callback is not None:
            noted = PublishingNoted(
                CallbackProgress(options.progress, ways.callback, prepared.plan, collected)
            )
        run = replace(run, options=replace(options, progress=noted))
        if holds(prepared, destination, files, run.ladder.buffer):
            alignment = run.leave(prepared, path.stat().st_size)
        else:
            try:
                alignment = run.publish(prepared, files)
            except BaseException:
                if noted.publishing:
                    stale = files.changed()
                    invalidate_plain(model, collected, stale)
                    # The last sync may fail when all is in place.
                    if stale and is_published(prepared, path):
                        rebind(model, restored(collected, prepared, path, stale, everything=False))
                raise
        stale = files.changed() if noted.publishing else frozenset()
        # First of all: whatever happens from here on, no tensor takes new bytes for its own.
        invalidate_plain(model, collected, stale)
        moved = restored(collected, prepared, path, stale, everything=ways.rebind)
        return Saved(alignment, rebind(model, moved) if moved else 0)


def _nowhere(one: Collected) -> None:
    """Nothing is referenced where it lies."""


class _Shared:
    """Which external tensors are referenced where they lie, and how that is written."""

    def __init__(self, path: Path) -> None:
        self._folder = Path(os.path.realpath(path.parent))

    def location(self, one: Collected) -> str | None:
        tensor = one.held.tensor
        if not one.facts.is_external or not isinstance(tensor, ir.ExternalTensor):
            return None
        file = Path.cwd() / tensor.path
        named = Path(os.path.realpath(file.parent)) / file.name
        # A link may lead out of the folder, as in a cache of the Hugging Face Hub.
        ends = (named, Path(os.path.realpath(file)))
        if not all(end.is_relative_to(self._folder) for end in ends):
            raise DestinationError(
                "a shared range would not be found from the new place",
                tensor=one.facts.slot.name,
                file=file,
                needed=f"a data file in {self._folder}",
                hint="Save the variant beside the model that it shares with, or use save.",
            )
        location = named.relative_to(self._folder).as_posix()
        if not is_location(location):
            raise DestinationError(
                "a shared data file has a name that no location may have",
                tensor=one.facts.slot.name,
                file=file,
                hint="Rename the file and repack its model, or use save.",
            )
        return location

"""One ir.Model to files: the one place that knows the order of the steps on this way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import onnx_ir as ir

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DestinationError, WriteError
from onnx_align_pass.explaining import explained
from onnx_align_pass.fresh_names import freshly_named, named_as_it_is
from onnx_align_pass.ir.callback import Callback, CallbackProgress, PublishingNoted
from onnx_align_pass.ir.collected import Collected, Decide, collect
from onnx_align_pass.ir.prepare import prepare_model
from onnx_align_pass.ir.restore import invalidate_plain, restored
from onnx_align_pass.ir.sources import open_model_sources
from onnx_align_pass.layout.names import is_location
from onnx_align_pass.passes.bind import rebind
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.references import References
from onnx_align_pass.report import ModelAlignment
from onnx_align_pass.run import Options, Run, begin
from onnx_align_pass.standing import holds, is_published
from onnx_align_pass.transfer.ahead import Ahead
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.recover import is_staging_name

__all__ = ["Saved", "Saving", "save_model"]


@dataclass(frozen=True, slots=True)
class Saving:
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


def save_model(model: ir.Model, destination: Destination, options: Options, how: Saving) -> Saved:
    """Collect, plan, prove, stage and publish; then point the model at what was replaced.

    Args:
        model: The model.
        destination: Where to; its path is absolute.
        options: What was asked for.
        how: How.

    Raises:
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; both are as they were.
    """
    path, layout, storage = destination.model, options.layout, options.storage
    with explained(path, 0), begin(destination, options, References()) as run:
        collected = collect(model, how.decide, with_feeds=storage.asks_inputs)
        with open_model_sources(collected) as files:
            prepared = prepare_model(
                collected,
                model,
                files,
                layout,
                destination=path,
                rules=storage.rules,
                keep_homes=destination.in_place and layout.keeps_homes,
                keeps=_Shared(path).location if how.shares else _nowhere,
                ahead=how.ahead,
                allow_expansion=destination.overwrite,
            )
            return _save(_Held(model, collected, prepared, files), run, how)


class _Held(NamedTuple):
    """A model in memory that is being saved."""

    model: ir.Model
    collected: Sequence[Collected]
    prepared: Prepared
    files: SourceFiles

    def follow(self, path: Path, stale: frozenset[Path], *, everything: bool) -> int:
        """Point its tensors at the files that were published."""
        moved = restored(self.collected, self.prepared, path, stale, everything=everything)
        return rebind(self.model, moved) if moved else 0

    def disown(self, stale: frozenset[Path]) -> None:
        """Let no tensor take new bytes for its own."""
        invalidate_plain(self.model, self.collected, stale)


def _save(held: _Held, run: Run, how: Saving) -> Saved:
    path, progress = run.destination.model, run.options.progress
    if how.callback is not None:
        plan = held.prepared.plan
        progress = CallbackProgress(progress, how.callback, plan, held.collected)
    noted = PublishingNoted(progress)
    run = replace(run, options=replace(run.options, progress=noted))
    as_is = held._replace(prepared=named_as_it_is(held.prepared, run.destination, run.references))
    if holds(as_is.prepared, run.destination, held.files, run.ladder.buffer):
        alignment = run.leave(as_is.prepared, path.stat().st_size)
        return Saved(alignment, as_is.follow(path, frozenset(), everything=how.rebind))
    held = held._replace(prepared=freshly_named(held.prepared, run.destination))
    try:
        alignment = run.publish(held.prepared, held.files)
    except BaseException as error:
        if noted.publishing:
            stale = held.files.changed()
            held.disown(stale)
            # The last sync may fail when all is in place. Only then: what another run has put there
            # meanwhile may look the same, and have other weights.
            if isinstance(error, WriteError) and stale and is_published(held.prepared, path):
                held.follow(path, stale, everything=False)
        raise
    stale = held.files.changed()
    held.disown(stale)  # first of all, whatever happens from here on
    return Saved(alignment, held.follow(path, stale, everything=how.rebind))


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
        if any(map(is_staging_name, named.relative_to(self._folder).parts)):
            raise DestinationError(
                "a shared range lies in the staging folder of a run that was killed, or goes on",
                tensor=one.facts.slot.name,
                file=file,
                hint="Run `onnx-align recover`, or wait, then load the model again.",
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

"""One ir.Model to files: the one place that knows the order of the steps on this way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx_ir as ir

from onnx_align_pass.callback import Callback, CallbackProgress
from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import DestinationError
from onnx_align_pass.passes.bind import rebind
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.prepare_ir import (
    Collected,
    Decide,
    collect,
    open_model_sources,
    prepare_model,
)
from onnx_align_pass.references import References
from onnx_align_pass.report import ModelAlignment
from onnx_align_pass.restore import invalidate_plain, restored
from onnx_align_pass.run import Options, begin
from onnx_align_pass.transfer.ahead import Ahead
from onnx_align_pass.write import holds

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
        if ways.callback is not None:
            run = replace(run, options=_calling_back(options, ways.callback, prepared, collected))
        if holds(prepared, destination, files, run.ladder.buffer):
            alignment = run.leave(prepared, path.stat().st_size)
        else:
            alignment = run.publish(prepared, files)
        stale = files.changed()
    moved = restored(collected, prepared, path, stale, everything=ways.rebind)
    invalidate_plain(collected, stale)
    return Saved(alignment, rebind(model, moved) if moved else 0)


def _nowhere(one: Collected) -> None:
    """Nothing is referenced where it lies."""


def _calling_back(
    options: Options, callback: Callback, prepared: Prepared, collected: Sequence[Collected]
) -> Options:
    tensors = {one.facts.slot.place: one.held.tensor for one in collected}
    known = {place: tensor for place, tensor in tensors.items() if tensor is not None}
    progress = CallbackProgress(options.progress, callback, prepared.plan, known)
    return replace(options, progress=progress)


class _Shared:
    """Which external tensors are referenced where they lie, and how that is written."""

    def __init__(self, path: Path) -> None:
        self._folder = Path(os.path.realpath(path.parent))

    def location(self, one: Collected) -> str | None:
        tensor = one.held.tensor
        if not one.facts.is_external or not isinstance(tensor, ir.ExternalTensor):
            return None
        file = Path.cwd() / tensor.path
        inside = Path(os.path.realpath(file.parent)) / file.name
        if not inside.is_relative_to(self._folder):
            raise DestinationError(
                "a shared range would not be found from the new place",
                tensor=one.facts.slot.name,
                file=file,
                needed=f"a data file in {self._folder}",
                hint="Save the variant beside the model that it shares with, or use save.",
            )
        return inside.relative_to(self._folder).as_posix()

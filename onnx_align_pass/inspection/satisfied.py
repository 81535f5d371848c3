"""Which presets a model satisfies as it is, and what is in the way of the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from onnx_align_pass.errors import AlignError
from onnx_align_pass.inspection.files import LookedAt
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.inspection.lying import kept_in, lying_in
from onnx_align_pass.inspection.report import PresetReport
from onnx_align_pass.layout.satisfy import Breach, Laid, Lying
from onnx_align_pass.layout.satisfy_names import name_breaches
from onnx_align_pass.policy import StoragePolicy
from onnx_align_pass.presets import Preset

__all__ = ["preset_reports"]

Met = tuple[str | None, int]
"""The first breach in words, and how many there are."""


def preset_reports(
    inventory: Inventory, looked: Sequence[LookedAt], presets: Iterable[Preset]
) -> Iterator[PresetReport]:
    """Hold a model against presets.

    It satisfies one when every tensor that should be external is, and all that are lie as asked;
    tensors that should be inline may be external. Nothing satisfies a preset that cannot be read.
    """
    held = _Held(inventory, looked)
    for preset in presets:
        words, count = None, 0
        for first, more in held.against(preset):
            words, count = words or first, count + more
        yield PresetReport(preset.name, words, count, preset.experimental)


class _Held:
    """A model, with what several presets ask of it alike."""

    def __init__(self, inventory: Inventory, looked: Sequence[LookedAt]) -> None:
        self._inventory = inventory
        self._model_name = inventory.skeleton.path.name
        self._headers = {one.report.name: one.header for one in looked}
        self._sizes = {
            one.report.name: one.report.nbytes for one in looked if one.report.nbytes is not None
        }
        self._inline: dict[Hashable, Met] = {}

    def against(self, preset: Preset) -> Iterator[Met]:
        yield self._unreadable
        storage = preset.storage
        key = storage, storage.external_if, storage.inline_if  # equal policies may differ in these
        if key not in self._inline:
            self._inline[key] = self._kept_in(storage)
        yield self._inline[key]
        first, count = self._laid(storage).first_breach(preset.layout)
        named = list(name_breaches(self._lying, preset.layout, self._model_name, self._headers))
        first = first or (named[0] if named else None)
        yield (None if first is None else _said(first)), count + len(named)

    @cached_property
    def _unreadable(self) -> Met:
        faults = [one.fault for one in self._inventory.entries if one.fault is not None]
        return (faults[0].sentence if faults else None), len(faults)

    @cached_property
    def _lying(self) -> list[Lying]:
        return lying_in(self._inventory)

    @cached_property
    def _without_rules(self) -> Laid:
        return Laid(self._lying, self._sizes)

    def _laid(self, storage: StoragePolicy) -> Laid:
        if not storage.rules:
            return self._without_rules
        return Laid(lying_in(self._inventory, storage), self._sizes)

    def _kept_in(self, storage: StoragePolicy) -> Met:
        """Tensors that are inline, and should not be."""
        kept = list(kept_in(self._inventory, storage))
        if not kept:
            return None, 0
        entry, facts, _ = kept[0]
        error = AlignError("it is inline", tensor=entry.slot.name, found=f"{facts.nbytes:,} bytes")
        return error.sentence, len(kept)


def _said(breach: Breach) -> str:
    file = breach.file if breach.tensor is None else None
    return AlignError(
        breach.problem, tensor=breach.tensor, file=file, needed=breach.needed, found=breach.found
    ).sentence

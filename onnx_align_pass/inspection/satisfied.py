"""Which presets a model satisfies as it is, and what is in the way of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from onnx_align_pass.errors import AlignError
from onnx_align_pass.inspection.files import LookedAt
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.inspection.lying import kept_in, lying_in
from onnx_align_pass.inspection.report import PresetReport
from onnx_align_pass.layout.satisfy import Breach, Laid, Lying
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
        self._looked = looked
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
        yield (None if first is None else _said(first)), count
        if (preset.layout.data_name or "").endswith(".safetensors"):
            yield self._as_safetensors

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

    @cached_property
    def _as_safetensors(self) -> Met:
        """Data files that are no safetensors, and tensors that are no entry of theirs."""
        found: list[AlignError] = []
        by_file: dict[str, list[Lying]] = defaultdict(list)
        for tensor in self._lying:
            by_file[tensor.file].append(tensor)
        for one in self._looked:
            name = one.report.name
            if one.header is None:
                found.append(AlignError("it is no safetensors file", file=name))
            elif one.header.problem is not None:
                found.append(AlignError(one.header.problem, file=name))
            else:
                known = {(entry.offset, entry.length) for entry in one.header.entries}
                found += [
                    AlignError("it is no entry of the file's header", tensor=lying.name, file=name)
                    for lying in by_file[name]
                    if (lying.offset, lying.nbytes) not in known
                ]
        return (found[0].sentence if found else None), len(found)


def _said(breach: Breach) -> str:
    file = breach.file if breach.tensor is None else None
    return AlignError(
        breach.problem, tensor=breach.tensor, file=file, needed=breach.needed, found=breach.found
    ).sentence

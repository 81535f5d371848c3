"""The callback of onnx_ir.save, fed from our progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

import onnx_ir as ir

from onnx_align_pass.layout.plan import LayoutPlan, Placement
from onnx_align_pass.progress import Progress

__all__ = ["Callback", "CallbackProgress"]

Callback: TypeAlias = Callable[[ir.TensorProtocol, ir.external_data.CallbackInfo], None]


class CallbackProgress:
    """Calls back once a tensor when its first bytes are written, and passes all on.

    Args:
        progress: Told everything as well.
        callback: Called in the order of writing; tied tensors right after each other.
        plan: What is written.
        tensors: The model's tensors by place.
    """

    def __init__(
        self,
        progress: Progress,
        callback: Callback,
        plan: LayoutPlan,
        tensors: Mapping[str, ir.TensorProtocol],
    ) -> None:
        self._progress = progress
        self._callback = callback
        self._tensors = tensors
        self._waiting = _in_order(plan)
        self._index = 0
        self._start = 0
        """Bytes that are written when the next tensor's turn comes."""
        self._done = 0

    def begin(self, model: str, total_bytes: int) -> None:
        """Pass on."""
        self._progress.begin(model, total_bytes)

    def phase(self, text: str) -> None:
        """Pass on."""
        self._progress.phase(text)

    def advance(self, nbytes: int, tensor: str) -> None:
        """Call back for every tensor that has begun, then pass on."""
        self._done += nbytes
        while self._index < len(self._waiting) and self._start < self._done:
            self._call(self._waiting[self._index])
        self._progress.advance(nbytes, tensor)

    def _call(self, placement: Placement) -> None:
        info = ir.external_data.CallbackInfo(
            total=len(self._waiting),
            index=self._index,
            offset=placement.offset,
            filename=placement.file,
        )
        self._index += 1
        following = self._waiting[self._index : self._index + 1]
        if not following or following[0].tied_to is None:
            self._start += placement.length
        self._callback(self._tensors[placement.request.facts.slot.place], info)


def _in_order(plan: LayoutPlan) -> Sequence[Placement]:
    """Placements as their bytes are written: file by file, by offset, tied ones after the first."""
    order = {file.name: number for number, file in enumerate(plan.files)}
    tied_last = attrgetter("tied_to")
    return sorted(
        plan.placements,
        key=lambda one: (order[one.file], one.offset, tied_last(one) is not None),
    )

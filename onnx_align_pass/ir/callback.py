"""What a run's progress tells of: onnx_ir.save's callback, and whether files change places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TypeAlias

import onnx_ir as ir

from onnx_align_pass.errors import UsageError
from onnx_align_pass.ir.collected import Collected
from onnx_align_pass.layout.plan import LayoutPlan, Placement
from onnx_align_pass.progress import PUBLISHING, Progress

__all__ = ["Callback", "CallbackProgress", "PublishingNoted"]

Callback: TypeAlias = Callable[[ir.TensorProtocol, ir.external_data.CallbackInfo], None]


class CallbackProgress:
    """Calls back once a tensor when its first bytes are written, and passes all on.

    Args:
        progress: Told everything as well.
        callback: Called in the order of writing; tied tensors right after each other.
        plan: What is written.
        collected: The model's tensors.
    """

    def __init__(
        self,
        progress: Progress,
        callback: Callback,
        plan: LayoutPlan,
        collected: Sequence[Collected],
    ) -> None:
        self._progress = progress
        self._callback = callback
        self._tensors = {one.facts.slot.place: one.held.tensor for one in collected}
        self._waiting = _in_order(plan)
        self._headers = {file.name: len(file.header) for file in plan.files}
        self._index = 0
        self._start = self._header_before(0)
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
            self._start += placement.length + self._header_before(self._index)
        tensor = self._tensors[placement.request.facts.slot.place]
        assert tensor is not None, "it is written"
        try:
            self._callback(tensor, info)
        except OSError as error:  # which would be taken for one of the files
            raise UsageError(f"the callback failed: {error}", tensor=tensor.name) from error

    def _header_before(self, index: int) -> int:
        """Bytes of the header that is written before a tensor, if it is the first of its file."""
        if index == len(self._waiting):
            return 0
        return self._headers.pop(self._waiting[index].file, 0)


class PublishingNoted:
    """Notes whether files have begun to change places, and passes all on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.publishing = False

    def begin(self, model: str, total_bytes: int) -> None:
        """Pass on."""
        self._progress.begin(model, total_bytes)

    def advance(self, nbytes: int, tensor: str) -> None:
        """Pass on."""
        self._progress.advance(nbytes, tensor)

    def phase(self, text: str) -> None:
        """Note, then pass on."""
        self.publishing = self.publishing or text == PUBLISHING
        self._progress.phase(text)


def _in_order(plan: LayoutPlan) -> Sequence[Placement]:
    """Placements as their bytes are written: file by file, by offset, tied ones after the first."""
    order = {file.name: number for number, file in enumerate(plan.files)}
    tied_last = attrgetter("tied_to")
    return sorted(
        plan.placements,
        key=lambda one: (order[one.file], one.offset, tied_last(one) is not None),
    )

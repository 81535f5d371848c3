"""The bytes of tensors that are not ranges of files: made when they are needed."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx_ir as ir

from onnx_align_pass.errors import AlignError, TensorError, cause_of
from onnx_align_pass.tensors import TensorFacts

__all__ = ["TensorBytes"]

_LITTLE: Final = ("<", "|", "=") if np.little_endian else ("<", "|")
_ARRAYS: Final = (np.ndarray, np.memmap)
"""Not those that stand for other values than lie in them, such as masked ones."""


class TensorBytes:
    """The bytes of a tensor in memory, or of a lazy one, which is dropped once they are written.

    Args:
        tensor: The tensor.
        facts: What was known of it when it was planned.
    """

    __slots__ = ("_facts", "_tensor", "length")

    def __init__(self, tensor: ir.TensorProtocol, facts: TensorFacts) -> None:
        self._tensor = tensor
        self._facts = facts
        self.length = facts.nbytes

    def load(self) -> bytes | memoryview:
        """Give the bytes, little-endian and packed; without a copy where they lie like that.

        Raises:
            TensorError: A lazy tensor cannot be made, or is not of the type and shape it promised.
        """
        try:
            made = self._made()
            data = _bytes_of(made)
        except AlignError:
            raise
        except Exception as error:  # whatever a stranger's function raises
            raise TensorError(
                "its bytes cannot be made",
                tensor=self._facts.slot.name,
                found=cause_of(error),
                hint="Nothing was written. Mend what makes the tensor, then save again.",
            ) from error
        if len(data) != self.length:
            raise TensorError(
                "its bytes contradict its element type and shape",
                tensor=self._facts.slot.name,
                needed=f"{self.length:,} bytes for {self._facts.dtype} {list(self._facts.shape)}",
                found=f"{len(data):,} bytes",
                hint="The tensor is not what it says; build it anew.",
            )
        return data

    def _made(self) -> ir.TensorProtocol:
        if not isinstance(self._tensor, ir.LazyTensor):
            return self._tensor
        # Its function itself: a lazy tensor that caches would hold on to what it made. What it
        # holds already is used.
        held: ir.TensorProtocol | None = getattr(self._tensor, "_tensor", None)
        made = self._tensor.raw() if held is None else held
        found = (made.dtype.name, tuple(made.shape))
        if found != (self._facts.dtype, self._facts.shape):
            raise TensorError(
                "the lazy tensor is not what it promised to be",
                tensor=self._facts.slot.name,
                needed=f"{self._facts.dtype} {list(self._facts.shape)}",
                found=f"{found[0]} {list(found[1])}",
                hint="Its function must give a tensor of the element type and shape it was made "
                "with.",
            )
        return made


def _bytes_of(tensor: ir.TensorProtocol) -> bytes | memoryview:
    """The bytes of a tensor; those of its array where that is laid out as they are."""
    if tensor.dtype.bitwidth >= 8:
        try:
            array = tensor.numpy()
        except Exception:  # noqa: BLE001 - torch refuses under fake mode, and gives bytes
            return tensor.tobytes()
        plain = type(array) in _ARRAYS and array.flags.c_contiguous
        if plain and array.dtype == tensor.dtype.numpy() and array.dtype.byteorder in _LITTLE:
            return array.reshape(-1).view(np.uint8).data
    return tensor.tobytes()

"""Where the bytes of an ir.Model's tensors are: ranges of files, or made when they are needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
import onnx_ir as ir

from onnx_align_pass.errors import AlignError, ExternalDataError, TensorError, UnsafeDataFileError
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorFacts

__all__ = ["TensorBytes", "span_of"]

_LITTLE: Final = ("<", "|", "=") if np.little_endian else ("<", "|")
_ARRAYS: Final = (np.ndarray, np.memmap)
"""Not those that stand for other values than lie in them, such as masked ones."""
_MAX_BYTES: Final = 2**63 - 1


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
                found=f"{type(error).__name__}: {error}",
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
        # Its function itself: a lazy tensor that caches would hold on to what it made.
        made = self._tensor.raw()
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
        array = tensor.numpy()
        plain = type(array) in _ARRAYS and array.flags.c_contiguous
        if plain and array.dtype == tensor.dtype.numpy() and array.dtype.byteorder in _LITTLE:
            return array.reshape(-1).view(np.uint8).data
    return tensor.tobytes()


def span_of(facts: TensorFacts, tensor: ir.ExternalTensor) -> FileSpan:
    """The range of a file that an external tensor is.

    Args:
        facts: The tensor's.
        tensor: Its location is relative to its base folder, and must stay in it.

    Raises:
        TensorError: The range is not as long as element type and shape need.
        ExternalDataError: It was invalidated, or its location leaves the base folder.
    """
    location = os.fspath(tensor.location)
    if not tensor.valid():
        raise ExternalDataError(
            "the external tensor was invalidated: its file has been overwritten",
            tensor=facts.slot.name,
            file=str(tensor.path),
            hint="Load the model again.",
        )
    if not location or Path(location).is_absolute() or ".." in Path(location).parts:
        raise UnsafeDataFileError(
            "its location is not a relative path inside its base folder",
            tensor=facts.slot.name,
            found=repr(location),
            hint="Give the folder as `base_dir`, and the file's name in it as location.",
        )
    offset, length = tensor.offset or 0, tensor.length or facts.nbytes
    if length != facts.nbytes:
        raise TensorError(
            "its bytes contradict its element type and shape",
            tensor=facts.slot.name,
            file=str(tensor.path),
            needed=f"{facts.nbytes:,} bytes for {facts.dtype} {list(facts.shape)}",
            found=f"length {length:,}",
        )
    if offset < 0 or offset + length > _MAX_BYTES:
        raise ExternalDataError(
            "its range is past what a file can hold",
            tensor=facts.slot.name,
            file=str(tensor.path),
            found=f"offset {offset}",
        )
    return FileSpan(Path.cwd() / tensor.path, offset, length)

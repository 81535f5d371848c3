"""Tensors whose numbers stand in typed fields, turned into the bytes of external data."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from onnx_align_pass.errors import TensorError
from onnx_align_pass.model.schema import ELEMENT_BITS
from onnx_align_pass.model.wire import WireReader
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.kernel import let_go

__all__ = ["DecodedTensor", "raw_tensor", "read_span"]

_FLOAT_BYTES = {"float_data": 4, "double_data": 8}


@dataclass(frozen=True, slots=True)
class DecodedTensor:
    """A tensor whose numbers are decoded when its bytes are needed, and dropped after."""

    name: str
    file: Path
    """The model."""
    fields: tuple[Source | bytes, ...]
    """Fields of a TensorProto as they stand in the file, tags included."""
    field_name: str
    data_type: int
    shape: tuple[int, ...]
    length: int

    def load(self) -> bytes:
        """Decode the numbers to little-endian bytes, packed as `raw_data` is.

        Raises:
            TensorError: The fields are damaged, or hold another number of elements.
        """
        tensor = self._checked()
        try:
            return self._bytes(tensor)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._damaged(error) from None

    def check(self) -> None:
        """Prove that the fields hold as many numbers as dtype and shape need, undecoded.

        Raises:
            TensorError: The fields are damaged, or hold another number of elements.
        """
        self._checked()

    def _checked(self) -> onnx.TensorProto:
        try:
            tensor = onnx.TensorProto.FromString(b"".join(map(read_span, self.fields)))
        except DecodeError as error:
            raise self._damaged(error) from None
        count = len(getattr(tensor, self.field_name))
        if count != self._needed:
            raise TensorError(
                f"its {self.field_name} contradicts its element type and shape",
                tensor=self.name,
                file=self.file,
                needed=f"{self._needed:,} numbers for shape {list(self.shape)}",
                found=f"{count:,} numbers",
                hint="The model is damaged; export it again.",
                code="wrong-size",
            )
        return tensor

    def _damaged(self, error: Exception) -> TensorError:
        return TensorError(
            f"its {self.field_name} cannot be decoded: {error}",
            tensor=self.name,
            file=self.file,
            code="bad-numbers",
        )

    @property
    def _needed(self) -> int:
        """How many numbers the field must hold; onnx itself lets some too many pass."""
        if self.field_name in _FLOAT_BYTES:
            return self.length // _FLOAT_BYTES[self.field_name]  # a complex one is two of them
        # Elements of 2 and 4 bits stand here as they stand in raw_data: a number is a byte.
        return self.length if ELEMENT_BITS[self.data_type] <= 4 else math.prod(self.shape)

    def _bytes(self, tensor: onnx.TensorProto) -> bytes:
        if self.field_name in _FLOAT_BYTES:
            return _packed(tensor, self.field_name)
        tensor.data_type = self.data_type
        tensor.ClearField("dims")
        tensor.dims.extend(self.shape)
        return bytes(numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data)


def _packed(tensor: onnx.TensorProto, field_name: str) -> bytes:
    """Bytes of one block of floats, bit by bit: through Python floats a signalling NaN is lost."""
    descriptor = onnx.TensorProto.DESCRIPTOR.fields_by_name[field_name]
    for other, _ in tensor.ListFields():
        if other.number != descriptor.number:
            tensor.ClearField(other.name)
    tensor.DiscardUnknownFields()
    size = len(getattr(tensor, field_name)) * _FLOAT_BYTES[field_name]
    # A TensorProto with this field alone: packed fields serialise as one block, at the end.
    block = tensor.SerializeToString()
    return block[len(block) - size :]


def raw_tensor(data: bytes, data_type: int, shape: Sequence[int]) -> onnx.TensorProto:
    """Make a TensorProto of little-endian bytes, elements of less than a byte packed."""
    return onnx.TensorProto(raw_data=data, data_type=data_type, dims=shape)


def read_span(span: Source | bytes) -> bytes:
    """Read a span that holds metadata or one tensor; bytes are themselves."""
    if isinstance(span, bytes):
        return span
    assert isinstance(span, FileSpan), "what was read from a model file lies in it"
    fd = os.open(span.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return WireReader(span.path, fd).read(span.offset, span.end)
    finally:
        let_go(fd)

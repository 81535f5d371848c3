"""Tensors whose numbers stand in typed fields, turned into the bytes of external data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from onnx_align_pass.errors import TensorError
from onnx_align_pass.model.wire import WireReader
from onnx_align_pass.spans import FileSpan

__all__ = ["DecodedTensor", "read_span"]

_AS_WRITTEN = frozenset({"float_data", "double_data"})


@dataclass(frozen=True, slots=True)
class DecodedTensor:
    """A tensor whose numbers are decoded when its bytes are needed, and dropped after."""

    name: str
    file: Path
    """The model."""
    fields: tuple[FileSpan | bytes, ...]
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
        try:
            tensor = onnx.TensorProto.FromString(b"".join(map(read_span, self.fields)))
            data = self._bytes(tensor)
        except (DecodeError, ValueError, TypeError, OverflowError) as error:
            raise TensorError(
                f"its {self.field_name} cannot be decoded: {error}",
                tensor=self.name,
                file=self.file,
            ) from None
        if len(data) != self.length:
            raise TensorError(
                f"its {self.field_name} contradicts its element type and shape",
                tensor=self.name,
                file=self.file,
                needed=f"{self.length:,} bytes for shape {list(self.shape)}",
                found=f"{len(data):,} bytes",
                hint="The model is damaged; export it again.",
            )
        return data

    def _bytes(self, tensor: onnx.TensorProto) -> bytes:
        if self.field_name in _AS_WRITTEN:
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
    width = 4 if field_name == "float_data" else 8
    count = len(getattr(tensor, field_name))
    # A TensorProto with this field alone: packed fields serialise as one block, at the end.
    block = tensor.SerializeToString()
    return block[len(block) - count * width :]


def read_span(span: FileSpan | bytes) -> bytes:
    """Read a span that holds metadata or one tensor; bytes are themselves."""
    if isinstance(span, bytes):
        return span
    fd = os.open(span.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return WireReader(span.path, fd).read(span.offset, span.end)
    finally:
        os.close(fd)

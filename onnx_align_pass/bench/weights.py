"""Weights with a content of their own: declared first, made one at a time, never all in memory."""

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

__all__ = ["Weight", "external_initializers", "square_weights", "weight_array", "write_densely"]


@dataclass(frozen=True, slots=True)
class Weight:
    """Name, element type and shape of one initializer."""

    name: str
    shape: tuple[int, ...]
    data_type: int = onnx.TensorProto.FLOAT
    """A value of `onnx.TensorProto.DataType`, whole bytes an element."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor, without padding."""
        dtype = onnx.helper.tensor_dtype_to_np_dtype(self.data_type)
        return math.prod(self.shape) * dtype.itemsize

    def proto(self) -> onnx.TensorProto:
        """The tensor without its data."""
        return onnx.TensorProto(name=self.name, data_type=self.data_type, dims=self.shape)


def square_weights(count: int, side: int) -> list[Weight]:
    """`count` float32 weights of `side` x `side`, to be multiplied one after the other."""
    return [Weight(f"layer.{index}.weight", (side, side)) for index in range(count)]


def weight_array(weight: Weight) -> npt.NDArray[Any]:
    """The content of a weight: decided by its name, so that no two weights are equal.

    Floats are normal with variance 1 / rows: a chain of products neither grows nor vanishes.
    """
    random = np.random.default_rng(zlib.crc32(weight.name.encode()))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(weight.data_type)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, weight.shape, dtype=dtype, endpoint=True)
    array = random.standard_normal(weight.shape, dtype=np.float32)
    array /= np.float32(math.sqrt(weight.shape[0]))
    return array.astype(dtype, copy=False)


def write_densely(path: Path, weights: Sequence[Weight], *, lead: int = 0) -> None:
    """Write the data of all weights without a gap, after `lead` bytes that belong to none."""
    with path.open("wb") as file:
        file.write(bytes(lead))
        for weight in weights:
            file.write(weight_array(weight).data)


def external_initializers(
    weights: Sequence[Weight], location: str, *, lead: int = 0
) -> Iterator[onnx.TensorProto]:
    """The initializers that find their data where `write_densely` put it."""
    offset = lead
    for weight in weights:
        tensor = weight.proto()
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entries = {"location": location, "offset": offset, "length": weight.nbytes}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
        yield tensor
        offset += weight.nbytes

"""Small models, and one that is large without filling the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

__all__ = ["DATA", "MODEL", "sparse_model", "write_model"]

MODEL = "model.onnx"
DATA = "model.onnx.data"


def write_model(folder: Path, *names: str, name: str = MODEL, inline: bool = False) -> Path:
    """Write a model with one 2,004-byte tensor for each name, dense in one data file."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = []
    data = b""
    for index, tensor_name in enumerate(names or ("first", "second")):
        array = np.full((3, 167), index + 1, np.float32)
        tensor = numpy_helper.from_array(array, tensor_name)
        if not inline:
            tensor = _external(tensor, f"{name}.data", len(data))
        data += array.tobytes()
        tensors.append(tensor)
    if not inline:
        (folder / f"{name}.data").write_bytes(data)
    return _write(folder / name, tensors)


def sparse_model(folder: Path, nbytes: int) -> Path:
    """Write a model of 4 MiB tensors whose data file is one hole."""
    folder.mkdir(parents=True, exist_ok=True)
    side = 1024
    tensors = []
    lead = 100
    for index in range(nbytes // (4 * side * side)):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[side, side])
        raw = lead + index * 4 * side * side
        tensors.append(_external(tensor, DATA, raw, length=4 * side * side))
    with (folder / DATA).open("wb") as file:
        file.truncate(lead + nbytes)
    return _write(folder / MODEL, tensors)


def _external(
    tensor: TensorProto, location: str, offset: int, *, length: int | None = None
) -> TensorProto:
    length = len(tensor.raw_data) if length is None else length
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _write(path: Path, tensors: list[TensorProto]) -> Path:
    graph = helper.make_graph([], "graph", [], [], initializer=tensors)
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path

"""Safetensors files and models that point into them, for tests."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from onnx_align_pass import LayoutPolicy
from onnx_align_pass.presets import PRESETS
from tests.corpus import oracle

__all__ = [
    "ARRAYS",
    "IN_PLACE",
    "LAYOUT",
    "assert_valid",
    "external_entries",
    "folder",
    "model_of",
    "opened",
    "pointing",
    "safetensors",
]

safetensors: Any = import_module("safetensors")  # it has no types
LAYOUT = PRESETS["safetensors"].layout
IN_PLACE = LayoutPolicy(alignment=64)
Opened = dict[str, tuple[str, list[int], bytes]]
ARRAYS: dict[str, npt.NDArray[Any]] = {
    "b": np.arange(999, dtype=np.float32).reshape(27, 37),
    "a": np.arange(1300, dtype=np.float16),
    "c": np.arange(2001, dtype=np.int8).reshape(3, 23, 29),
}


def opened(path: Path) -> Opened:
    """Dtype, shape and bytes of every entry but padding, by safetensors itself."""
    found = safetensors.deserialize(path.read_bytes())
    return {
        key: (one["dtype"], one["shape"], bytes(one["data"]))
        for key, one in found
        if not key.startswith("__pad_")
    }


def header_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    found: dict[str, Any] = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return found


def external_entries(model: Path) -> dict[str, tuple[str, int, int]]:
    return {
        place: (found["location"], int(found["offset"]), int(found["length"]))
        for place, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for found in [oracle.entries_of(tensor)]
    }


def assert_valid(model: Path, alignment: int = 64) -> None:
    """Every external tensor is an entry of a file that safetensors reads, on its boundary."""
    by_file: dict[str, list[tuple[int, int]]] = {}
    for location, offset, length in external_entries(model).values():
        by_file.setdefault(location, []).append((offset, length))
        assert offset % alignment == 0
    for location, ranges in by_file.items():
        path = model.parent / location
        content = path.read_bytes()
        entries = opened(path)
        with safetensors.safe_open(str(path), "np") as file:
            assert {key for key in file.keys() if not key.startswith("__pad_")} == set(entries)  # noqa: SIM118
        wanted = sorted(content[offset : offset + length] for offset, length in ranges)
        assert sorted(data for _, _, data in entries.values()) == wanted


def pointing(path: Path, arrays: dict[str, npt.NDArray[Any]], data: Path) -> Path:
    """A model whose initializers are the entries of a safetensors file."""
    model = model_of(arrays, path)
    proto = oracle.parse(model)
    content = data.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = header_of(data)
    for tensor in proto.graph.initializer:
        first, last = header[tensor.name]["data_offsets"]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (
            ("location", data.name),
            ("offset", start + first),
            ("length", last - first),
        ):
            tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(proto.SerializeToString())
    return path


def model_of(arrays: dict[str, npt.NDArray[Any]], path: Path) -> Path:
    """A model of these initializers, inline."""
    graph = onnx.helper.make_graph(
        [],
        "weights",
        [],
        [],
        initializer=[onnx.numpy_helper.from_array(one, name) for name, one in arrays.items()],
    )
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path

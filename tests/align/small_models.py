"""Small models with weights, built in a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["external_model", "weights_model"]


def weights_model(shapes: dict[str, tuple[int, ...]], seed: int = 0) -> onnx.ModelProto:
    """A model that gives each of its float32 weights out, plus its input."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], [f"{name}_out"]) for name in weights],
        "weights",
        [],
        [
            helper.make_tensor_value_info(f"{name}_out", onnx.TensorProto.FLOAT, weight.shape)
            for name, weight in weights.items()
        ],
        initializer=[numpy_helper.from_array(weight, name) for name, weight in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def external_model(
    path: Path, shapes: dict[str, tuple[int, ...]] | None = None, *, data: str = "", seed: int = 0
) -> Path:
    """Write such a model with its weights packed in one data file beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    model = weights_model(shapes or {"a": (33, 70), "b": (5, 1001), "c": (64, 64)}, seed)
    name = data or f"{path.name}.data"
    with (path.parent / name).open("wb") as file:
        for tensor in model.graph.initializer:
            entries = {"location": name, "offset": str(file.tell())}
            file.write(tensor.raw_data)
            entries["length"] = str(len(tensor.raw_data))
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path

"""What is on disk after a save, and what a program is, as values that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

__all__ = ["State", "entries", "loaded", "ranges", "state_of"]


def loaded(path: Path) -> onnx.ModelProto:
    """The model with its external data inline: equal for two that differ in their entries alone."""
    proto = onnx.load(path)
    for tensor in proto.graph.initializer:
        if tensor.data_location == onnx.TensorProto.DEFAULT:
            tensor.ClearField("data_location")  # onnx writes the default where it loaded
    return proto


def entries(path: Path) -> dict[str, dict[str, str]]:
    """The external data entries of the main graph's initializers, by name."""
    proto = onnx.load(path, load_external_data=False)
    return {
        tensor.name: {entry.key: entry.value for entry in tensor.external_data}
        for tensor in proto.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }


def ranges(path: Path) -> dict[str, tuple[str, int, int]]:
    """Where each external initializer lies: file, offset, length."""
    return {
        name: (one["location"], int(one["offset"]), int(one["length"]))
        for name, one in entries(path).items()
    }


@dataclass(frozen=True)
class State:
    """All of a program that a save could leave changed."""

    serialized: bytes
    tensors: tuple[tuple[str, int, str | None], ...]
    """Name, identity and own name of each initializer's tensor."""
    inputs: tuple[tuple[int, bool, bool], ...]
    """Identity of each input, and whether it says that it is an input, an initializer."""
    initializers: tuple[tuple[int, bool, bool], ...]
    containers: tuple[int, ...]


def state_of(program: Any) -> State:
    """The state of a program now."""
    graph: ir.Graph = program.model.graph
    tensors = tuple(
        (name, id(value.const_value), getattr(value.const_value, "name", None))
        for name, value in graph.initializers.items()
    )
    return State(
        serialized(program.model),
        tensors,
        tuple(marks(value) for value in graph.inputs),
        tuple(marks(value) for value in graph.initializers.values()),
        (id(program.model), id(graph), id(graph.inputs), id(graph.initializers)),
    )


def marks(value: ir.Value) -> tuple[int, bool, bool]:
    return id(value), value.is_graph_input(), value.is_initializer()


def serialized(model: ir.Model) -> bytes:
    """The structure; tensors are compared by identity, since some of them have no bytes."""
    names = [value.name or "" for graph in model.graphs() for value in graph.initializers.values()]
    nodes = [str(node) for node in model.graph.all_nodes()]
    return "\n".join([*names, *map(str, model.graph.inputs), *nodes]).encode()

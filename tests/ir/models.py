"""Models in memory and on disk, with weights that are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from onnx_align_pass.passes.collect import tensors_of

__all__ = ["contents", "hung", "on_disk", "stored_bytes", "weight", "with_weights"]

SHAPES = {"a": (33, 70), "b": (5, 1001), "c": (64, 64)}


def weight(name: str, shape: tuple[int, ...] = (64, 64)) -> npt.NDArray[np.float32]:
    """Values that depend on the name, and never repeat at another offset."""
    rng = np.random.default_rng(list(name.encode()))
    return rng.standard_normal(shape, dtype=np.float32)


def with_weights(
    tensors: dict[str, ir.TensorProtocol] | None = None, *, domain: str = "test"
) -> ir.Model:
    """A model that gives each of its initializers out as it is."""
    if tensors is None:
        tensors = {name: ir.tensor(weight(name, shape)) for name, shape in SHAPES.items()}
    values, nodes = [], []
    for name, tensor in tensors.items():
        value = ir.Value(
            name=name,
            shape=ir.Shape(tuple(tensor.shape)),  # type: ignore[arg-type]
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        values.append(value)
        node = ir.node("Identity", [value])
        output = node.outputs[0]
        output.name, output.shape, output.type = f"{name}_out", value.shape, value.type
        nodes.append(node)
    graph = ir.Graph(
        inputs=[],
        outputs=[node.outputs[0] for node in nodes],
        nodes=nodes,
        initializers=values,
        opset_imports={"": 21},
        name="g",
    )
    return ir.Model(graph, ir_version=10, domain=domain)


def on_disk(folder: Path, *, inline: bool = False, name: str = "m.onnx") -> Path:
    """Such a model as a file, its weights packed in a data file, or inside."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if inline:
        ir.save(with_weights(), path)
    else:
        ir.save(with_weights(), path, external_data=f"{name}.data")
    return path


def contents(model: ir.Model) -> dict[str, bytes]:
    """The bytes of every tensor, by place."""
    return {
        held.slot.place: held.tensor.tobytes()
        for held in tensors_of(model)
        if held.tensor is not None and held.tensor.dtype != ir.DataType.STRING
    }


def hung(model: ir.Model) -> list[tuple[str, int, int, str | None]]:
    """What hangs where, by identity: equal lists mean that nothing was replaced."""
    return [
        (held.slot.place, id(held.tensor), id(held.holder.owner), getattr(held.tensor, "name", ""))
        for held in tensors_of(model)
    ]


def stored_bytes(path: Path) -> dict[str, bytes]:
    """The bytes of every tensor of a file, read in the plain way, by place."""
    from tests.corpus import oracle

    return {place: tensor.raw for place, tensor in oracle.tensors(path).items()}

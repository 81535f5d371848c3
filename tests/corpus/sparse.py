"""Cases: sparse tensors and training graphs, inline and external."""

from __future__ import annotations

import struct
from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, SparseTensorProto, TensorProto, helper

from .build import FLOAT, empty_graph, external, model_of, show, showing, tensor, write
from .case import CaseBook
from .places import four_tensors

__all__ = ["CASES"]

CASES = CaseBook()

DENSE = [40, 50]
COUNT = 500
"""Non-zeros: 2,000 bytes of values, 4,000 or 8,000 bytes of indices."""


def indices(name: str, count: int, *, linear: bool) -> TensorProto:
    """Every fourth position of the dense tensor, as one number or as a pair."""
    places = range(0, 4 * count, 4)
    if linear:
        raw, dims = struct.pack(f"<{count}q", *places), [count]
    else:
        pairs = [part for place in places for part in divmod(place, DENSE[1])]
        raw, dims = struct.pack(f"<{2 * count}q", *pairs), [count, 2]
    return TensorProto(name=name, data_type=TensorProto.INT64, dims=dims, raw_data=raw)


def sparse(
    name: str, *, folder: Path | None = None, linear: bool = True, count: int = COUNT
) -> SparseTensorProto:
    """A sparse tensor of shape DENSE; external when it is given a folder."""
    values, places = tensor(name, [count]), indices(f"{name}.indices", count, linear=linear)
    if folder is not None:
        values, places = external(values, folder), external(places, folder)
    return helper.make_sparse_tensor(values, places, DENSE)


def sparse_graph(tensors: list[SparseTensorProto]) -> GraphProto:
    """A graph of these sparse initializers, each of them shown densely."""
    graph = empty_graph()
    graph.sparse_initializer.extend(tensors)
    for each in tensors:
        show(graph, each.values.name, DENSE)
    return graph


@CASES.add()
def sparse_inline(folder: Path) -> Path:
    """Sparse initializers, inline: large and small, both kinds of indices."""
    tensors = [sparse("a"), sparse("b", linear=False), sparse("c", count=3)]
    return write(folder, sparse_graph(tensors))


@CASES.add(checker=False)
def sparse_external(folder: Path) -> Path:
    """Sparse initializers, external: the checker wants to read the indices, and cannot."""
    tensors = [
        sparse("a", folder=folder),
        sparse("b", folder=folder, linear=False),
        sparse("c", folder=folder, count=3),
    ]
    return write(folder, sparse_graph(tensors))


@CASES.add(checker=False)
def sparse_half_external(folder: Path) -> Path:
    """A sparse initializer with external values and inline indices, and the other way round."""
    first, second = sparse("a"), sparse("b")
    first.values.CopyFrom(external(first.values, folder))
    second.indices.CopyFrom(external(second.indices, folder))
    return write(folder, sparse_graph([first, second]))


@CASES.add()
def sparse_external_values(folder: Path) -> Path:
    """Sparse initializers with external values alone, which the checker accepts."""
    tensors = [sparse("a"), sparse("b", linear=False), sparse("c", count=3)]
    for each in tensors:
        each.values.CopyFrom(external(each.values, folder))
    return write(folder, sparse_graph(tensors))


@CASES.add(checker=False)
def sparse_constants(folder: Path) -> Path:
    """Constant nodes with a `sparse_value`, inline and external."""
    graph = empty_graph()
    for name, where in (("inline", None), ("external", folder)):
        value = sparse(name, folder=where)
        graph.node.append(helper.make_node("Constant", [], [name], sparse_value=value))
        show(graph, name, DENSE)
    return write(folder, graph)


@CASES.add(runs=False, checker=False)
def sparse_tensors_attribute(folder: Path) -> Path:
    """A custom node with a `sparse_tensors` attribute."""
    attribute = AttributeProto(name="many", type=AttributeProto.SPARSE_TENSORS)
    attribute.sparse_tensors.extend([sparse("a"), sparse("b", folder=folder)])
    node = helper.make_node("Odd", [], ["odd"], domain="odd.custom")
    node.attribute.append(attribute)
    graph = empty_graph([node])
    graph.output.append(helper.make_tensor_value_info("odd", FLOAT, [1]))
    return write(folder, graph)


def training(folder: Path, *, outside: bool) -> ModelProto:
    """A model with two training infos; their graphs hold initializers and Constants."""
    model = model_of(showing(four_tensors(folder, "w")))
    for step in range(2):
        info = model.training_info.add()
        for graph, name in ((info.initialization, "start"), (info.algorithm, "step")):
            held = tensor(f"{name}_{step}", [300])
            graph.CopyFrom(showing([external(held, folder) if outside else held]))
            graph.name = name
            constant = tensor(f"{name}_{step}.constant", [400])
            value = external(constant, folder) if outside else constant
            graph.node.append(helper.make_node("Constant", [], ["unused"], value=value))
    return model


@CASES.add()
def training_inline(folder: Path) -> Path:
    """Training information whose graphs hold inline tensors."""
    return write(folder, training(folder, outside=False))


@CASES.add()
def training_external(folder: Path) -> Path:
    """Training information whose graphs hold external tensors: onnx.load leaves them external."""
    return write(folder, training(folder, outside=True))

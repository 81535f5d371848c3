"""Cases: graphs and models encoded by hand in ways that protobuf reads but does not write."""

from __future__ import annotations

from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto, helper

from .build import FLOAT, empty_graph, external, model_of, show, showing, tensor, write
from .case import CaseBook
from .places import four_tensors
from .wire import block, group, unknown, varint_field
from .wire_tensors import SIZES, head, model_bytes, raw

__all__ = ["CASES"]

CASES = CaseBook()


def parts(graph: GraphProto) -> tuple[GraphProto, GraphProto]:
    """The graph without its initializers, and only they: merged, they are the graph."""
    bare, rest = GraphProto(), GraphProto()
    bare.CopyFrom(graph)
    bare.ClearField("initializer")
    rest.initializer.extend(graph.initializer)
    return bare, rest


def header() -> bytes:
    """A model without a graph."""
    model = model_of(GraphProto())
    model.ClearField("graph")
    return bytes(model.SerializeToString())


@CASES.add()
def wire_graph_in_two_parts(folder: Path) -> Path:
    """The graph field twice, with the model's other fields between: messages merge."""
    bare, rest = parts(showing(four_tensors(folder, "w")))
    first, second = rest.SerializeToString(), bare.SerializeToString()
    return write(folder, block(7, first) + header() + block(7, second))


@CASES.add()
def wire_initializers_first(folder: Path) -> Path:
    """Initializers before the nodes, the graph before the header."""
    bare, rest = parts(showing(four_tensors(folder, "w")))
    body = rest.SerializeToString() + bare.SerializeToString()
    return write(folder, block(7, body) + header())


@CASES.add()
def wire_wide_lengths(folder: Path) -> Path:
    """Lengths and tags of the graph and its initializers in five bytes."""
    bare, rest = parts(showing(four_tensors(folder, "w")))
    body = bare.SerializeToString()
    for initializer in rest.initializer:
        body += block(5, initializer.SerializeToString(), width=5, tag_width=5)
    return write(folder, header() + block(7, body, width=5, tag_width=5))


@CASES.add()
def wire_unknown_groups(folder: Path) -> Path:
    """Unknown groups in the model and the graph; inside them, numbers of known fields."""
    bare, rest = parts(showing(four_tensors(folder, "w")))
    decoy = block(7, b"\xff" * 40) + block(5, tensor("decoy", [400]).SerializeToString())
    body = group(19_000, decoy) + bare.SerializeToString() + group(3, decoy)
    body += rest.SerializeToString() + unknown()
    return write(folder, group(19_000, decoy) + header() + block(7, body) + unknown())


@CASES.add()
def wire_nested_groups(folder: Path) -> Path:
    """Groups a hundred deep in the model: the most that protobuf reads."""
    nest = varint_field(1, 1)
    for _ in range(99):
        nest = group(19_000, nest)
    model = model_of(showing(four_tensors(folder, "w"))).SerializeToString()
    return write(folder, nest + model)


def constant_node(name: str, attribute: bytes) -> bytes:
    """A Constant node with a hand-made attribute, as a field of a graph."""
    node = helper.make_node("Constant", [], [name]).SerializeToString()
    head_of = block(1, b"value") + varint_field(20, 4)
    return block(1, node + block(5, head_of + attribute))


@CASES.add()
def wire_attribute_raw_data_merged(folder: Path) -> Path:
    """An attribute's `t` twice: the second raw_data wins, dims and dtype come from the first."""
    graph, body = GraphProto(), b""
    for name, count in SIZES.items():
        first = head(name, count) + block(9, raw("other", count))
        body += constant_node(name, block(5, first) + block(5, block(9, raw(name, count))))
        show(graph, name, [count])
    return write(folder, model_bytes(GraphProto(name="graph"), body + graph.SerializeToString()))


@CASES.add()
def wire_attribute_float_data_merged(folder: Path) -> Path:
    """An attribute's `t` twice, float_data in each: they concatenate."""
    graph, body = GraphProto(), b""
    for name, count in SIZES.items():
        data, cut = raw(name, count), 4 * (count // 3)
        first = head(name, count) + block(4, data[:cut])
        body += constant_node(name, block(5, first) + block(5, block(4, data[cut:])))
        show(graph, name, [count])
    return write(folder, model_bytes(GraphProto(name="graph"), body + graph.SerializeToString()))


@CASES.add()
def wire_attribute_dims_merged(folder: Path) -> Path:
    """An attribute's `t` twice, dims in each: [count] and [1] make [count, 1]."""
    graph, body = GraphProto(), b""
    for name, count in SIZES.items():
        first = head(name, count) + block(9, raw(name, count))
        body += constant_node(name, block(5, first) + block(5, varint_field(1, 1)))
        show(graph, name, [count, 1])
    return write(folder, model_bytes(GraphProto(name="graph"), body + graph.SerializeToString()))


@CASES.add()
def wire_attribute_external_merged(folder: Path) -> Path:
    """An attribute's `t` twice: location in the first, offset and length in the second."""
    graph, body = GraphProto(), b""
    for name, count in SIZES.items():
        whole = external(tensor(name, [count]), folder)
        entries = whole.external_data
        first, second = type(whole)(), type(whole)()
        first.CopyFrom(whole)
        del first.external_data[1:]
        first.ClearField("data_location")
        second.external_data.extend(entries[1:])
        second.data_location = whole.data_location
        halves = block(5, first.SerializeToString()) + block(5, second.SerializeToString())
        body += constant_node(name, halves)
        show(graph, name, [count])
    return write(folder, model_bytes(GraphProto(name="graph"), body + graph.SerializeToString()))


@CASES.add()
def wire_subgraph_merged(folder: Path) -> Path:
    """An attribute's `g` twice: a branch's nodes in one, its initializers in the other."""
    bare, rest = parts(showing(four_tensors(folder, "w")))
    del bare.output[1:], bare.node[1:]
    node = NodeProto(op_type="If", input=["condition"], output=["chosen"])
    encoded = node.SerializeToString()
    for name in (b"then_branch", b"else_branch"):
        halves = block(6, rest.SerializeToString()) + block(6, bare.SerializeToString())
        encoded += block(5, block(1, name) + varint_field(20, 5) + halves)
    graph = empty_graph()
    graph.input.append(helper.make_tensor_value_info("condition", 9, []))
    show(graph, "chosen", [17, 19])
    body = block(1, encoded) + graph.SerializeToString()
    return write(folder, model_bytes(GraphProto(name="graph"), body))


@CASES.add()
def wire_empty_parts(folder: Path) -> Path:
    """Empty occurrences of messages, and an unknown block larger than every weight."""
    model = model_of(showing(four_tensors(folder, "w"))).SerializeToString()
    content = block(7, b"") + model + block(7, b"") + block(19_902, b"\x2a" * 100_000)
    assert ModelProto.FromString(content).graph.initializer[0].data_type == FLOAT
    return write(folder, content)

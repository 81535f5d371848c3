"""Cases: tensors in node attributes and in function bodies, inline and external."""

from __future__ import annotations

from pathlib import Path

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
)

from .build import FLOAT, empty_graph, external, model_of, show, tensor, write
from .case import CaseBook
from .places import branch, four_tensors, if_graph, plain_branch

__all__ = ["CASES"]

CASES = CaseBook()


def constants(tensors: list[TensorProto]) -> list[NodeProto]:
    """One Constant node for each tensor; its output has the tensor's name."""
    return [helper.make_node("Constant", [], [t.name], value=t) for t in tensors]


def constant_branch(name: str, tensors: list[TensorProto]) -> GraphProto:
    """A branch of If whose tensors are Constants."""
    graph = branch(name, tensors)
    kept = list(graph.node)
    del graph.node[:]
    graph.node.extend([*constants(tensors), *kept])
    one = graph.initializer[-1]
    del graph.initializer[:]
    graph.initializer.append(one)
    return graph


@CASES.add()
def constant_nodes(folder: Path) -> Path:
    """Constant nodes of the main graph."""
    tensors = four_tensors(folder, "constant")
    graph = empty_graph(constants(tensors))
    for value in tensors:
        show(graph, value.name, list(value.dims))
    return write(folder, graph)


@CASES.add()
def constant_nodes_in_subgraphs(folder: Path) -> Path:
    """Constant nodes of both branches of an If."""
    yes = constant_branch("then", four_tensors(folder, "then"))
    no = constant_branch("else", four_tensors(folder, "else"))
    return write(folder, if_graph(yes, no, 4))


def custom_graph(node: NodeProto) -> GraphProto:
    """A graph of one node that no runtime knows."""
    graph = empty_graph([node])
    graph.output.append(helper.make_tensor_value_info(node.output[0], FLOAT, [1]))
    return graph


def custom_node(*attributes: AttributeProto) -> NodeProto:
    """A node of a custom domain with these attributes."""
    node = helper.make_node("Odd", [], ["odd"], domain="odd.custom")
    node.attribute.extend(attributes)
    return node


@CASES.add(runs=False)
def tensors_attribute(folder: Path) -> Path:
    """A custom node with a `tensors` attribute and a `t` attribute."""
    many = AttributeProto(name="many", type=AttributeProto.TENSORS)
    many.tensors.extend(four_tensors(folder, "many"))
    one = AttributeProto(name="one", type=AttributeProto.TENSOR)
    one.t.CopyFrom(external(tensor("one", [300]), folder))
    return write(folder, custom_graph(custom_node(many, one)))


@CASES.add(runs=False)
def graphs_attribute(folder: Path) -> Path:
    """A custom node with a `graphs` attribute whose graphs hold initializers."""
    graphs = AttributeProto(name="graphs", type=AttributeProto.GRAPHS)
    for name in ("first", "second"):
        graphs.graphs.append(branch(name, four_tensors(folder, name)))
    return write(folder, custom_graph(custom_node(graphs)))


def function_of(nodes: list[NodeProto], output: str) -> FunctionProto:
    """A function without inputs that returns `output`."""
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_function("odd.custom", "Odd", [], [output], nodes, opsets)


def calling(function: FunctionProto, count: int) -> ModelProto:
    """A model that calls the function once and returns its `count` numbers."""
    graph = empty_graph([helper.make_node("Odd", [], ["called"], domain="odd.custom")])
    show(graph, "called", [count])
    model = model_of(graph)
    model.functions.append(function)
    return model


@CASES.add()
def function_constants(folder: Path) -> Path:
    """Constant nodes of a function body."""
    nodes = list(constant_branch("sums", four_tensors(folder, "f")).node)
    one = helper.make_tensor("sums.one", TensorProto.INT64, [1], [1])
    return write(folder, calling(function_of([*constants([one]), *nodes], "sums"), 4))


@CASES.add()
def function_subgraph_initializers(folder: Path) -> Path:
    """Inline initializers of an If inside a function body."""
    return write(folder, function_with_if(four_tensors(folder, "f")[::2]))


@CASES.add()
def function_subgraph_external_initializers(folder: Path) -> Path:
    """External initializers of an If inside a function body: onnx.load leaves them external."""
    return write(folder, function_with_if(four_tensors(folder, "f")))


def function_with_if(tensors: list[TensorProto]) -> ModelProto:
    """A model whose function holds an If; its branch holds the tensors as initializers."""
    yes = branch("then", tensors)
    no = plain_branch("else", len(tensors))
    true = helper.make_tensor("true", TensorProto.BOOL, [], [True])
    chosen = helper.make_node("If", ["true"], ["chosen"], then_branch=yes, else_branch=no)
    return calling(function_of([*constants([true]), chosen], "chosen"), len(tensors))


@CASES.add()
def function_attribute_default(folder: Path) -> Path:
    """A tensor as the default value of a function's attribute (`attribute_proto`)."""
    reference = helper.make_node("Constant", [], ["value"])
    reference.attribute.add(name="value", ref_attr_name="weight", type=AttributeProto.TENSOR)
    function = function_of([reference], "value")
    default = function.attribute_proto.add(name="weight", type=AttributeProto.TENSOR)
    default.t.CopyFrom(external(tensor("default", [300]), folder))
    return write(folder, calling(function, 300))

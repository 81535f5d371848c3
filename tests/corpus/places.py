"""Cases: tensors in every place of the main graph and its subgraphs, inline and external."""

from __future__ import annotations

from pathlib import Path

from onnx import GraphProto, TensorProto, helper

from .build import FLOAT, empty_graph, external, numbers, show, showing, tensor, write
from .case import CaseBook

__all__ = ["CASES", "branch", "four_tensors", "if_graph", "plain_branch"]

CASES = CaseBook()

LARGE = [17, 19]
"""1,292 bytes of float32."""
SMALL = [3, 5]
"""60 bytes of float32."""


def four_tensors(folder: Path, prefix: str) -> list[TensorProto]:
    """Large and small, inline and external."""
    return [
        tensor(f"{prefix}.large", LARGE),
        external(tensor(f"{prefix}.large.external", LARGE), folder),
        tensor(f"{prefix}.small", SMALL),
        external(tensor(f"{prefix}.small.external", SMALL), folder),
    ]


@CASES.add()
def mixed(folder: Path) -> Path:
    """Inline and external initializers side by side."""
    return write(folder, showing(four_tensors(folder, "w")))


@CASES.add()
def all_inline(folder: Path) -> Path:
    """No external tensor and no data file."""
    return write(folder, showing([tensor("large", [64, 64]), tensor("small", SMALL)]))


@CASES.add()
def no_tensors(folder: Path) -> Path:
    """A graph without a single tensor."""
    graph = empty_graph()
    graph.input.append(helper.make_tensor_value_info("x", FLOAT, ["n", 3]))
    show(graph, "x", ["n", 3])
    return write(folder, graph)


@CASES.add()
def initializers_that_are_inputs(folder: Path) -> Path:
    """Initializers that are graph inputs too: defaults that a caller may override."""
    graph = showing(four_tensors(folder, "w"))
    for initializer in graph.initializer:
        graph.input.append(
            helper.make_tensor_value_info(initializer.name, FLOAT, list(initializer.dims))
        )
    return write(folder, graph)


def branch(name: str, tensors: list[TensorProto]) -> GraphProto:
    """A branch of If: the sums of the tensors, concatenated."""
    nodes = [
        helper.make_node("ReduceSum", [t.name], [f"{t.name}.sum"], keepdims=1) for t in tensors
    ]
    flat = [
        helper.make_node("Reshape", [f"{t.name}.sum", f"{name}.one"], [f"{t.name}.flat"])
        for t in tensors
    ]
    join = helper.make_node("Concat", [f"{t.name}.flat" for t in tensors], [name], axis=0)
    one = helper.make_tensor(f"{name}.one", TensorProto.INT64, [1], [1])
    output = helper.make_tensor_value_info(name, FLOAT, [len(tensors)])
    return helper.make_graph([*nodes, *flat, join], name, [], [output], [*tensors, one])


def if_graph(then_branch: GraphProto, else_branch: GraphProto, count: int) -> GraphProto:
    """A graph that takes `condition` and returns one branch's output of `count` numbers."""
    node = helper.make_node(
        "If", ["condition"], ["chosen"], then_branch=then_branch, else_branch=else_branch
    )
    condition = helper.make_tensor_value_info("condition", TensorProto.BOOL, [])
    chosen = helper.make_tensor_value_info("chosen", FLOAT, [count])
    return helper.make_graph([node], "graph", [condition], [chosen])


@CASES.add()
def if_branches(folder: Path) -> Path:
    """Initializers of both branches of an If."""
    then_branch = branch("then", four_tensors(folder, "then"))
    return write(folder, if_graph(then_branch, branch("else", four_tensors(folder, "else")), 4))


def body(tensors: list[TensorProto], ins: int, prefix_outputs: list[str]) -> GraphProto:
    """A loop's body: adds every tensor to its last state; `ins` counts the inputs before it."""
    kinds = [TensorProto.INT64, TensorProto.BOOL][:ins]
    inputs = [helper.make_tensor_value_info(f"in_{i}", kind, []) for i, kind in enumerate(kinds)]
    inputs.append(helper.make_tensor_value_info("state", FLOAT, LARGE))
    nodes = [helper.make_node("Identity", ["in_1"], [name]) for name in prefix_outputs]
    last = "state"
    for index, term in enumerate(tensors):
        nodes.append(helper.make_node("Add", [last, term.name], [f"sum_{index}"]))
        last = f"sum_{index}"
    outputs = [helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in prefix_outputs]
    outputs.append(helper.make_tensor_value_info(last, FLOAT, LARGE))
    return helper.make_graph(nodes, "body", inputs, outputs, tensors)


def loop_tensors(folder: Path) -> list[TensorProto]:
    """Four tensors whose shapes broadcast to LARGE."""
    return [
        tensor("body.large", LARGE),
        external(tensor("body.large.external", LARGE), folder),
        tensor("body.small", LARGE[1:]),
        external(tensor("body.small.external", LARGE[1:]), folder),
    ]


@CASES.add()
def loop_body(folder: Path) -> Path:
    """Initializers of the body of a Loop."""
    node = helper.make_node(
        "Loop", ["count", "", "start"], ["end"], body=body(loop_tensors(folder), 2, ["go_on"])
    )
    graph = empty_graph([node])
    graph.initializer.append(helper.make_tensor("count", TensorProto.INT64, [], [3]))
    graph.initializer.append(external(tensor("start", LARGE), folder))
    show(graph, "end", LARGE)
    return write(folder, graph)


@CASES.add()
def scan_body(folder: Path) -> Path:
    """Initializers of the body of a Scan."""
    inner = body(loop_tensors(folder), 0, [])
    inner.input.append(helper.make_tensor_value_info("row", FLOAT, LARGE[1:]))
    inner.node.append(helper.make_node("Identity", ["row"], ["scanned"]))
    inner.output.append(helper.make_tensor_value_info("scanned", FLOAT, LARGE[1:]))
    node = helper.make_node(
        "Scan", ["start", "rows"], ["end", "all_rows"], body=inner, num_scan_inputs=1
    )
    graph = empty_graph([node])
    graph.initializer.append(external(tensor("start", LARGE), folder))
    graph.initializer.append(tensor("rows", [4, LARGE[1]]))
    show(graph, "end", LARGE)
    show(graph, "all_rows", [4, LARGE[1]])
    return write(folder, graph)


def plain_branch(name: str, count: int = 4) -> GraphProto:
    """A branch that returns `count` numbers of its own, from a Constant without a name."""
    value = helper.make_tensor("", FLOAT, [count], numbers(name, [count]))
    node = helper.make_node("Constant", [], [name], value=value)
    output = helper.make_tensor_value_info(name, FLOAT, [count])
    return helper.make_graph([node], name, [], [output])


@CASES.add()
def subgraphs_thirty_deep(folder: Path) -> Path:
    """An If in an If, thirty times: 93 of the 100 messages that protobuf nests."""
    graph = branch("leaf", four_tensors(folder, "leaf"))
    for level in range(29):
        name = f"level_{level}"
        node = helper.make_node(
            "If", ["condition"], [name], then_branch=graph, else_branch=plain_branch(name)
        )
        output = helper.make_tensor_value_info(name, FLOAT, [4])
        graph = helper.make_graph([node], name, [], [output])
    return write(folder, if_graph(graph, plain_branch("other"), 4))

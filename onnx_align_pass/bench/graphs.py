"""Small runnable graphs around many weights; the weights are joined by name and added later."""

from collections.abc import Sequence

import onnx
from onnx import helper

from onnx_align_pass.bench.weights import Weight

__all__ = ["chain_graph", "concat_graph", "model_of"]

OPSET = 17
IR_VERSION = 8


def chain_graph(squares: Sequence[Weight], others: Sequence[Weight] = ()) -> onnx.GraphProto:
    """`y = x @ w0 @ w1 ...`, x of shape [1, side]; each other weight is an output of its own."""
    side = squares[0].shape[0]
    flow = ["x", *(f"after.{weight.name}" for weight in squares[:-1]), "y"]
    nodes = [
        helper.make_node("MatMul", [flow[index], weight.name], [flow[index + 1]])
        for index, weight in enumerate(squares)
    ]
    nodes += [helper.make_node("Identity", [w.name], [f"copy.{w.name}"]) for w in others]
    float32 = onnx.TensorProto.FLOAT
    outputs = [helper.make_tensor_value_info("y", float32, [1, side])]
    outputs += [
        helper.make_tensor_value_info(f"copy.{w.name}", w.data_type, w.shape) for w in others
    ]
    inputs = [helper.make_tensor_value_info("x", float32, [1, side])]
    return helper.make_graph(nodes, "chain", inputs, outputs)


def concat_graph(weights: Sequence[Weight]) -> onnx.GraphProto:
    """`y = concat(weights)` along the first axis; no inputs."""
    node = helper.make_node("Concat", [weight.name for weight in weights], ["y"], axis=0)
    shape = [sum(weight.shape[0] for weight in weights), *weights[0].shape[1:]]
    output = helper.make_tensor_value_info("y", weights[0].data_type, shape)
    return helper.make_graph([node], "concat", [], [output])


def model_of(graph: onnx.GraphProto) -> onnx.ModelProto:
    """A model around a copy of the graph, in versions that old runtimes read too."""
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, ir_version=IR_VERSION, opset_imports=opsets)

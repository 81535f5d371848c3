"""Streams a `.onnx` with inline weights: the bytes that protobuf would write, a weight at a time.

Field numbers are those of `onnx.proto`; the wire format is https://protobuf.dev/programming-guides/encoding/.
"""

from collections.abc import Sequence
from pathlib import Path

import onnx

from onnx_align_pass.bench.weights import Weight, weight_array

__all__ = ["write_inline"]

MODEL_GRAPH = 7
GRAPH_INITIALIZER = 5
TENSOR_RAW_DATA = 9


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, length: int) -> bytes:
    """Tag and length of a length-delimited field; its `length` bytes follow."""
    return _varint(number << 3 | 2) + _varint(length)


def _initializer_head(weight: Weight) -> bytes:
    """All of an initializer but its data, which comes last."""
    fields: bytes = weight.proto().SerializeToString() + _field(TENSOR_RAW_DATA, weight.nbytes)
    return _field(GRAPH_INITIALIZER, len(fields) + weight.nbytes) + fields


def write_inline(path: Path, model: onnx.ModelProto, weights: Sequence[Weight]) -> None:
    """Write `model`, which has no initializers, with these weights inline."""
    graph = model.graph
    before = onnx.GraphProto(node=graph.node, name=graph.name).SerializeToString()
    after = onnx.GraphProto(input=graph.input, output=graph.output).SerializeToString()
    heads = [_initializer_head(weight) for weight in weights]
    data = sum(weight.nbytes for weight in weights)
    length = len(before) + sum(map(len, heads)) + data + len(after)
    with path.open("wb") as file:
        file.write(onnx.ModelProto(ir_version=model.ir_version).SerializeToString())
        file.write(_field(MODEL_GRAPH, length) + before)
        for head, weight in zip(heads, weights, strict=True):
            file.write(head)
            file.write(weight_array(weight).data)
        file.write(after)
        file.write(onnx.ModelProto(opset_import=model.opset_import).SerializeToString())

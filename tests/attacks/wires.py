"""Files whose protobuf is an attack: millions of tiny parts, or one that never ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.corpus.wire import block, fixed32, group, tag, varint_field

__all__ = ["WIRES"]

Make = Callable[[int], bytes]
"""Makes the bytes of a model of about that many."""


def _model(graph: bytes = b"", rest: bytes = b"") -> bytes:
    return b"".join(
        (
            varint_field(1, 8),
            block(7, block(2, b"graph") + graph),
            block(8, varint_field(2, 21)),
            rest,
        )
    )


def _many(part: bytes, nbytes: int) -> bytes:
    return part * (nbytes // len(part))


def _in_graph(part: bytes) -> Make:
    return lambda nbytes: _model(_many(part, nbytes))


def _in_model(part: bytes) -> Make:
    return lambda nbytes: _model(rest=_many(part, nbytes))


def _in_tensor(part: bytes, head: bytes = b"") -> Make:
    return lambda nbytes: _model(block(5, head + _many(part, nbytes)))


def _in_node(part: bytes) -> Make:
    return lambda nbytes: _model(block(1, _many(part, nbytes)))


def _in_attribute(part: bytes, head: bytes = b"") -> Make:
    return lambda nbytes: _model(block(1, block(5, head + _many(part, nbytes))))


_EMPTY: Final = b""
WIRES: Final[dict[str, Make]] = {
    "nodes": _in_graph(block(1, _EMPTY)),
    "initializers": _in_graph(block(5, _EMPTY)),
    "value infos": _in_graph(block(13, _EMPTY)),
    "sparse initializers": _in_graph(block(15, _EMPTY)),
    "attributes": _in_node(block(5, _EMPTY)),
    "inputs of a node": _in_node(block(1, _EMPTY)),
    "tensors of an attribute": _in_attribute(block(10, _EMPTY)),
    "graphs of an attribute": _in_attribute(block(11, _EMPTY)),
    "a tensor that is merged": _in_attribute(block(5, _EMPTY), varint_field(20, 4)),
    "a graph that is merged": _in_model(block(7, _EMPTY)),
    "metadata": _in_model(block(14, _EMPTY)),
    "functions": _in_model(block(25, _EMPTY)),
    "training graphs": _in_model(block(20, _EMPTY)),
    "opsets": _in_model(block(8, _EMPTY)),
    "entries of external data": _in_tensor(block(13, _EMPTY)),
    "dims": _in_tensor(varint_field(1, 1)),
    "numbers that are not packed": _in_tensor(varint_field(7, 1), varint_field(2, 7)),
    "packed blocks of nothing": _in_tensor(block(4, _EMPTY)),
    "floats in pieces": _in_tensor(block(4, _EMPTY) + fixed32(4, bytes(4))),
    "raw data again and again": _in_tensor(block(9, bytes(1025))),
    "varints of ten bytes": _in_tensor(tag(2, 0) + b"\xff" * 9 + b"\x01"),
    "unknown fields": _in_model(varint_field(100, 1)),
    "unknown groups": _in_model(group(30)),
    "nodes with a tensor": _in_graph(block(1, block(5, block(5, block(9, _EMPTY))))),
    "a name": lambda nbytes: _model(block(5, block(8, b"n" * nbytes))),
    "a text": lambda nbytes: _model(rest=block(6, b"n" * nbytes)),
}

"""Which op inputs each tensor of a model goes into.

Directly only: an initializer by its name, a Constant's tensor by the name of the output. What comes
behind an Identity, or what a function does with its inputs, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import onnx

from onnx_align_pass.model.walk import text_of
from onnx_align_pass.tensors import Feed, feed, is_constant

__all__ = ["feeds_of"]

Users: TypeAlias = set[Feed]
Scope: TypeAlias = dict[str, Users | None]
"""What the names of one graph stand for: a tensor, with what uses it so far; None: no tensor."""
ByPlace: TypeAlias = dict[str, Users]


def feeds_of(model: onnx.ModelProto) -> dict[str, tuple[Feed, ...]]:
    """List the op inputs that tensors go into, each once, sorted, by the tensors' places.

    A node of a subgraph may use a tensor of the graphs around it, where no name of its own graph
    hides it; training graphs are each by themselves.
    """
    found: ByPlace = {}
    _graph(model.graph, "graph", (), found)
    for index, function in enumerate(model.functions):
        _nodes(function.node, f"functions[{index}]", ({},), found)
    for index, training in enumerate(model.training_info):
        place = f"training_info[{index}]"
        _graph(training.initialization, f"{place}.initialization", (), found)
        _graph(training.algorithm, f"{place}.algorithm", (), found)
    return {place: tuple(sorted(users)) for place, users in found.items() if users}


def _graph(graph: onnx.GraphProto, place: str, around: Sequence[Scope], found: ByPlace) -> None:
    scope: Scope = {value.name: None for value in graph.input}
    for where, name in _initializers(graph, place):
        users = scope.get(name)
        if users is None:
            users = scope[name] = set()
        found[where] = users
    _nodes(graph.node, place, (*around, scope), found)


def _initializers(graph: onnx.GraphProto, place: str) -> Iterator[tuple[str, str]]:
    """List the places and names of a graph's own tensors."""
    for index, tensor in enumerate(graph.initializer):
        yield f"{place}.initializer[{index}]", tensor.name
    for index, sparse in enumerate(graph.sparse_initializer):
        for part in ("values", "indices"):
            yield f"{place}.sparse_initializer[{index}].{part}", sparse.values.name


def _nodes(
    nodes: Sequence[onnx.NodeProto], place: str, scopes: Sequence[Scope], found: ByPlace
) -> None:
    """Look at the nodes of one graph, the names that they make being known before they are used."""
    scope = scopes[-1]
    for index, node in enumerate(nodes):
        scope.update(dict.fromkeys(node.output))
        if node.output and is_constant(node.domain, node.op_type):
            users = scope[node.output[0]] = set()
            found.update(dict.fromkeys(_held(node, f"{place}.node[{index}]"), users))
    for index, node in enumerate(nodes):
        domain, op_type = text_of(node.domain), text_of(node.op_type)
        for at, name in enumerate(node.input):
            used = _looked_up(name, scopes) if name else None
            if used is not None:
                used.add(feed(domain, op_type, at))
        for where, graph in _subgraphs(node, f"{place}.node[{index}]"):
            _graph(graph, where, scopes, found)


def _held(node: onnx.NodeProto, place: str) -> Iterator[str]:
    """List the places of what a Constant holds."""
    for index, attribute in enumerate(node.attribute):
        where = f"{place}.attribute[{index}]"
        if attribute.HasField("t"):
            yield f"{where}.t"
        if attribute.HasField("sparse_tensor"):
            yield from (f"{where}.sparse_tensor.values", f"{where}.sparse_tensor.indices")


def _looked_up(name: str, scopes: Sequence[Scope]) -> Users | None:
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    return None


def _subgraphs(node: onnx.NodeProto, place: str) -> Iterable[tuple[str, onnx.GraphProto]]:
    for index, attribute in enumerate(node.attribute):
        where = f"{place}.attribute[{index}]"
        if attribute.HasField("g"):
            yield f"{where}.g", attribute.g
        for at, graph in enumerate(attribute.graphs):
            yield f"{where}.graphs[{at}]", graph

"""Which op inputs each tensor of an ir.Model goes into; `model.feeds` says the same of a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import onnx_ir as ir

from onnx_align_pass.passes.collect import Held
from onnx_align_pass.tensors import Feed, feed

__all__ = ["FeedsOf", "feeds_of_model", "no_feeds"]

FeedsOf = Callable[[Held], tuple[Feed, ...]]
"""Gives the op inputs that a tensor goes into, each once, sorted."""


def no_feeds(_: Held) -> tuple[Feed, ...]:
    """Where no rule asks, nothing is looked for."""
    return ()


def feeds_of_model(model: ir.Model) -> FeedsOf:
    """Look at every node of a model, those of subgraphs and functions too."""
    users: dict[int, set[Feed]] = defaultdict(set)
    parts: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for part in parts:
        for node in part.all_nodes():
            for index, value in enumerate(node.inputs):
                if value is not None:
                    users[id(value)].add(feed(node.domain, node.op_type, index))

    def feeds_of(held: Held) -> tuple[Feed, ...]:
        return tuple(sorted(users.get(id(held.value), ())))

    return feeds_of

"""A program's model as it shall be saved, for the time of the save."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx_ir as ir

__all__ = ["initializers_as_asked"]


@contextmanager
def initializers_as_asked(
    graph: ir.Graph, *, include: bool = True, as_inputs: bool = False
) -> Iterator[None]:
    """Take the initializers out of a graph, list them as inputs, or both; put all back at the end.

    Those of subgraphs stay, as they do in torch's own `ONNXProgram.save`. A value that is an input
    already is not listed twice: no runtime would load that.

    Args:
        graph: The main graph of a model.
        include: Whether the initializers stay.
        as_inputs: Whether they are inputs too, after those of the graph and in their own order.
    """
    initializers = dict(graph.initializers)
    inputs = list(graph.inputs)
    try:
        if not include:
            graph.initializers.clear()
        if as_inputs:
            known = set(inputs)
            graph.inputs.extend(one for one in initializers.values() if one not in known)
        yield
    finally:
        if not include:
            graph.initializers.update(initializers)
        if as_inputs:
            graph.inputs.clear()
            graph.inputs.extend(inputs)

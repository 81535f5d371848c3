"""Models as text, passes as text, tags as text: what a pass test is made of."""

from __future__ import annotations

import inspect

import onnx
import onnx_ir as ir

from onnx_align_pass.passes.collect import tensors_of
from onnx_align_pass.passes.registry import parse_pass
from onnx_align_pass.passes.tags import decision_of

__all__ = ["FULL", "check", "model_of", "names", "tags"]

FULL = """
<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
full (float[2,3] x, bool c) => (float[2,3] y)
<float[2,3] w = {1,2,3,4,5,6}, int64[2] shape = {2, 3}, float[2,0] nothing = {}>
{
  k = Constant <value = float[2,3] {6,5,4,3,2,1}> ()
  s = Add (w, k)
  t = Reshape (s, shape)
  u = If (c) <
    then_branch = then_graph () => (float[2,3] a)
      <float[2,3] inner = {1,1,1,1,1,1}> { a = Add (t, inner) },
    else_branch = else_graph () => (float[2,3] b)
      { e = Constant <value = float[2,3] {9,9,9,9,9,9}> ()  b = Add (t, e) }
  >
  y = local.shift (u)
}
<domain: "local", opset_import: ["" : 20]>
shift (i) => (o)
{
  d = Constant <value = float[2,3] {2,2,2,2,2,2}> ()
  o = Add (i, d)
}
"""
"""Weights everywhere: main graph, Constant, both branches of an If, a function's body."""


def model_of(text: str = FULL) -> ir.Model:
    """The model that a text in ONNX's own syntax says."""
    return ir.from_proto(onnx.parser.parse_model(text))


def names(model: ir.Model) -> list[str]:
    """The names of all tensors, in order."""
    return [held.slot.name for held in tensors_of(model)]


def tags(model: ir.Model) -> str:
    """One line a tensor: its name, where it goes, why, and what else was asked."""
    lines = []
    for held in tensors_of(model):
        found = decision_of(held.holder.owner, held.holder.index)
        if found is None:
            lines.append(f"{held.slot.name}: -")
            continue
        place = "external" if found.external else "inline"
        extras = [f"alignment {found.alignment}"] if found.alignment else []
        extras += [f"in {found.group}"] if found.group else []
        lines.append(": ".join([held.slot.name, place, ", ".join([found.reason, *extras])]))
    return "\n".join(lines)


def check(spec: str, model: ir.Model, expected: str, *, modified: bool = True) -> None:
    """Run the pass that `spec` says and compare the tags with `expected`."""
    result = parse_pass(spec)(model)
    assert result.model is model
    assert result.modified is modified
    assert tags(model) == inspect.cleandoc(expected)

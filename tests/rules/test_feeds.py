"""What a tensor feeds: from a file as from an ir.Model, in subgraphs, functions and Constants."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass import ModelError, StorageDecision, StoragePolicy, load, plan_file
from onnx_align_pass.ir.collected import collect
from onnx_align_pass.model.feeds import feeds_of
from onnx_align_pass.passes.collect import tensors_of
from onnx_align_pass.passes.decide import decide_again
from onnx_align_pass.passes.feeds import feeds_of_model
from onnx_align_pass.rules_text import parse_rule
from onnx_align_pass.tensors import Feed
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.corpus.real import BACKEND, REAL

from .nested import Nested

RULES = (
    ".*: input=MatMul.1|Gemm alignment=64",
    ".*: input=Conv|LSTM|Identity group=x.bin",
    ".*: input=Add external",
    ".*: input=ai.onnx::Concat.0 inline",
)
STORAGE = StoragePolicy(rules=tuple(map(parse_rule, RULES)))
Found = dict[str, tuple[tuple[Feed, ...], StorageDecision]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """onnx-ir logs what it thinks of odd models."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def from_file(path: Path) -> Found:
    """Feeds and decisions by place, on the way from file to file."""
    plan = plan_file(path, storage=STORAGE)
    requests = [*(one.request for one in plan.placements), *plan.inline]
    return {one.facts.slot.place: (one.facts.feeds, one.decision) for one in requests}


def from_ir(path: Path) -> Found:
    """The same on the way through an ir.Model."""
    decide = partial(decide_again, storage=STORAGE)
    found = collect(load(path), decide, with_feeds=True)
    return {one.facts.slot.place: (one.facts.feeds, one.decision) for one in found}


def model_feeds(model: ir.Model) -> dict[str, tuple[Feed, ...]]:
    feeds = feeds_of_model(model)
    return {held.slot.place: feeds(held) for held in tensors_of(model) if feeds(held)}


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_random_model_feeds_what_it_was_made_to_feed(seed: int) -> None:
    nested = Nested(seed)
    wanted = {place: tuple(sorted(fed)) for place, fed in nested.feeds.items()}
    assert feeds_of(nested.model) == wanted
    assert model_feeds(ir.from_proto(nested.model)) == wanted


@pytest.mark.parametrize("case", cases())
def test_a_model_feeds_the_same_from_a_file_as_in_memory(case: Case, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    try:
        in_memory = from_ir(source)
    except ModelError as error:
        pytest.skip(f"load refuses it: {type(error).__name__}")
    assert from_file(source) == in_memory


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_feeds_the_same_from_a_file_as_in_memory(name: str) -> None:
    source = REAL[name].path()
    found = from_file(source)
    assert found == from_ir(source)
    assert sum(len(feeds) for feeds, _ in found.values()) > 30


def test_every_backend_model_feeds_the_same_both_ways() -> None:
    if not BACKEND:
        pytest.skip("the installed onnx carries no backend test models")
    for source in BACKEND.values():
        assert from_file(source) == from_ir(source)


TEXT = """
<ir_version: 10, opset_import: ["" : 20, "my" : 1]>
g (float[2,2] x, bool c) => (float[2,2] y, float[2,2] out, float[2,2] k)
<float[2,2] w = {1,2,3,4}, float[2,2] out = {1,2,3,4}, float[2,2] idle = {1,2,3,4},
 float[2,2] hidden = {1,2,3,4}>
{
  k = Constant <value = float[2,2] {1,2,3,4}> ()
  a = MatMul (x, w)
  b = MatMul (a, w)
  i = Identity (w)
  d = Sub (i, k)
  e = If (c) <
    then_branch = t () => (float[2,2] r) <float[2,2] hidden = {5,6,7,8}>
      { q = Div (hidden, w)  r = Mul (q, k) },
    else_branch = f () => (float[2,2] s) { s = Add (b, hidden) }
  >
  y = my.call (e, w)
}
<domain: "my", opset_import: ["" : 20]>
call (p, w) => (o)
{
  two = Constant <value = float[2,2] {1,2,3,4}> ()
  m = Add (p, two)
  o = Mul (m, w)
}
"""
WANTED: dict[str, tuple[Feed, ...]] = {
    "graph.initializer[0]": (
        ("", "Div", 1),
        ("", "Identity", 0),
        ("", "MatMul", 1),
        ("my", "call", 1),
    ),
    "graph.initializer[3]": (("", "Add", 1),),
    "graph.node[0].attribute[0].t": (("", "Mul", 1), ("", "Sub", 1)),
    "graph.node[5].attribute[0].g.initializer[0]": (("", "Div", 0),),
    "functions[0].node[0].attribute[0].t": (("", "Add", 1),),
}
"""Not behind the Identity, not inside the function, not where an inner name hides an outer one; a
graph's output is no op's input."""


def test_what_feeds_directly_counts_and_nothing_else() -> None:
    proto = onnx.parser.parse_model(TEXT)
    assert feeds_of(proto) == WANTED
    assert model_feeds(ir.from_proto(proto)) == WANTED


def test_a_sparse_initializer_and_a_sparse_constant_feed_with_both_their_parts() -> None:
    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[4] x) => (float[4] y) { c = Constant () a = Add (x, s) y = Mul (a, c) }
    """)
    values = onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [1.0])
    indices = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [2])
    sparse = onnx.helper.make_sparse_tensor(values, indices, [4])
    proto.graph.sparse_initializer.append(sparse)
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("sparse_value", sparse))
    assert feeds_of(proto) == {
        "graph.sparse_initializer[0].values": (("", "Add", 1),),
        "graph.sparse_initializer[0].indices": (("", "Add", 1),),
        "graph.node[0].attribute[0].sparse_tensor.values": (("", "Mul", 1),),
        "graph.node[0].attribute[0].sparse_tensor.indices": (("", "Mul", 1),),
    }


def test_a_nameless_tensor_feeds_nothing_nor_does_another_domains_constant() -> None:
    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "my" : 1]>
        g (float[1] x) => (float[1] y)
        { c = my.Constant <value = float[1] {1}> ()  a = Add (c, x)  y = Clip (a, , x) }
    """)
    assert model_feeds(ir.from_proto(proto)) == {}
    proto.graph.initializer.append(onnx.helper.make_tensor("", 1, [1], [1.0]))
    assert feeds_of(proto) == {}


def test_training_graphs_are_each_by_themselves() -> None:
    proto = onnx.parser.parse_model(TEXT)
    training = proto.training_info.add().algorithm
    training.initializer.append(onnx.helper.make_tensor("rate", 1, [1], [0.1]))
    training.node.append(onnx.helper.make_node("Mul", ["rate", "w"], ["step"]))
    place = "training_info[0].algorithm.initializer[0]"
    assert feeds_of(proto) == {**WANTED, place: (("", "Mul", 0),)}


def test_names_that_are_not_utf_8_are_names_too() -> None:
    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[1] x) => (float[1] y) <float[1] wwww = {1}> { y = Add (x, wwww) }
    """)
    broken = proto.SerializeToString().replace(b"wwww", b"ww\xff\xfe")
    assert feeds_of(onnx.ModelProto.FromString(broken)) == {
        "graph.initializer[0]": (("", "Add", 1),)
    }


def test_a_node_that_was_taken_out_of_the_graph_does_not_count() -> None:
    weight = ir.Value(name="w", const_value=ir.tensor(np.ones((2, 2), np.float32), name="w"))
    used, loose = ir.node("Relu", [weight]), ir.node("Neg", [weight])
    graph = ir.Graph(
        [], [used.outputs[0]], nodes=[used], initializers=[weight], opset_imports={"": 20}
    )
    model = ir.Model(graph, ir_version=10)
    assert loose.inputs == (weight,)
    assert model_feeds(model) == {"graph.initializer[0]": (("", "Relu", 0),)}

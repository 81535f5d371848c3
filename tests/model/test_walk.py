"""Every tensor is found once, in the order promised, under a place of its own and a name."""

from __future__ import annotations

import random
import re
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper

from onnx_align_pass.model.schema import branches
from onnx_align_pass.model.walk import walk
from onnx_align_pass.tensors import SlotKind
from tests.corpus import oracle
from tests.corpus.build import empty_graph, model_of, showing, tensor
from tests.corpus.wire import block

from .wild import TO_TENSORS, Wild

ORDER = {
    name: rank
    for names in (
        ("graph", "functions", "training_info"),
        ("initializer", "sparse_initializer", "attribute_proto", "node"),
        ("initialization", "algorithm"),
        ("attribute",),
        ("t", "tensors", "sparse_tensor", "sparse_tensors", "g", "graphs"),
        ("values", "indices"),
    )
    for rank, name in enumerate(names)
}
"""Rank of a field among those beside it, as the docstring of `walk` has it."""
VALUE_OF_TYPE: dict[str, Any] = {
    "t": AttributeProto.TENSOR,
    "tensors": AttributeProto.TENSORS,
    "sparse_tensor": AttributeProto.SPARSE_TENSOR,
    "sparse_tensors": AttributeProto.SPARSE_TENSORS,
    "g": AttributeProto.GRAPH,
    "graphs": AttributeProto.GRAPHS,
}
wild = given(seed=st.integers(0, 2**32), size=st.integers(5, 80))


def honest(seed: int, size: int) -> onnx.ModelProto:
    """A random model whose attributes have no type, or that of a field that is set."""
    model = onnx.ModelProto.FromString(Wild(seed, size).model())
    rng = random.Random(seed)
    for attribute in attributes(model):
        fields = [VALUE_OF_TYPE[f.name] for f, _ in attribute.ListFields() if f.name in ORDER]
        attribute.ClearField("type")
        if fields and rng.random() < 0.5:
            attribute.type = rng.choice(fields)
    return model


def attributes(message: Any) -> list[AttributeProto]:
    """Every attribute in a message, by descriptors alone."""
    found = [message] if isinstance(message, AttributeProto) else []
    for field, value in message.ListFields():
        if field.message_type is not None:
            for child in value if field.is_repeated else [value]:
                found += attributes(child)
    return found


def rank(place: str) -> list[tuple[int, int]]:
    """`graph.node[3].attribute[0].t` as ranks and indices."""
    parts = re.findall(r"(\w+)(?:\[(\d+)\])?", place)
    return [(ORDER[name], int(index or 0)) for name, index in parts]


@settings(max_examples=200, deadline=None)
@wild
def test_every_tensor_is_found_once_in_the_order_promised(seed: int, size: int) -> None:
    model = honest(seed, size)
    expected = dict(oracle.walk(model))
    found = list(walk(model))
    assert [slot.place for slot, _ in found] == sorted(expected, key=rank)
    for slot, one in found:
        assert one is expected[slot.place] or one == expected[slot.place]


@settings(max_examples=100, deadline=None)
@wild
def test_kinds_say_what_a_tensor_hangs_on(seed: int, size: int) -> None:
    for slot, _ in walk(honest(seed, size)):
        last = slot.place.rpartition(".")[2]
        if slot.place.startswith("training_info"):
            assert slot.kind is SlotKind.TRAINING
        elif last in ("values", "indices"):
            assert slot.kind is SlotKind.SPARSE
        elif last.startswith("initializer"):
            assert slot.kind is SlotKind.INITIALIZER
        else:
            assert slot.kind is SlotKind.ATTRIBUTE


@settings(max_examples=100, deadline=None)
@wild
def test_every_slot_has_a_name_and_a_tensors_own_comes_first(seed: int, size: int) -> None:
    for slot, one in walk(honest(seed, size)):
        assert isinstance(slot.name, str)
        assert slot.name
        slot.name.encode()
        if isinstance(one.name, str) and one.name:
            assert slot.name == one.name


def test_a_tensor_without_a_name_has_that_of_what_holds_it() -> None:
    bare = tensor("", [3])
    bare.ClearField("name")
    constant = helper.make_node("Constant", [], ["made"], name="n", value=bare)
    custom = helper.make_node("Odd", ["x"], ["y"], name="node")
    custom.attribute.append(AttributeProto(name="many", type=AttributeProto.TENSORS))
    custom.attribute[0].tensors.extend([bare, bare])
    unnamed = helper.make_node("Odd", ["x"], ["z"], value=bare)
    graph = empty_graph([constant, custom, unnamed])
    graph.initializer.append(bare)
    assert [slot.name for slot, _ in walk(model_of(graph))] == [
        "graph.initializer[0]",
        "made.value",
        "node.many[0]",
        "node.many[1]",
        "z.value",
    ]


def test_a_name_that_is_not_utf8_is_escaped() -> None:
    graph = showing([tensor("w", [3])])
    graph.initializer[0].MergeFromString(block(8, b"w\xff"))
    graph.node[0].MergeFromString(block(3, b"n\xfe") + block(5, b"\x0a\x01\xfd\x2a\x00"))
    assert [slot.name for slot, _ in walk(model_of(graph))] == ["w\\xff", "n\\xfe.\\xfd"]


@pytest.mark.parametrize("kind", ["FLOAT", "INTS", "STRINGS", "TYPE_PROTO"])
def test_a_tensor_behind_the_type_of_something_else_is_no_tensor(kind: str) -> None:
    """Not looked for, since looking costs more than all else: onnx's checker refuses the model."""
    node = helper.make_node("Constant", [], ["made"], value=tensor("t", [3]))
    node.attribute[0].type = getattr(AttributeProto, kind)
    model = model_of(empty_graph([node]))
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model)
    assert not list(walk(model))


def test_the_schema_leads_to_the_same_fields_as_the_walk() -> None:
    seen: dict[str, set[str]] = {}
    waiting = [onnx.ModelProto.DESCRIPTOR]
    while waiting:
        kind = waiting.pop()
        if kind.full_name not in seen and kind.full_name != TensorProto.DESCRIPTOR.full_name:
            seen[kind.full_name] = {one.name for one in branches(kind).values()}
            waiting += [one.message for one in branches(kind).values()]
    assert set().union(*seen.values()) == set(ORDER) == TO_TENSORS

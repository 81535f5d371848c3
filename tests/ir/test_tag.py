"""The tagging pass: what it says of each tensor, and what its tags outlive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnx_ir as ir
import onnxscript.optimizer
import pytest
from onnx_ir.passes import common
from onnxscript.rewriter import RewritePass
from onnxscript.rewriter.rules.common import cast_cast_rule
from onnxscript.version_converter import ConvertVersionPass

from onnx_align_pass import (
    PolicyError,
    StorageDecision,
    StoragePolicy,
    TagExternalDataPass,
    UninitializedTensorError,
    UsageError,
    decision_of,
    tag_tensor,
)
from onnx_align_pass.passes.tags import TAG

from .harness import check, model_of, names, tags

LARGE = "external: at or above the size threshold"
SMALL = "inline: below the size threshold"
SHAPE = "inline: rank 0 or 1 and at most 1 KiB: may feed a shape"


def test_every_tensor_is_tagged_wherever_it_hangs() -> None:
    check(
        "tag-external-data{size_threshold_bytes=16}",
        model_of(),
        f"""
        w: {LARGE}
        shape: {SHAPE}
        nothing: inline: empty
        k.value: {LARGE}
        inner: {LARGE}
        e.value: {LARGE}
        d.value: {LARGE}
        """,
    )


def test_the_policy_decides_as_it_does_from_file_to_file() -> None:
    check(
        "tag-external-data{convert_attribute=false external=shape inline=inn.* "
        "size_threshold_bytes=24}",
        model_of(),
        f"""
        w: {LARGE}
        shape: external: asked to be external
        nothing: inline: empty
        k.value: inline: kept inline
        inner: inline: asked to be inline
        e.value: inline: kept inline
        d.value: inline: kept inline
        """,
    )


def test_the_second_run_changes_nothing() -> None:
    model, pass_ = model_of(), TagExternalDataPass()
    assert pass_(model).modified
    assert not pass_(model).modified
    other = TagExternalDataPass(StoragePolicy(size_threshold_bytes=4))
    assert other(model).modified
    assert not other(model).modified


def test_no_byte_is_touched() -> None:
    def never() -> ir.TensorProtocol:
        raise AssertionError("a byte was asked for")

    model = model_of()
    lazy = ir.LazyTensor(never, ir.DataType.FLOAT, ir.Shape([64, 64]), name="w")
    model.graph.initializers["w"].const_value = lazy
    TagExternalDataPass()(model)
    decision = decision_of(model.graph.initializers["w"])
    assert decision is not None
    assert decision.external


def test_a_users_wishes_are_laid_over_the_policy() -> None:
    model = model_of()
    initializers = model.graph.initializers
    tag_tensor(initializers["w"], alignment=65536, group="big.data")
    tag_tensor(initializers["shape"], external=True)
    tag_tensor(initializers["nothing"], external=True)
    (constant,) = [node for node in model.graph if node.op_type == "Constant"]
    tag_tensor(constant.attributes["value"], external=False)
    check(
        "tag-external-data{size_threshold_bytes=16}",
        model,
        f"""
        w: {LARGE}, alignment 65536, in big.data
        shape: external: asked by a tag
        nothing: inline: empty
        k.value: inline: asked by a tag
        inner: {LARGE}
        e.value: {LARGE}
        d.value: {LARGE}
        """,
    )
    tag_tensor(initializers["w"])
    check(
        "tag-external-data",
        model,
        f"""
        w: {SMALL}
        shape: external: asked by a tag
        nothing: inline: empty
        k.value: inline: below the size threshold
        inner: {SMALL}
        e.value: {SMALL}
        d.value: {SMALL}
        """,
    )


def test_a_decision_put_into_meta_by_hand_is_a_wish() -> None:
    model = model_of()
    value = model.graph.initializers["w"]
    value.meta[TAG] = StorageDecision(True, "mine", alignment=256)
    TagExternalDataPass()(model)
    decision = decision_of(value)
    assert decision is not None
    assert (decision.external, decision.alignment) == (True, 256)


def test_a_wish_proves_itself_at_birth() -> None:
    value = model_of().graph.initializers["w"]
    with pytest.raises(PolicyError, match="alignment cannot be 3"):
        tag_tensor(value, alignment=3)
    with pytest.raises(PolicyError, match="data file name cannot be"):
        tag_tensor(value, group="../x")
    with pytest.raises(UsageError, match="str cannot be tagged"):
        tag_tensor("w", external=True)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="external cannot be 'yes'"):
        tag_tensor(value, external="yes")  # type: ignore[arg-type]
    assert TAG not in value.meta
    with pytest.raises(UsageError, match="the value 'x' is no initializer"):
        tag_tensor(model_of().graph.inputs[0], external=True)


def test_each_tensor_of_an_attribute_has_a_decision_of_its_own() -> None:
    model = model_of("""
        <ir_version: 10, opset_import: ["" : 20, "my" : 1]>
        g (float[1] x) => (float[1] y) { y = my.Op (x) }
    """)
    (node,) = model.graph
    several = [ir.tensor(np.zeros(shape, np.float32)) for shape in ((2, 2), (64, 64), (3, 3))]
    node.attributes["w"] = ir.Attr("w", ir.AttributeType.TENSORS, several)
    check("tag-external-data", model, f"y.w[0]: {SMALL}\ny.w[1]: {LARGE}\ny.w[2]: {SMALL}")
    assert decision_of(node.attributes["w"], 3) is None


def test_an_initializer_without_a_value_is_named() -> None:
    model = model_of()
    model.graph.initializers["w"].const_value = None
    with pytest.raises(ir.passes.PreconditionError) as error:
        TagExternalDataPass()(model)
    assert isinstance(error.value.__cause__, UninitializedTensorError)
    assert "tensor 'w'" in str(error.value.__cause__)


def test_tags_outlive_a_clone() -> None:
    model = model_of()
    TagExternalDataPass()(model)
    clone = model.clone()
    assert tags(clone) == tags(model)
    assert not TagExternalDataPass()(clone).modified


def test_a_tag_does_not_leak_into_the_file() -> None:
    model = model_of()
    before = ir.to_proto(model).SerializeToString()
    TagExternalDataPass()(model)
    assert ir.to_proto(model).SerializeToString() == before


KEEPS_ALL: list[Callable[[], ir.passes.PassBase]] = [
    common.AddDefaultAttributesPass,
    common.AddInitializersToInputsPass,
    common.CheckerPass,
    common.ClearMetadataAndDocStringPass,
    common.CommonSubexpressionEliminationPass,
    common.DeduplicateHashedInitializersPass,
    common.DeduplicateInitializersPass,
    common.IdentityEliminationPass,
    common.InlinePass,
    common.LiftSubgraphInitializersToMainGraphPass,
    common.NameFixPass,
    common.OutputFixPass,
    common.RemoveInitializersFromInputsPass,
    common.RemoveUnusedFunctionsPass,
    common.RemoveUnusedNodesPass,
    common.RemoveUnusedOpsetsPass,
    common.ShapeInferencePass,
    common.TopologicalSortPass,
    partial(ConvertVersionPass, target_version=21),
    partial(RewritePass, [cast_cast_rule]),
]
LOSES: dict[str, tuple[Callable[[ir.Model], object], set[str]]] = {
    "lifted constants are new initializers": (
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        {"k", "e"},
    ),
    "folded values are new initializers": (onnxscript.optimizer.fold_constants, {"a", "b"}),
    "the C API builds the graph anew": (
        ConvertVersionPass(target_version=18, fallback=True),
        {"w", "shape", "k.value", "inner", "e.value", "d.value"},
    ),
}
"""Passes after which tensors are untagged, and which. The writer asks its policy about them."""


def label(make: object) -> str:
    """The name of a pass."""
    return str(getattr(getattr(make, "func", make), "__name__", make))


def untagged(model: ir.Model) -> set[str]:
    """Names of the tensors without a decision."""
    return {line.removesuffix(": -") for line in tags(model).splitlines() if line.endswith(": -")}


@pytest.mark.parametrize("make", KEEPS_ALL, ids=label)
def test_tags_outlive_the_common_passes(make: Callable[[], ir.passes.PassBase]) -> None:
    model = model_of()
    TagExternalDataPass()(model)
    model = make()(model).model
    assert untagged(model) == set()
    assert len(names(model)) >= 5


def test_every_common_pass_is_in_one_of_the_lists() -> None:
    listed = {label(make) for make in KEEPS_ALL} | {"LiftConstantsToInitializersPass"}
    assert set(common.__all__) <= listed


@pytest.mark.parametrize("name", LOSES)
def test_the_exceptions_are_known(name: str) -> None:
    run, lost = LOSES[name]
    model = model_of()
    TagExternalDataPass()(model)
    result = run(model)
    assert untagged(result.model if isinstance(result, ir.passes.PassResult) else model) == lost

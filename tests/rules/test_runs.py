"""Rules in whole runs: where tensors lie, what is noted, and that models work afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass import (
    LayoutPolicy,
    StoragePolicy,
    TagExternalDataPass,
    align_file,
    align_pipeline,
    decision_of,
    load,
    parse_pass,
    plan_file,
    save,
    save_shared,
    tag_tensor,
)
from onnx_align_pass.layout.check import violations
from onnx_align_pass.layout.plan import Placement
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.rules import Rule
from onnx_align_pass.rules_text import parse_rule
from tests.align.small_models import external_model, weights_model
from tests.corpus import oracle
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs
from tests.layout.requests import random_requests

from .drawn import RULES


def storage(*texts: str, **fields: Any) -> StoragePolicy:
    return StoragePolicy(rules=tuple(map(parse_rule, texts)), **fields)


def entries(model: Path) -> dict[str, dict[str, str]]:
    """Location, offset and length of each external tensor of the main graph, by name."""
    return {
        tensor.name: {entry.key: entry.value for entry in tensor.external_data}
        for tensor in oracle.parse(model).graph.initializer
        if tensor.external_data
    }


def test_a_tensor_lies_where_its_rule_wishes(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    policy = storage("a: alignment=65536", "b: inline", "[abc]: group={stem}.rest alignment=128")
    align_file(source, tmp_path / "out" / "m.onnx", storage=policy)
    found = entries(tmp_path / "out" / "m.onnx")
    assert sorted(found) == ["a", "c"]
    assert {one["location"] for one in found.values()} == {"m.rest"}
    assert int(found["a"]["offset"]) % 65536 == 0
    assert int(found["c"]["offset"]) % 128 == 0
    assert int(found["c"]["offset"]) % 4096 != 0
    assert oracle.tensors(tmp_path / "out" / "m.onnx") == oracle.tensors(source)


def test_in_place_a_rule_moves_its_tensor_and_the_second_run_changes_nothing(
    tmp_path: Path,
) -> None:
    source = external_model(tmp_path / "m.onnx")
    before = oracle.tensors(source)
    policy = storage(".*: min-size=16KiB group=large.data", "a: alignment=16384")
    align_file(source, storage=policy)
    found = entries(source)
    assert {name: one["location"] for name, one in found.items()} == {
        "a": "m.onnx.data",
        "b": "large.data",
        "c": "large.data",
    }
    assert oracle.tensors(source) == before
    assert align_file(source, storage=policy).models[0].unchanged


NOTE = r"the rule 'decodr\..*: alignment=64' matches no tensor"


def test_a_rule_that_matches_nothing_is_noted_from_file_to_file(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    policy = storage(r"decodr\..*: alignment=64", "a: alignment=64", ".*: input=Conv external")
    wanted = (NOTE, "the rule '.*: input=Conv external' matches no tensor")
    assert plan_file(source, storage=policy).notes == wanted
    report = align_file(source, tmp_path / "out" / "m.onnx", storage=policy)
    assert report.models[0].notes == wanted
    assert not align_file(source, tmp_path / "again" / "m.onnx").models[0].notes


def test_a_rule_that_matches_nothing_is_noted_from_memory_to_file(tmp_path: Path) -> None:
    model = load(external_model(tmp_path / "m.onnx"))
    policy = storage(
        r"decodr\..*: alignment=64", "a: alignment=64", ".*: input=Identity.0 external"
    )
    report = save(model, tmp_path / "out" / "m.onnx", storage=policy)
    assert report.models[0].notes == (NOTE,)
    pipeline = align_pipeline(tmp_path / "piped" / "m.onnx", storage=policy)
    pipeline(model)
    assert pipeline.report is not None
    assert pipeline.report.models[0].notes == (NOTE,)


def test_a_variant_that_shares_all_that_a_rule_matches_is_not_told_that_it_matches_nothing(
    tmp_path: Path,
) -> None:
    model = load(external_model(tmp_path / "m.onnx"))
    report = save_shared(model, tmp_path / "v.onnx", storage=storage("a: alignment=64"))
    assert report.models[0].notes == ()
    assert report.models[0].referenced_tensors == 3


def test_a_tagging_pass_with_rules_is_a_text_and_a_tag_wins_over_a_rule(tmp_path: Path) -> None:
    model = ir.from_proto(weights_model({"a": (64, 64), "b": (64, 64)}))
    text = 'tag-external-data{rules="a|b: input=Identity.0 alignment=64","b: group=\\"b data\\""}'
    tagging = parse_pass(text)
    assert isinstance(tagging, TagExternalDataPass)
    assert str(tagging) == text
    tag_tensor(model.graph.initializers["a"], alignment=128)
    assert tagging(model).modified
    assert not tagging(model).modified
    a, b = (decision_of(model.graph.initializers[name]) for name in "ab")
    assert a is not None
    assert b is not None
    assert (a.alignment, a.group) == (128, None)
    assert (b.alignment, b.group) == (64, "b data")
    save(model, tmp_path / "m.onnx", alignment=65536)
    assert entries(tmp_path / "m.onnx")["b"]["location"] == "b data"


def test_a_weight_that_is_an_output_feeds_no_op_and_is_moved_all_the_same(tmp_path: Path) -> None:
    proto = weights_model({"a": (64, 64), "b": (64, 64)})
    proto.graph.output.append(onnx.helper.make_tensor_value_info("b", 1, (64, 64)))
    del proto.graph.node[1]
    del proto.graph.output[1]
    source = tmp_path / "m.onnx"
    source.write_bytes(proto.SerializeToString())
    policy = storage(".*: input=Identity.0 group=fed.data")
    for result in (tmp_path / "file" / "m.onnx", tmp_path / "ir" / "m.onnx"):
        if result.parent.name == "file":
            align_file(source, result, storage=policy)
        else:
            save(load(source), result, storage=policy)
        locations = {name: one["location"] for name, one in entries(result).items()}
        assert locations == {"a": "fed.data", "b": "m.onnx.data"}
        assert same_outputs(run(source), run(result))


def test_tied_tensors_of_different_rules_have_the_larger_alignment_and_the_first_group(
    tmp_path: Path,
) -> None:
    source = external_model(tmp_path / "m.onnx", {"a": (64, 64), "b": (64, 64), "c": (64, 64)})
    proto = oracle.parse(source)
    first, _, tied = proto.graph.initializer
    for entry, own in zip(tied.external_data, first.external_data, strict=True):
        entry.value = own.value
    source.write_bytes(proto.SerializeToString())
    policy = storage("a: alignment=64 group=first.data", "c: alignment=65536 group=last.data")
    plan = plan_file(source, storage=policy)
    a, _, c = plan.placements
    assert a.file == c.file == "first.data"
    assert a.alignment == c.alignment == 65536
    assert c.tied_to == a.request.facts.slot.place
    assert plan.notes == (
        "1 x a group that was asked for is not its tensor's: it shares another's bytes",
    )


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), rules=st.lists(RULES, min_size=1, max_size=4))
def test_plans_under_rules_keep_every_rule_of_the_layout(seed: int, rules: list[Rule]) -> None:
    policy = StoragePolicy(size_threshold_bytes=64, rules=tuple(rules))
    requests = [
        one._replace(decision=policy.decide(one.facts)) for one in random_requests(seed, 12)
    ]
    layout = LayoutPolicy(alignment=64)
    plan = make_plan(requests, layout, model_name="m.onnx", keep_homes=bool(seed % 2))
    assert list(violations(plan, layout)) == []
    for placement in plan.placements:
        wanted = placement.request.decision.alignment or 64
        assert placement.offset % wanted == 0
        assert is_in_its_group(placement)


def is_in_its_group(placement: Placement) -> bool:
    group = placement.request.decision.group
    if group is None or placement.tied_to is not None:
        return True
    return placement.file == group.replace("{stem}", "m")


LAYOUT = LayoutPolicy(alignment=64)
BY_OP = {
    "silero_vad": ("input=Conv.1", "alignment=65536 group=conv.data"),
    "silero_half": ("input=Conv.1 min-size=1KiB", "alignment=65536 group=conv.data"),
    "silero_ifless": ("input=Gemm.1|Gemm.2", "alignment=16384 group={stem}.gemm"),
    "silero_openvino": ("input=ai.onnx::Slice dtype=FLOAT", "alignment=128 group={stem}.slices"),
    "magika": ("input=MatMul.1|Conv.1", "alignment=65536 group=matrices.data"),
}
"""What a rule asks of real models: conditions, wishes."""


@pytest.mark.parametrize("name", BY_OP)
def test_a_real_model_with_rules_by_op_input_gives_the_same_outputs(
    name: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    real = REAL[name]
    source = real.path()
    conditions, wishes = BY_OP[name]
    policy = storage(f".*: {conditions} {wishes}")
    plan = plan_file(source, storage=policy, layout=LAYOUT)
    ruled = [one for one in plan.placements if one.request.decision.group]
    assert len(ruled) >= 2
    assert all(one.offset % one.alignment == 0 and one.alignment > 64 for one in ruled)
    assert {one.file for one in ruled}.isdisjoint(
        one.file for one in plan.placements if not one.request.decision.group
    )
    assert plan.notes == ()
    by_file, by_ir = tmp_path / "file" / "m.onnx", tmp_path / "ir" / "m.onnx"
    align_file(source, by_file, storage=policy, layout=LAYOUT, durable=False)
    save(load(source), by_ir, storage=policy, layout=LAYOUT, durable=False)
    names = {path.name for path in by_file.parent.iterdir()}
    assert names == {path.name for path in by_ir.parent.iterdir()}
    for data in names - {"m.onnx"}:
        assert (by_file.parent / data).read_bytes() == (by_ir.parent / data).read_bytes()
    assert oracle.tensors(by_file) == oracle.tensors(source)
    assert same_outputs(run(source, real.feeds()), run(by_file, real.feeds()))

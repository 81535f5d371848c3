"""A plan that was broken on purpose is found out, whatever was done to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.errors import AlignError, PlanError
from onnx_align_pass.layout.check import check_plan, violations
from onnx_align_pass.layout.plan import LayoutPlan, Placement, PlannedFile
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.policy import LayoutPolicy

from .naive import is_broken
from .requests import any_plan, request

LAYOUT = LayoutPolicy(alignment=64, max_shard_size_bytes=1000)


def good() -> LayoutPlan:
    """Two tensors in the first shard, a tied one, and one in a shard of its own."""
    requests = [
        request(0, 100, home="a.data", offset=0),
        request(1, 200, home="a.data", offset=100),
        request(2, 100, home="a.data", offset=0),
        request(3, 5000),
    ]
    return make_plan(requests, LAYOUT, model_name="m.onnx")


def changed(plan: LayoutPlan, index: int, **fields: object) -> LayoutPlan:
    """The plan with other fields in one placement."""
    placements = list(plan.placements)
    placements[index] = placements[index]._replace(**fields)  # type: ignore[arg-type]
    return replace(plan, placements=tuple(placements))


def resized(plan: LayoutPlan, index: int, **fields: object) -> LayoutPlan:
    """The plan with other fields in one file."""
    files = list(plan.files)
    files[index] = replace(files[index], **fields)  # type: ignore[arg-type]
    return replace(plan, files=tuple(files))


BROKEN: dict[str, tuple[Callable[[LayoutPlan], LayoutPlan], str]] = {
    "offset shifted by a byte": (lambda p: changed(p, 1, offset=129), "not a multiple of 64"),
    "alignment overstated": (lambda p: changed(p, 1, alignment=256), "is not a multiple of"),
    "alignment forged": (lambda p: changed(p, 1, offset=129, alignment=1), "a multiple of 64"),
    "offset before the file": (lambda p: changed(p, 0, offset=-64), "are not in"),
    "overlap": (lambda p: changed(p, 1, offset=64), "overlaps w0"),
    "same range, not tied": (lambda p: changed(p, 2, tied_to=None), "overlaps"),
    "a byte too short": (lambda p: changed(p, 1, length=199), "is not its 200 bytes"),
    "padded length": (lambda p: changed(p, 1, length=256), "is not its 200 bytes"),
    "past the end": (lambda p: changed(p, 1, offset=192), "are not in"),
    "file too short": (lambda p: resized(p, 0, size=327), "are not in"),
    "file not planned": (lambda p: changed(p, 1, file="other"), "which is not planned"),
    "file missing": (lambda p: replace(p, files=p.files[1:]), "which is not planned"),
    "two files of one name": (lambda p: replace(p, files=(*p.files, p.files[0])), "one name"),
    "file without a tensor": (
        lambda p: replace(p, files=(*p.files, PlannedFile("empty", 0))),
        "would hold no tensor",
    ),
    "tied to nobody": (lambda p: changed(p, 2, tied_to="graph.initializer[9]"), "nothing writes"),
    "tied to another range": (lambda p: changed(p, 2, tied_to="graph.initializer[1]"), "tied"),
    "tied range moved": (lambda p: changed(p, 2, offset=128), "tied"),
    "tied across files": (lambda p: changed(p, 2, file=p.files[1].name), "tied"),
    "tied to itself": (lambda p: changed(p, 2, tied_to="graph.initializer[2]"), "tied"),
    "shard over the limit": (lambda p: resized(p, 0, size=1001), "larger than 1,000 bytes"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_kind_of_broken_plan_is_found_and_named(name: str) -> None:
    breaks, problem = BROKEN[name]
    plan = check_plan(good(), LAYOUT)
    assert is_broken(breaks(plan), LAYOUT)
    with pytest.raises(PlanError, match=problem) as error:
        check_plan(breaks(plan), LAYOUT)
    assert isinstance(error.value, AlignError)
    assert "bug" in str(error.value)


def mutated(plan: LayoutPlan, seed: int) -> LayoutPlan:
    """The plan with one number, name or tie changed."""
    rng = random.Random(seed)
    index = rng.randrange(len(plan.placements))
    one, other = plan.placements[index], rng.choice(plan.placements)
    shift = rng.choice((-4096, -64, -1, 1, 3, 64, 128, 4096))
    place = other.request.facts.slot.place
    file = rng.randrange(len(plan.files))
    return rng.choice(
        (
            lambda: changed(plan, index, offset=one.offset + shift),
            lambda: changed(plan, index, offset=other.offset),
            lambda: changed(plan, index, length=one.length + shift),
            lambda: changed(plan, index, offset=one.offset + shift, alignment=1),
            lambda: changed(plan, index, file=other.file),
            lambda: changed(plan, index, file="elsewhere"),
            lambda: changed(plan, index, tied_to=place),
            lambda: changed(plan, index, tied_to=None),
            lambda: changed(plan, index, request=other.request),
            lambda: resized(plan, file, size=max(0, plan.files[file].size + shift)),
            lambda: resized(plan, file, name=other.file),
            lambda: replace(plan, files=plan.files[:file] + plan.files[file + 1 :]),
            lambda: replace(plan, placements=plan.placements[:index]),
        )
    )()


@settings(max_examples=1000, deadline=None)
@given(**any_plan, seed=st.integers(0, 2**32))
def test_the_check_finds_just_what_a_look_at_each_pair_finds(
    requests: list[object], layout: LayoutPolicy, keep_homes: bool, seed: int
) -> None:
    plan = make_plan(requests, layout, model_name="m.onnx", keep_homes=keep_homes)  # type: ignore[arg-type]
    if not plan.placements:
        return
    changed_plan = mutated(plan, seed)
    assert bool(list(violations(changed_plan, layout))) == is_broken(changed_plan, layout)


def test_all_problems_are_listed_not_just_the_first() -> None:
    plan = changed(changed(good(), 0, offset=1), 1, length=3)
    tensors = [tensor for tensor, _ in violations(plan, LAYOUT)]
    assert {"w0", "w1"} <= set(tensors)


def test_a_placement_is_read_by_name_and_is_a_value() -> None:
    one = good().placements[0]
    assert one == Placement(*one)
    assert hash(one.file) == hash(good().placements[0].file)

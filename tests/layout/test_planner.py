"""Whatever is asked for: aligned, disjoint, in order, as dense as may be, the same each time."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.layout.check import check_plan, violations
from onnx_align_pass.layout.names import default_data_name
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.planner import make_plan, round_up
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest

from .naive import is_broken, next_multiple, of_file, shared_alignment, tie_of
from .requests import any_plan, request

many = settings(max_examples=300, deadline=None)
any_requests = any_plan["requests"]


def plan_of(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool = False
) -> LayoutPlan:
    return make_plan(requests, layout, model_name="m.onnx", keep_homes=keep_homes)


@many
@given(**any_plan)
def test_every_plan_keeps_every_rule(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    assert not is_broken(plan, layout)
    assert list(violations(plan, layout)) == []
    assert check_plan(plan, layout) is plan


@many
@given(**any_plan)
def test_every_tensor_is_in_the_plan_once_in_the_order_asked(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    external = [one for one in requests if one.decision.external]
    assert [one.request for one in plan.placements] == external
    assert list(plan.inline) == [one for one in requests if not one.decision.external]
    assert {file.name for file in plan.files} == {one.file for one in plan.placements}
    for file in plan.files:
        offsets = [one.offset for one in of_file(plan, file.name)]
        assert offsets == sorted(offsets)


@many
@given(**any_plan)
def test_tensors_of_one_range_share_one_range_and_no_others_do(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    first: dict[object, int] = {}
    for index, one in enumerate(plan.placements):
        earlier = plan.placements[first.setdefault(tie_of(one.request), index)]
        if earlier is one:
            assert one.tied_to is None
        else:
            assert one.tied_to == earlier.request.facts.slot.place
            assert (one.file, one.offset) == (earlier.file, earlier.offset)
            assert one.padding == 0


@many
@given(**any_plan)
def test_each_gap_is_the_smallest_that_aligns(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    for file in plan.files:
        end = 0
        for one in of_file(plan, file.name):
            alignment = shared_alignment(one.request, requests, layout)
            assert one.alignment == alignment
            assert one.offset == next_multiple(end, alignment)
            assert one.padding == one.offset - end
            end = one.offset + one.length
            if layout.pad == "tensor":
                end = next_multiple(end, alignment)
        if layout.pad == "file":
            end = next_multiple(end, max(one.alignment for one in of_file(plan, file.name)))
        assert file.size == end


@many
@given(**any_plan)
def test_a_shard_is_begun_only_when_the_next_tensor_does_not_fit(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    limit = layout.max_shard_size_bytes
    for before, after in neighbours([file.name for file in plan.files]):
        assert limit is not None
        first, held = of_file(plan, after)[0], of_file(plan, before)
        end = held[-1].offset + held[-1].length
        if layout.pad == "tensor":
            end = next_multiple(end, held[-1].alignment)
        size = next_multiple(end, first.alignment) + first.length
        if layout.pad == "tensor":
            size = next_multiple(size, first.alignment)
        if layout.pad == "file":
            size = next_multiple(size, max(one.alignment for one in [*held, first]))
        assert size > limit


def neighbours(names: list[str]) -> list[tuple[str, str]]:
    """Pairs of shards that follow each other."""
    by_base: dict[str, list[str]] = {}
    for name in names:
        by_base.setdefault(re.sub(r"-\d{5}-of-\d{5}", "", name), []).append(name)
    return [pair for shards in by_base.values() for pair in pairwise(shards)]


@many
@given(**any_plan)
def test_the_same_requests_make_the_same_plan(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    assert plan_of(requests, layout, keep_homes) == plan_of(requests, layout, keep_homes)


@many
@given(**any_plan)
def test_totals_are_sums_over_ranges_and_files(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool
) -> None:
    plan = plan_of(requests, layout, keep_homes)
    ranges = {(one.file, one.offset, one.length) for one in plan.placements if one.length}
    assert plan.tensor_bytes == sum(length for _, _, length in ranges)
    assert plan.total_bytes == sum(file.size for file in plan.files)
    assert plan.padding_bytes == plan.total_bytes - plan.tensor_bytes >= 0


@many
@given(requests=any_requests, layout=any_plan["layout"])
def test_in_place_each_tensor_stays_in_its_file_unless_a_group_is_asked(
    requests: list[TensorRequest], layout: LayoutPolicy
) -> None:
    whole = LayoutPolicy(alignment=layout.alignment, pad=layout.pad)
    for one in plan_of(requests, whole, keep_homes=True).placements:
        if one.tied_to is None:
            asked = one.request.decision.group or one.request.home or "m.onnx.data"
            assert one.file == asked
    for one in plan_of(requests, whole).placements:
        if one.tied_to is None:
            assert one.file == one.request.decision.group or one.file == "m.onnx.data"


@many
@given(requests=any_requests)
def test_alignment_one_packs_densely(requests: list[TensorRequest]) -> None:
    for one in requests:
        if one.decision.alignment is not None:
            return
    assert plan_of(requests, LayoutPolicy(alignment=1)).padding_bytes == 0


@many
@given(requests=any_requests, small=st.booleans())
def test_packed_tensors_have_pointers_that_are_safe_for_their_elements(
    requests: list[TensorRequest], small: bool
) -> None:
    floor = LayoutPolicy(alignment=1, element_floor=True)
    below = LayoutPolicy(alignment=64, align_threshold=2**50, small_alignment=1)
    for one in plan_of(requests, below if small else floor).placements:
        if one.request.decision.alignment is None:
            assert one.offset % max(1, one.request.facts.element_bits // 8) == 0


def test_a_file_padded_to_its_largest_alignment_keeps_within_the_shard_limit() -> None:
    """With small tensors behind a large one, the end of the file is rounded up the farthest."""
    layout = LayoutPolicy(
        alignment=4096,
        align_threshold=4096,
        small_alignment=64,
        pad="file",
        max_shard_size_bytes=8192 + 100,
    )
    plan = check_plan(plan_of([request(0, 8000), request(1, 100), request(2, 92)], layout), layout)
    assert [file.size for file in plan.files] == [8192, 128]


def test_a_shard_is_filled_to_its_last_byte() -> None:
    layout = LayoutPolicy(alignment=1, max_shard_size_bytes=1000)
    plan = plan_of([request(number, 500) for number in range(5)], layout)
    assert [file.size for file in plan.files] == [1000, 1000, 500]


def test_tied_tensors_lie_where_the_strictest_of_them_wants() -> None:
    ties = [request(n, 100, home="a", alignment=1 << n) for n in (0, 7, 3)]
    plan = plan_of([request(9, 3), *ties], LayoutPolicy(alignment=1))
    assert [one.offset for one in plan.placements] == [0, 128, 128, 128]


def test_an_empty_tensor_before_one_over_the_limit_breaks_no_rule() -> None:
    layout = LayoutPolicy(max_shard_size_bytes=1000)
    plan = plan_of([request(0, 0), request(1, 5000)], layout)
    assert check_plan(plan, layout).total_bytes == 5000


def test_a_data_file_that_onnx_would_refuse_by_name_gets_the_default_one() -> None:
    plan = plan_of([request(0, 10, home="a..b.data")], LayoutPolicy(), keep_homes=True)
    assert [file.name for file in plan.files] == [default_data_name(LayoutPolicy(), "m.onnx")]


@given(value=st.integers(0, 10_000), power=st.integers(0, 12))
def test_rounding_up_is_counting_to_the_next_multiple(value: int, power: int) -> None:
    assert round_up(value, 1 << power) == next_multiple(value, 1 << power)


def test_no_tensor_makes_no_file() -> None:
    for pad in ("none", "file", "tensor"):
        plan = plan_of([request(0, 10, external=False)], LayoutPolicy(pad=pad))
        assert not plan.files
        assert not plan.placements
        assert plan.padding_bytes == 0

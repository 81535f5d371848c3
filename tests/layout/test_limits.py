"""A shard's size is a wish; what a consumer can read is a limit, and past it nothing is planned."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass import ModelError
from onnx_align_pass.errors import FileLimitError
from onnx_align_pass.layout.check import violations
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest

from .requests import any_plan, request

MIB = 1 << 20


def plan_of(
    requests: list[TensorRequest], layout: LayoutPolicy, keep_homes: bool = False
) -> LayoutPlan:
    return make_plan(requests, layout, model_name="m.onnx", keep_homes=keep_homes)


def test_a_tensor_larger_than_a_shard_has_a_file_of_its_own_and_a_note() -> None:
    layout = LayoutPolicy(alignment=1, max_shard_size_bytes=1000)
    plan = plan_of([request(0, 400), request(1, 5000), request(2, 400)], layout)
    assert [file.size for file in plan.files] == [400, 5000, 400]
    assert plan.notes == (
        "w1 has 5,000 bytes: its file m-00002-of-00003.onnx.data is larger than the 1,000 that "
        "a shard was to have",
    )


def test_padding_makes_a_file_larger_too() -> None:
    for pad, notes in (("none", 0), ("file", 1), ("tensor", 1)):
        layout = LayoutPolicy(alignment=4096, pad=pad, max_shard_size_bytes=4000)  # type: ignore[arg-type]
        assert len(plan_of([request(0, 3000)], layout).notes) == notes


def test_what_fits_is_not_noted() -> None:
    layout = LayoutPolicy(alignment=1, max_shard_size_bytes=1000)
    assert plan_of([request(0, 1000), request(1, 1000)], layout).notes == ()


def test_a_tensor_that_the_consumer_cannot_read_is_named() -> None:
    layout = LayoutPolicy(alignment=1, max_file_bytes=1000)
    with pytest.raises(FileLimitError) as error:
        plan_of([request(0, 400), request(1, 1001), request(2, 2000)], layout)
    assert isinstance(error.value, ModelError)
    assert error.value.tensor == "w1"
    assert error.value.file == "m-00002-of-00003.onnx.data"
    assert error.value.needed == "at most 1,000 bytes"
    assert error.value.found == "1,001 bytes, of which the tensor has 1,001"
    assert "split the weight" in str(error.value)


@pytest.mark.parametrize("pad", ["file", "tensor"])
def test_padding_counts_against_what_can_be_read(pad: str) -> None:
    layout = LayoutPolicy(alignment=1024, pad=pad, max_file_bytes=1000)  # type: ignore[arg-type]
    with pytest.raises(FileLimitError, match="less padding"):
        plan_of([request(0, 900)], layout)
    assert plan_of([request(0, 900)], replace(layout, pad="none")).total_bytes == 900
    assert plan_of([request(0, 900)], replace(layout, max_file_bytes=1024)).total_bytes == 1024


@pytest.mark.parametrize("wish", [None, 10_000])
def test_files_are_begun_before_they_are_larger_than_can_be_read(wish: int | None) -> None:
    layout = LayoutPolicy(alignment=1, max_file_bytes=1000, max_shard_size_bytes=wish)
    plan = plan_of([request(number, 400) for number in range(5)], layout)
    assert [file.size for file in plan.files] == [800, 800, 400]
    assert plan.notes == ()


def test_a_wish_below_the_limit_is_heeded() -> None:
    layout = LayoutPolicy(alignment=1, max_file_bytes=1000, max_shard_size_bytes=500)
    plan = plan_of([request(number, size) for number, size in enumerate((400, 400, 900))], layout)
    assert [file.size for file in plan.files] == [400, 400, 900]
    assert len(plan.notes) == 1


def test_in_place_a_file_larger_than_can_be_read_is_split() -> None:
    layout = LayoutPolicy(alignment=1, max_file_bytes=1000)
    assert layout.keeps_homes
    homes = ["a.bin", "a.bin", "b.bin"]
    tensors = [request(n, 600, home=home, offset=600 * n) for n, home in enumerate(homes)]
    plan = plan_of(tensors, layout, keep_homes=True)
    names = ["a-00001-of-00002.bin", "a-00002-of-00002.bin", "b.bin"]
    assert [one.file for one in plan.placements] == names
    again = [replaced._replace(home=name) for replaced, name in zip(tensors, names, strict=True)]
    assert [one.file for one in plan_of(again, layout, keep_homes=True).placements] == names


def test_more_files_than_the_consumer_reads_are_refused() -> None:
    tensors = [request(number, 400) for number in range(5)]
    layout = LayoutPolicy(alignment=1, max_shard_size_bytes=400, max_files=4)
    with pytest.raises(FileLimitError, match=r"needed at most 4, found 5\)\. Raise the size"):
        plan_of(tensors, layout)
    assert len(plan_of(tensors, replace(layout, max_files=5)).files) == 5
    assert len(plan_of(tensors, replace(layout, max_shard_size_bytes=800)).files) == 3


def test_in_place_too_many_files_are_refused_with_another_hint() -> None:
    tensors = [request(number, 400, home=f"{number}.bin") for number in range(3)]
    layout = LayoutPolicy(max_files=2)
    with pytest.raises(FileLimitError, match="Name a data file for all"):
        plan_of(tensors, layout, keep_homes=True)
    assert len(plan_of(tensors, layout).files) == 1


def limited(layout: LayoutPolicy, cap: int | None, files: int | None) -> LayoutPolicy:
    return replace(layout, max_file_bytes=cap, max_files=files)


@settings(max_examples=300, deadline=None)
@given(
    **any_plan,
    cap=st.none() | st.sampled_from([500, 5000, 10_000, 100_000, 2**41]),
    most=st.none() | st.integers(1, 6),
)
def test_a_plan_keeps_to_its_limits_or_there_is_none(
    requests: list[TensorRequest],
    layout: LayoutPolicy,
    keep_homes: bool,
    cap: int | None,
    most: int | None,
) -> None:
    asked = limited(layout, cap, most)
    # What the planner would do if the limit were a wish tells whether the limit can be kept.
    wish = min([one for one in (cap, layout.max_shard_size_bytes) if one], default=None)
    free = plan_of(requests, replace(layout, max_shard_size_bytes=wish), keep_homes)
    fits = all(cap is None or file.size <= cap for file in free.files)
    if fits and (most is None or len(free.files) <= most):
        plan = plan_of(requests, asked, keep_homes)
        assert (plan.files, plan.placements) == (free.files, free.placements)
        assert list(violations(plan, asked)) == []
    else:
        with pytest.raises(FileLimitError):
            plan_of(requests, asked, keep_homes)
        assert list(violations(free, asked)) != []


def test_the_check_sees_a_limit_that_the_planner_missed() -> None:
    tensors = [request(number, 400) for number in range(3)]
    plan = plan_of(tensors, LayoutPolicy(alignment=1, max_shard_size_bytes=400))
    for layout, problem in (
        (LayoutPolicy(alignment=1, max_files=2), "there are 3 files, more than 2"),
        (LayoutPolicy(alignment=1, max_file_bytes=399), "is larger than 399 bytes"),
    ):
        assert any(problem in found for _, found in violations(plan, layout))

"""`pad`: who has whole blocks, and that nobody else is in them; byte by byte."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.layout.check import violations
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.layout.satisfy import Lying, breaches
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest

from .naive import shared_alignment, wanted_alignment
from .requests import request

NAMES = (None, "w.safetensors")
any_tensors = st.builds(
    lambda seed, count: tensors(random.Random(seed), count),
    st.integers(0, 2**32),
    st.integers(1, 9),
)
any_layout = st.builds(
    LayoutPolicy,
    alignment=st.sampled_from([1, 16, 64, 128]),
    small_alignment=st.sampled_from([1, 8, 32]),
    align_threshold=st.sampled_from([0, 100, 10**6]),
    element_floor=st.booleans(),
    pad=st.just("tensor"),
    max_shard_size_bytes=st.sampled_from([None, 300, 2000]),
    data_name=st.sampled_from(NAMES),
)


def tensors(rng: random.Random, count: int) -> list[TensorRequest]:
    """Small tensors, many of them tied, some with an alignment of their own."""
    return [
        request(
            number,
            nbytes,
            bits=rng.choice((4, 8, 32, 64, 128)),
            alignment=rng.choice((None, None, 256)),
            home=rng.choice((None, "a.data")),
            offset=rng.choice((0, 300)),
        )
        for number in range(count)
        for nbytes in [rng.choice((0, 1, 99, 100, 128, 300))]
    ]


def bytes_of(plan: LayoutPlan) -> dict[str, list[str | None]]:
    """Each byte of each file, with the tensor that it belongs to; padding belongs to none."""
    content: dict[str, list[str | None]] = {file.name: [None] * file.size for file in plan.files}
    for file in plan.files:
        content[file.name][: len(file.header)] = ["header"] * len(file.header)
    for one in plan.placements:
        owner = one.tied_to or one.request.facts.slot.place
        content[one.file][one.offset : one.offset + one.length] = [owner] * one.length
    return content


@settings(max_examples=300, deadline=None)
@given(requests=any_tensors, layout=any_layout)
def test_each_tensor_has_its_blocks_whole_and_for_itself(
    requests: list[TensorRequest], layout: LayoutPolicy
) -> None:
    plan = make_plan(requests, layout, model_name="m.onnx")
    content = bytes_of(plan)
    for one in plan.placements:
        block = wanted_alignment(one.request, layout)
        if layout.data_name is None:
            block = shared_alignment(one.request, requests, layout)
        owner = one.tied_to or one.request.facts.slot.place
        for start in range(one.offset, one.offset + one.length, block):
            held = content[one.file][start : start + block]
            assert len(held) == block, "the file ends inside a block"
            assert set(held) <= {owner, None}
    assert list(violations(plan, layout)) == []


@settings(max_examples=300, deadline=None)
@given(requests=any_tensors, layout=any_layout)
def test_the_file_ends_on_the_boundary_of_its_last_tensor(
    requests: list[TensorRequest], layout: LayoutPolicy
) -> None:
    plan = make_plan(requests, layout, model_name="m.onnx")
    for file in plan.files:
        last = max(
            (one for one in plan.placements if one.file == file.name and one.tied_to is None),
            key=lambda one: (one.offset, one.length),
        )
        end = last.offset + last.length
        assert file.size % last.alignment == 0
        assert end <= file.size < end + last.alignment


@settings(max_examples=300, deadline=None)
@given(requests=any_tensors, layout=any_layout)
def test_with_pad_file_the_end_alone_is_rounded_up_to_the_largest_boundary(
    requests: list[TensorRequest], layout: LayoutPolicy
) -> None:
    padded = make_plan(requests, replace(layout, pad="file"), model_name="m.onnx")
    for file in padded.files:
        inside = [one for one in padded.placements if one.file == file.name]
        largest = max(one.alignment for one in inside)
        end = max(one.offset + one.length for one in inside)
        assert file.size % largest == 0
        assert end <= file.size < end + largest


@settings(max_examples=300, deadline=None)
@given(requests=any_tensors, layout=any_layout)
def test_without_padding_a_file_ends_with_its_last_tensor(
    requests: list[TensorRequest], layout: LayoutPolicy
) -> None:
    plan = make_plan(requests, replace(layout, pad="none"), model_name="m.onnx")
    for file in plan.files:
        ends = [one.offset + one.length for one in plan.placements if one.file == file.name]
        assert file.size == max(ends)


@pytest.mark.parametrize("pad", ["file", "tensor"])
def test_a_file_that_ends_too_early_is_seen_by_the_check_and_by_who_looks_at_files(
    pad: str,
) -> None:
    layout = LayoutPolicy(alignment=64, pad=pad)  # type: ignore[arg-type]
    plan = make_plan([request(0, 100), request(1, 30)], layout, model_name="m.onnx")
    (file,) = plan.files
    lying = [
        Lying(one.request.facts.slot.name, one.file, one.offset, one.length, 8)
        for one in plan.placements
    ]
    for size, right in ((file.size, True), (file.size - 1, False), (158, False)):
        cut = replace(plan, files=(replace(file, size=size),))
        assert (list(violations(cut, layout)) == []) == right
        assert (list(breaches(lying, {file.name: size}, layout)) == []) == right

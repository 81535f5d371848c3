"""A plan for a consumer is what it wants: for random models, by an oracle that knows the table."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnx_align_pass import plan_file
from onnx_align_pass.errors import ExpansionError, FileLimitError
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.satisfy import Lying, breaches
from onnx_align_pass.presets import PRESETS
from tests.corpus import oracle
from tests.corpus.build import model_of, point

from .oracle import Placed, broken_promises, placed_in
from .random_models import EDGES, random_model
from .table import TABLE, Row

GIGA = (1_000_000_000, 900_000_000, 1_999_999_000)
"""Sizes at which shards are begun."""
rows = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
seeds = given(seed=st.integers(0, 2**32))
some = settings(max_examples=40, deadline=None)
few = settings(max_examples=15, deadline=None)


def plan_of(row: Row, seed: int, sizes: tuple[int, ...] = EDGES) -> tuple[LayoutPlan, list[str]]:
    """The plan for a random model, and the names of all of its tensors that have bytes."""
    preset = PRESETS[row.name]
    with tempfile.TemporaryDirectory() as folder:
        model = random_model(Path(folder), seed, sizes=sizes)
        plan = plan_file(model, storage=preset.storage, layout=preset.layout)
        names = [tensor.name for _, tensor in oracle.walk(oracle.parse(model))]
    return plan, names


def sizes_of(plan: LayoutPlan) -> dict[str, int]:
    return {file.name: file.size for file in plan.files}


@rows
@some
@seeds
def test_every_tensor_lies_as_the_consumer_wants_it(row: Row, seed: int) -> None:
    plan, names = plan_of(row, seed)
    assert broken_promises(row, placed_in(plan), sizes_of(plan)) == []
    found = [one.request.facts.slot.name for one in plan.placements]
    found += [one.facts.slot.name for one in plan.inline]
    assert Counter(found) == Counter(names)


@rows
@some
@seeds
def test_small_tensors_are_inline_and_large_ones_external(row: Row, seed: int) -> None:
    plan, _ = plan_of(row, seed)
    for one in plan.placements:
        assert one.request.facts.nbytes >= row.inline
    for request in plan.inline:
        facts = request.facts
        may_feed_a_shape = len(facts.shape) <= 1 and facts.nbytes <= 1024
        assert facts.nbytes < row.inline or may_feed_a_shape


@rows
@some
@seeds
def test_no_gap_is_larger_than_it_must_be(row: Row, seed: int) -> None:
    plan, _ = plan_of(row, seed)
    ends = {file.name: len(file.header) for file in plan.files}
    blocks = dict.fromkeys(ends, 1)
    for one in plan.placements:
        if one.tied_to is None:
            wanted = one.alignment
            # With whole blocks, the gap before a tensor is what is left of two of them.
            slack = wanted if row.pad != "tensor" else max(wanted, blocks[one.file])
            assert 0 <= one.offset - ends[one.file] < slack
            ends[one.file] = one.offset + one.length
            blocks[one.file] = wanted


@rows
@some
@seeds
def test_bytes_that_were_shared_are_shared_but_not_in_safetensors(row: Row, seed: int) -> None:
    plan, _ = plan_of(row, seed)
    by_source: dict[object, set[tuple[str, int]]] = {}
    alone = 0
    for one in plan.placements:
        source = one.request.source if one.request.home else one.request.facts.slot.place
        by_source.setdefault(source, set()).add((one.file, one.offset))
        alone += 1
    places = sum(len(found) for found in by_source.values())
    assert places == (alone if row.name == "safetensors" else len(by_source))


@rows
@some
@seeds
def test_files_are_called_as_the_consumer_looks_for_them(row: Row, seed: int) -> None:
    names = sizes_of(plan_of(row, seed)[0])
    usual = {"web": "source.onnx_data", "safetensors": "source.safetensors"}
    assert list(names) in ([], [usual.get(row.name, "source.onnx.data")])


@rows
@few
@seeds
def test_large_models_are_split_where_the_consumer_wants_it(row: Row, seed: int) -> None:
    try:
        plan, _ = plan_of(row, seed, GIGA)
    except ExpansionError as refused:
        # Only where every tensor has bytes of its own do those that are shared grow.
        if row.name != "safetensors" or refused.nbytes <= 2 * refused.held_bytes:
            raise
        reject()
    sizes = sizes_of(plan)
    assert broken_promises(row, placed_in(plan), sizes) == []
    total = plan.total_bytes
    assert len(sizes) == 1 or (row.shard is not None and total > row.shard)
    if row.name == "web":
        numbers = ["", *(f"_{number}" for number in range(1, len(sizes)))]
        assert list(sizes) == [f"source.onnx_data{number}" for number in numbers]
    elif len(sizes) > 1:
        assert list(sizes) == [
            f"source-{number:05d}-of-{len(sizes):05d}.onnx.data"
            for number in range(1, len(sizes) + 1)
        ]


def lying(placed: list[Placed]) -> list[Lying]:
    return [Lying(*one) for one in placed]


@rows
@some
@seeds
def test_nothing_in_the_result_breaks_the_layout(row: Row, seed: int) -> None:
    plan, _ = plan_of(row, seed)
    layout = PRESETS[row.name].layout
    assert list(breaches(lying(placed_in(plan)), sizes_of(plan), layout)) == []


@rows
@some
@given(seed=st.integers(0, 2**32), far=st.booleans())
def test_a_tensor_that_is_moved_off_its_boundary_is_found(row: Row, seed: int, far: bool) -> None:
    plan, _ = plan_of(row, seed)
    placed = placed_in(plan)
    movable = [n for n, one in enumerate(placed) if row.wanted(one.nbytes, one.element_bits) > 1]
    assume(movable)
    index = random.Random(seed).choice(movable)
    one = placed[index]
    by = row.wanted(one.nbytes, one.element_bits) // 2 if far else 1
    placed[index] = one._replace(offset=one.offset + by)
    assert any("off its boundary" in said for said in broken_promises(row, placed, sizes_of(plan)))
    found = list(breaches(lying(placed), sizes_of(plan), PRESETS[row.name].layout))
    assert ("misaligned", one.name) in [(breach.code, breach.tensor) for breach in found]


@pytest.mark.parametrize("row", [one for one in TABLE.values() if one.pad != "none"])
@some
@seeds
def test_a_file_of_another_size_is_found_where_sizes_count(row: Row, seed: int) -> None:
    plan, _ = plan_of(row, seed)
    assume(plan.files)
    sizes = {file.name: file.size - 1 for file in plan.files}
    assert broken_promises(row, placed_in(plan), sizes) != []
    assert list(breaches(lying(placed_in(plan)), sizes, PRESETS[row.name].layout)) != []


def hole(folder: Path, *nbytes: int) -> Path:
    """A model of weights of so many bytes, in a file that takes no room."""
    offset, tensors = 0, []
    for number, size in enumerate(nbytes):
        tensor = TensorProto(name=f"w{number}", data_type=TensorProto.INT8, dims=[size])
        entries = {"location": "d", "offset": str(offset), "length": str(size)}
        tensors.append(point(tensor, entries.items()))
        offset += size
    with (folder / "d").open("wb") as file:
        file.truncate(offset)
    graph = helper.make_graph([], "g", [], [], initializer=tensors)
    (folder / "m.onnx").write_bytes(model_of(graph).SerializeToString())
    return folder / "m.onnx"


def test_a_weight_that_no_browser_holds_is_refused(tmp_path: Path) -> None:
    layout, cap = PRESETS["web"].layout, TABLE["web"].cap
    assert cap == 2_145_386_496
    plan = plan_file(hole(tmp_path, 5000, cap), layout=layout)
    assert [file.size for file in plan.files] == [5000, cap]
    assert any(note.startswith(f"w1 has {cap:,} bytes") for note in plan.notes)
    with pytest.raises(FileLimitError, match="w1"):
        plan_file(hole(tmp_path, 5000, cap + 1), layout=layout)


def test_more_chunks_than_transformers_js_reads_are_refused(tmp_path: Path) -> None:
    layout = PRESETS["web"].layout
    plan = plan_file(hole(tmp_path, *[1_900_000_000] * 100), layout=layout)
    assert len(plan.files) == 100
    assert plan.files[99].name == "m.onnx_data_99"
    with pytest.raises(FileLimitError, match="at most 100, found 101"):
        plan_file(hole(tmp_path, *[1_900_000_000] * 101), layout=layout)
    small = replace(layout, max_shard_size_bytes=2_000)
    with pytest.raises(FileLimitError, match="Raise the size of a shard"):
        plan_file(hole(tmp_path, *[1_900] * 101), layout=small)
    assert len(plan_file(hole(tmp_path, *[1_900] * 101), layout=layout).files) == 1


def test_a_plan_for_safetensors_lists_every_byte_of_its_file() -> None:
    for seed in range(20):
        plan, _ = plan_of(TABLE["safetensors"], seed)
        for file in plan.files:
            length = int.from_bytes(file.header[:8], "little")
            entries = json.loads(file.header[8:])
            assert 8 + length == len(file.header)
            covered = sorted(tuple(one["data_offsets"]) for one in entries.values())
            ends = [end for _, end in covered]
            assert [start for start, _ in covered] == [0, *ends[:-1]]
            assert ends[-1] == file.size - len(file.header)

"""What align has written satisfies what it was asked for, and has no dead bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from safetensors.numpy import save_file

from onnx_align_pass import LayoutPolicy, StoragePolicy, align_file
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.files import look_at_files
from onnx_align_pass.inspection.inventory import inventory_of
from onnx_align_pass.inspection.report import ModelReport, PresetReport
from onnx_align_pass.inspection.satisfied import preset_reports
from onnx_align_pass.layout.satisfy import Laid, Lying, breaches
from onnx_align_pass.presets import PRESETS, Preset
from onnx_align_pass.references import References
from tests.align.small_models import external_model
from tests.corpus.build import MODEL, point, showing, write

DTYPES = ("uint8", "float16", "int32", "float32", "float64", "complex128")
sizes = st.one_of(st.integers(0, 300), st.integers(1000, 1100), st.integers(3000, 40_000))
tensors = st.lists(st.tuples(st.sampled_from(DTYPES), sizes), max_size=8)
powers = st.integers(0, 20).map(lambda bits: 1 << bits)
layouts = st.builds(
    LayoutPolicy,
    alignment=powers,
    align_threshold=st.sampled_from([0, 1000, 4096, 1 << 20]),
    small_alignment=powers,
    element_floor=st.booleans(),
    pad=st.sampled_from(["none", "file", "tensor"]),
    max_shard_size_bytes=st.sampled_from([None, 1, 100_000]),
)
storages = st.sampled_from([0, 1024, 4096]).map(
    lambda size: StoragePolicy(size_threshold_bytes=size)
)


def model_of(folder: Path, drawn: Sequence[tuple[str, int]]) -> Path:
    """A model of inline tensors with no byte 0 in them."""
    made = []
    for index, (dtype, nbytes) in enumerate(drawn):
        width = np.dtype(dtype).itemsize
        values = np.full(nbytes // width * width, 1 + index, np.uint8).view(dtype)
        made.append(numpy_helper.from_array(values, f"w{index}"))
    graph = helper.make_graph([], "graph", [], [], made)
    return write(folder, graph)


def against(source: Path, *presets: Preset) -> list[PresetReport]:
    with inventory_of(source) as inventory:
        looked = list(look_at_files(inventory, References()))
        return list(preset_reports(inventory, looked, presets))


@settings(max_examples=150, deadline=None)
@given(drawn=tensors, layout=layouts, storage=storages)
def test_what_was_aligned_has_no_dead_bytes_and_satisfies_what_was_asked_for(
    drawn: list[tuple[str, int]], layout: LayoutPolicy, storage: StoragePolicy
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = model_of(Path(folder), drawn)
        aligned = Path(folder, "aligned.onnx")
        align_file(source, aligned, layout=layout, storage=storage, durable=False)
        report = inspect_file(aligned)
        (preset,) = against(aligned, Preset("asked", "a test", "", layout, storage))
    assert preset.why_not is None
    assert preset.breaches == 0
    _check_bytes(report)
    assert report.findings == tuple(one for one in report.findings if one.code == "wide-gap")


def _check_bytes(report: ModelReport) -> None:
    for file in report.files:
        assert file.dead_bytes == file.header_bytes == 0
        assert file.live_bytes + file.padding_bytes == file.nbytes
        assert file.live_bytes == sum(
            one.length or 0
            for one in report.tensors
            if one.file == file.name and one.tied_to is None
        )


MADE = [one for one in PRESETS.values() if one.name != "safetensors"]
"""A safetensors file has its own test below."""


@pytest.mark.parametrize("preset", MADE, ids=lambda preset: preset.name)
def test_what_was_aligned_with_a_preset_satisfies_it(preset: Preset, tmp_path: Path) -> None:
    source = external_model(
        tmp_path / MODEL, {f"w{size}": (size, 11) for size in range(5, 999, 99)}
    )
    assert not against(source, preset)[0].satisfied or preset.layout.alignment <= 16
    aligned = tmp_path / "aligned" / MODEL
    align_file(source, aligned, layout=preset.layout, storage=preset.storage, durable=False)
    report = {one.name: one for one in inspect_file(aligned).presets}
    assert report[preset.name].satisfied
    assert report[preset.name].breaches == 0


def test_every_preset_is_reported_in_order(tmp_path: Path) -> None:
    report = inspect_file(external_model(tmp_path / MODEL))
    assert [(one.name, one.experimental) for one in report.presets] == [
        (one.name, one.experimental) for one in PRESETS.values()
    ]


def test_a_tensor_that_should_be_external_is_a_breach(tmp_path: Path) -> None:
    source = model_of(tmp_path, [("float32", 4000), ("float32", 8000), ("float32", 100)])
    page, direct = against(source, PRESETS["page"], PRESETS["direct-io"])
    assert page.why_not == "tensor 'w0': it is inline (found 4,000 bytes)"
    assert page.breaches == 2
    assert direct.why_not == "tensor 'w1': it is inline (found 8,000 bytes)"
    assert direct.breaches == 1


def test_a_model_without_weights_satisfies_all_but_what_it_has_no_file_for(tmp_path: Path) -> None:
    report = inspect_file(model_of(tmp_path, [("float32", 100)]))
    assert all(one.satisfied for one in report.presets)


def always(outside: bool) -> StoragePolicy:
    return StoragePolicy(size_threshold_bytes=None, external_if=lambda facts: outside)


def test_policies_that_differ_in_a_predicate_are_not_taken_for_one(tmp_path: Path) -> None:
    source = model_of(tmp_path, [("float32", 4000)])
    lazy, eager = (Preset("x", "", "", storage=always(outside)) for outside in (False, True))
    assert [one.satisfied for one in against(source, lazy, eager)] == [True, False]


lying = st.lists(
    st.builds(
        Lying,
        name=st.sampled_from("abc"),
        file=st.sampled_from(["x", "y", "z"]),
        offset=st.integers(0, 40).map(lambda one: one * 100),
        nbytes=st.sampled_from([0, 10, 5000]),
        element_bits=st.sampled_from([4, 32, 128]),
        alignment=st.sampled_from([None, 16]),
    ),
    max_size=6,
)


@given(lying=lying, layout=layouts, size=st.integers(0, 20_000))
def test_the_first_breach_is_that_of_the_list_and_the_number_its_length(
    lying: list[Lying], layout: LayoutPolicy, size: int
) -> None:
    layout = replace(layout, max_files=2, max_file_bytes=9000)
    found = list(breaches(lying, {"x": size, "y": 0}, layout))
    first, count = Laid(lying, {"x": size, "y": 0}).first_breach(layout)
    assert count == len(found)
    assert first == (found[0] if found else None)


def safetensors_model(folder: Path, pad: int) -> Path:
    """A model that points into a safetensors file, and the file."""
    made: dict[str, npt.NDArray[Any]] = {
        "a": np.arange(1, 513, dtype=np.float32),
        "b": np.ones((32, 32), np.float32),
    }
    padded = {**made, "__pad_0__": np.zeros(pad, np.uint8)} if pad else made
    path = folder / "model.safetensors"
    save_file(padded, path)
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    more = -begin % 64
    path.write_bytes(
        (begin - 8 + more).to_bytes(8, "little") + data[8:begin] + b" " * more + data[begin:]
    )
    data = path.read_bytes()
    protos = []
    for name, values in made.items():
        at, length = data.index(values.tobytes(), begin + more), values.nbytes
        pairs = (("location", path.name), ("offset", str(at)), ("length", str(length)))
        protos.append(point(numpy_helper.from_array(values, name), pairs))
    return write(folder, showing(protos))


@pytest.mark.parametrize("pad", [0, 64])
def test_a_safetensors_file_that_onnx_points_into_is_known_as_one(pad: int, tmp_path: Path) -> None:
    report = inspect_file(safetensors_model(tmp_path, pad))
    (file,) = report.files
    assert file.format == "safetensors"
    assert file.header_bytes % 64 == 0
    assert (file.live_bytes, file.padding_bytes, file.dead_bytes) == (6144, pad, 0)
    assert report.findings == ()
    assert {one.name: one for one in report.presets}["safetensors"].satisfied


def test_a_safetensors_file_that_was_cut_short_satisfies_nothing(tmp_path: Path) -> None:
    source = safetensors_model(tmp_path, 0)
    data = tmp_path / "model.safetensors"
    data.write_bytes(data.read_bytes() + b"more")
    report = inspect_file(source)
    assert {one.code for one in report.findings} == {"bad-safetensors"}
    preset = {one.name: one for one in report.presets}["safetensors"]
    assert preset.why_not is not None
    assert preset.why_not.startswith("model.safetensors: it is no safetensors file")
    assert "its entries end at byte" in preset.why_not


def test_a_tensor_that_is_no_entry_breaks_the_preset(tmp_path: Path) -> None:
    source = safetensors_model(tmp_path, 0)
    inside = source.read_bytes().replace(b"4096", b"2048")
    source.write_bytes(inside.replace(b"\x08\x20\x08\x20", b"\x08\x10\x08\x20"))
    report = inspect_file(source)
    preset = {one.name: one for one in report.presets}["safetensors"]
    assert report.tensors[1].shape == (16, 32)
    assert preset.breaches == 1
    assert (preset.why_not or "").startswith("tensor 'b': it is no entry of the header")

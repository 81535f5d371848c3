"""A model written for a consumer holds what it held, and runs as it ran, everywhere."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import align_file, load, save
from onnx_align_pass.passes.collect import tensors_of
from onnx_align_pass.presets import PRESETS
from tests.corpus import oracle
from tests.corpus.dtypes import BITS
from tests.corpus.running import run, same_outputs

from .oracle import Placed, broken_promises
from .random_models import random_model
from .table import TABLE, Row

SEEDS = (6, 17, 22, 24)
"""Of models that hold between them all that is odd."""
rows = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)


def lying(model: Path) -> list[Placed]:
    """The external tensors of a model, as it says itself."""
    return [
        Placed(
            tensor.name,
            entries["location"],
            int(entries["offset"]),
            int(entries["length"]),
            BITS[tensor.data_type],
        )
        for _, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entries in [oracle.entries_of(tensor)]
    ]


def sizes(model: Path, placed: list[Placed]) -> dict[str, int]:
    return {one.file: (model.parent / one.file).stat().st_size for one in placed}


def same_everywhere(source: Path, result: Path) -> None:
    """Hold onnx, onnx-ir and onnxruntime to find in one what is in the other."""
    wanted = oracle.tensors(source)
    assert oracle.tensors(result) == wanted
    assert oracle.rest(result) == oracle.rest(source)
    loaded = {place: tensor.raw_data for place, tensor in oracle.walk(onnx.load(result))}
    assert loaded == {place: one.raw for place, one in wanted.items()}
    held = {one.slot.place: one.tensor for one in tensors_of(ir.load(result))}
    for place, one in wanted.items():
        found = held[place]
        assert found is not None
        assert found.tobytes() == one.raw
    onnx.checker.check_model(str(result))
    assert same_outputs(run(source), run(result))


def test_the_models_hold_between_them_all_that_is_odd(tmp_path: Path) -> None:
    odd: set[str] = set()
    for seed in SEEDS:
        (folder := tmp_path / str(seed)).mkdir()
        model = random_model(folder, seed, filled=True)
        placed = lying(model)
        odd |= {"tied"} if len({one.range for one in placed}) < len(placed) else set()
        odd |= {"4 bits" for one in placed if one.element_bits == 4 and one.nbytes > 4096}
        odd |= {"large" for one in placed if one.nbytes >= 1 << 20}
        odd |= {"small" for one in placed if one.nbytes < 1024}
        for place, tensor in oracle.walk(oracle.parse(model)):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                odd |= {"attribute"} if place.endswith(".t") else set()
                odd |= {"in a subgraph"} if ".g." in place else set()
            elif len(tensor.raw_data) >= 4096:
                odd.add("inline")
    wanted = ["tied", "4 bits", "large", "small", "attribute", "in a subgraph", "inline"]
    assert odd == set(wanted)


@rows
@pytest.mark.parametrize("seed", SEEDS)
def test_it_loads_and_runs_everywhere_with_the_same_outputs(
    row: Row, seed: int, tmp_path: Path
) -> None:
    preset = PRESETS[row.name]
    source = random_model(tmp_path, seed, filled=True)
    result = tmp_path / "out" / "m.onnx"
    align_file(source, result, storage=preset.storage, layout=preset.layout, durable=False)
    placed = lying(result)
    assert placed
    assert broken_promises(row, placed, sizes(result, placed)) == []
    same_everywhere(source, result)
    again = align_file(result, storage=preset.storage, layout=preset.layout, durable=False)
    assert again.models[0].unchanged


@rows
def test_a_model_in_memory_is_written_to_the_same_bytes(row: Row, tmp_path: Path) -> None:
    preset = PRESETS[row.name]
    source = random_model(tmp_path, SEEDS[0], filled=True)
    by_file, by_memory = tmp_path / "a" / "m.onnx", tmp_path / "b" / "m.onnx"
    by_memory.parent.mkdir()
    policies = {"storage": preset.storage, "layout": preset.layout}
    align_file(source, by_file, **policies, durable=False)  # type: ignore[arg-type]
    save(load(source), by_memory, **policies, durable=False)  # type: ignore[arg-type]
    names = sorted(path.name for path in by_file.parent.iterdir())
    assert sorted(path.name for path in by_memory.parent.iterdir()) == names
    for name in set(names) - {"m.onnx"}:
        assert (by_memory.parent / name).read_bytes() == (by_file.parent / name).read_bytes()


def test_chunks_for_the_web_are_called_as_transformers_js_looks_for_them(tmp_path: Path) -> None:
    preset = PRESETS["web"]
    source = random_model(tmp_path, SEEDS[0], filled=True)
    result = tmp_path / "onnx" / "model.onnx"
    layout = replace(preset.layout, max_shard_size_bytes=50_000)
    align_file(source, result, storage=preset.storage, layout=layout, durable=False)
    placed = lying(result)
    chunks = sizes(result, placed)
    assert len(chunks) > 2
    # What it asks for, by the number in the config: `NAME.onnx_data`, then `NAME.onnx_data_1` ...
    asked = [f"model.onnx_data{'' if one == 0 else f'_{one}'}" for one in range(len(chunks))]
    assert sorted(chunks) == sorted(asked)
    assert sorted(path.name for path in result.parent.iterdir()) == ["model.onnx", *sorted(asked)]
    row = TABLE["web"]._replace(shard=50_000)
    assert broken_promises(row, placed, chunks) == []
    same_everywhere(source, result)


def test_a_file_for_safetensors_is_read_by_it(tmp_path: Path) -> None:
    preset = PRESETS["safetensors"]
    for seed in SEEDS:
        (folder := tmp_path / str(seed)).mkdir()
        source = random_model(folder, seed, filled=True)
        result = folder / "out" / "m.onnx"
        align_file(source, result, storage=preset.storage, layout=preset.layout, durable=False)
        (file,) = {one.file for one in lying(result)}
        content = (result.parent / file).read_bytes()
        entries = dict(import_module("safetensors").deserialize(content))
        wanted = {one.name: one for one in oracle.tensors(result).values()}
        for one in lying(result):
            assert bytes(entries[one.name]["data"]) == wanted[one.name].raw

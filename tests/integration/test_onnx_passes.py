"""onnx-passes: its command and its registry run the pass `write-aligned`."""

from __future__ import annotations

import importlib
import json
import lzma
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import DestinationError
from onnx_align_pass.hooks.onnx_passes import register
from tests.align.small_models import external_model, weights_model
from tests.corpus.running import run, same_outputs

from .aligned import locations, offsets, quiet

pytestmark = pytest.mark.needs_onnx_passes

PLUGIN = "onnx_align_pass.hooks.onnx_passes_pass"


def command(source: Path, section: dict[str, Any], *options: str) -> Any:
    """Run onnx-passes as its users do, in the folder of the model; JSON is YAML."""
    config = source.parent / "config.yaml"
    passes = ["cleanup", "write-aligned"]
    config.write_text(json.dumps({"imports": [PLUGIN], "passes": passes, "onnx_align": section}))
    return subprocess.run(
        [sys.executable, "-m", "onnx_passes", source.name, "-c", config.name, *options],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        cwd=source.parent,
    )


@pytest.mark.parametrize("outside", [False, True], ids=["inline", "external"])
def test_the_command_writes_an_aligned_model_of_the_same_outputs(
    tmp_path: Path, outside: bool
) -> None:
    source = tmp_path / "in" / "model.onnx"
    external_model(source)
    if not outside:
        onnx.save(onnx.load(source), tmp_path / "in" / "whole.onnx")
        source = tmp_path / "in" / "whole.onnx"
    target = tmp_path / "out" / "model.onnx"
    section = {"path": str(target), "alignment": 16384, "external_data_name": "w.bin"}
    done = command(source, section, "-o", "theirs.onnx")
    assert done.returncode == 0, done.stderr
    assert offsets(target) == [0, 16384, 49152]
    assert locations(target) == {"w.bin"}
    assert same_outputs(run(source), run(target))
    state = pickle.loads(lzma.decompress((tmp_path / "in" / "theirs.onnx.pkl.xz").read_bytes()))
    assert state["onnx_align"]["totals"]["data_bytes"] == (tmp_path / "out/w.bin").stat().st_size


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ({}, "UsageError: the configuration does not say where write-aligned writes"),
        ({"path": "out.onnx", "alignment": 65}, "PolicyError: alignment cannot be 65"),
        ({"path": "out.onnx", "aligment": 64}, "UsageError: there is no option 'aligment'"),
    ],
    ids=str,
)
def test_a_bad_section_ends_the_command_with_the_named_error(
    tmp_path: Path, section: dict[str, Any], text: str
) -> None:
    done = command(external_model(tmp_path / "model.onnx"), section)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(text)
    assert not (tmp_path / "out.onnx").exists()


def test_a_program_registers_the_pass_once_and_the_model_is_untouched(tmp_path: Path) -> None:
    with quiet():
        kind = register()
        assert register() is kind
        collect = importlib.import_module("onnx_passes.passes").collect
    assert collect(["write-aligned"]) == [kind]
    model = ir.from_proto(weights_model({"a": (33, 70), "b": (5, 1001)}))
    before = ir.to_proto(model).SerializeToString()
    state: dict[str, Any] = {}
    result = kind({"onnx_align": {"path": tmp_path / "model.onnx"}}, state)(model)
    assert (result.model, result.modified) == (model, False)
    assert ir.to_proto(model).SerializeToString() == before
    assert offsets(tmp_path / "model.onnx") == [0, 12288]
    assert state["onnx_align"]["totals"]["models"] == 1


def test_a_data_file_of_somebody_else_is_replaced_only_when_asked(tmp_path: Path) -> None:
    model = ir.from_proto(weights_model({"a": (33, 70)}))
    (tmp_path / "model.onnx.data").write_text("mine")
    section = {"path": tmp_path / "model.onnx"}
    with quiet():
        kind = register()
    with pytest.raises(DestinationError):
        kind({"onnx_align": section}, {})(model)
    assert (tmp_path / "model.onnx.data").read_text() == "mine"
    kind({"onnx_align": {**section, "force": True}}, {})(model)
    assert offsets(tmp_path / "model.onnx") == [0]

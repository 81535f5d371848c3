"""optimum-onnx: exports of tiny models with random weights, aligned; no hub is asked."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_align_pass import LayoutPolicy
from onnx_align_pass.hooks.optimum import align_directory, main_export_aligned
from tests.corpus.running import run, same_outputs

from .aligned import locations, offsets, quiet

pytestmark = pytest.mark.needs_optimum

EXAMPLE = Path(__file__).parents[2] / "examples" / "optimum_cli" / "register_align.py"
TASKS = {"bert": "feature-extraction", "t5": "text2text-generation-with-past"}
MODELS = {
    "bert": ["model.onnx"],
    "t5": [
        "decoder_model.onnx",
        "decoder_model_merged.onnx",
        "decoder_with_past_model.onnx",
        "encoder_model.onnx",
    ],
}


@pytest.fixture(autouse=True, scope="module")
def _offline() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT and a T5 of some thousand random weights."""
    folder = tmp_path_factory.mktemp("checkpoints")
    with quiet():
        torch, library = (importlib.import_module(name) for name in ("torch", "transformers"))
        torch.manual_seed(0)
        bert = library.BertConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            type_vocab_size=4,
        )
        t5 = library.T5Config(
            vocab_size=64,
            d_model=32,
            d_kv=16,
            d_ff=64,
            num_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
        )
        library.BertModel(bert).save_pretrained(folder / "bert")
        library.T5ForConditionalGeneration(t5).save_pretrained(folder / "t5")
    return folder


@pytest.fixture(scope="module", params=["inline", "external"])
def exports(
    request: pytest.FixtureRequest, checkpoints: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Plain exports of both, with the weights in the models or in `.onnx_data` files."""
    folder = tmp_path_factory.mktemp(request.param)
    with quiet(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_ONNX_EXTERNAL_DATA", "1" if request.param == "external" else "0")
        export = importlib.import_module("optimum.exporters.onnx").main_export
        for name, task in TASKS.items():
            export(str(checkpoints / name), folder / name, task=task)
    return folder


@pytest.mark.parametrize("name", TASKS)
def test_an_aligned_export_gives_the_outputs_of_the_plain_one(
    exports: Path, tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(exports / name, tmp_path / name)
    others = {path.name for path in folder.iterdir() if ".onnx" not in path.name}
    report = align_directory(folder, layout=LayoutPolicy(alignment=16384), verify=True)
    assert [model.destination.name for model in report.models] == MODELS[name]
    for model in MODELS[name]:
        assert offsets(folder / model)
        assert not any(offset % 16384 for offset in offsets(folder / model))
        assert locations(folder / model) == {f"{model}_data"}
        assert same_outputs(run(exports / name / model), run(folder / model))
    data = {f"{model}_data" for model in MODELS[name]}
    assert {path.name for path in folder.iterdir()} == {*MODELS[name], *data, *others}


@pytest.mark.parametrize("name", TASKS)
def test_an_export_comes_out_aligned(checkpoints: Path, tmp_path: Path, name: str) -> None:
    with quiet():
        report = main_export_aligned(str(checkpoints / name), tmp_path, task=TASKS[name])
    assert sum(model.external_tensors for model in report.models) > 4
    assert not any(offset % 4096 for model in MODELS[name] for offset in offsets(tmp_path / model))


@pytest.mark.parametrize("forced", ["0", "1"])
def test_an_export_into_the_same_folder_replaces_the_one_before(
    checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forced: str
) -> None:
    monkeypatch.setenv("FORCE_ONNX_EXTERNAL_DATA", forced)
    source, task = str(checkpoints / "bert"), TASKS["bert"]
    with quiet():
        once = main_export_aligned(source, tmp_path, task=task)
        first = run(tmp_path / "model.onnx")
        twice = main_export_aligned(source, tmp_path, task=task)
    assert same_outputs(first, run(tmp_path / "model.onnx"))
    assert once.data_bytes == twice.data_bytes
    assert (tmp_path / "model.onnx_data").stat().st_size == twice.data_bytes


def test_optimum_loads_and_saves_an_aligned_encoder(exports: Path, tmp_path: Path) -> None:
    align_directory(shutil.copytree(exports / "bert", tmp_path / "aligned"))
    ids = np.arange(12).reshape(2, 6)
    with quiet():
        library = importlib.import_module("optimum.onnxruntime").ORTModelForFeatureExtraction
        plain = library.from_pretrained(exports / "bert")
        aligned = library.from_pretrained(tmp_path / "aligned")
        aligned.save_pretrained(tmp_path / "saved")
        saved = library.from_pretrained(tmp_path / "saved")
        wanted, *found = (
            model(input_ids=ids, attention_mask=np.ones_like(ids)).last_hidden_state
            for model in (plain, aligned, saved)
        )
    assert all(wanted.tobytes() == one.tobytes() for one in found)
    assert not any(offset % 4096 for offset in offsets(tmp_path / "saved" / "model.onnx"))


def test_optimum_generates_with_an_aligned_encoder_and_decoders(
    exports: Path, tmp_path: Path
) -> None:
    align_directory(shutil.copytree(exports / "t5", tmp_path / "aligned"))
    with quiet():
        torch = importlib.import_module("torch")
        library = importlib.import_module("optimum.onnxruntime").ORTModelForSeq2SeqLM
        wanted, found = (
            library.from_pretrained(folder).generate(torch.arange(6).reshape(1, 6), max_length=9)
            for folder in (exports / "t5", tmp_path / "aligned")
        )
    assert wanted.tolist() == found.tolist()
    assert len(found[0]) > 1


def test_the_example_adds_a_command_to_optimum_cli(checkpoints: Path, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins" / "optimum" / "commands" / "register"
    plugins.mkdir(parents=True)
    shutil.copy(EXAMPLE, plugins)
    path = os.pathsep.join([str(tmp_path / "plugins"), *filter(None, sys.path)])

    def command(*options: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "optimum.commands.optimum_cli", "export", "onnx-aligned"]
        line += ["--model", str(checkpoints / "bert"), "--task", TASKS["bert"], *options]
        return subprocess.run(
            [*line, str(tmp_path / "out")],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )

    refused = command("--alignment", "1000")
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("error: alignment cannot be 1000")
    assert not (tmp_path / "out").exists()
    done = command("--alignment", "65536")
    assert done.returncode == 0, done.stderr
    assert "aligned " in done.stdout
    found = offsets(tmp_path / "out" / "model.onnx")
    assert len(found) > 4
    assert not any(offset % 65536 for offset in found)

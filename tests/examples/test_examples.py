"""The examples: short, and they run as they stand. That of torch is run beside torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.corpus.running import session_of

EXAMPLES = Path(__file__).parents[2] / "examples"
ALL = sorted(EXAMPLES.glob("*.py"))
SAYS = {
    "pipeline_step": ["2 external tensors", "263,168 bytes of weights and padding"],
    "custom_tagging": [
        "embedding: external, at or above the size threshold",
        "projection: external, at or above the size threshold",
        "positions: inline, asked by a tag",
        "embedding: tagged.embedding @ 0",
        "projection: tagged.onnx.data @ 0",
        "positions: tagged.onnx @ -",
    ],
    "shared_variant": [
        "1 tensor shared, 1 written",
        "base.onnx.data: 1,081,344 bytes",
        "tuned.onnx.data: 32,768 bytes",
    ],
}


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs_and_says_what_it_did(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == SAYS[name]
    models = list(tmp_path.glob("*.onnx"))
    assert models
    for model in models:
        onnx.checker.check_model(model)
        if onnx.load(model, load_external_data=False).graph.node:
            session_of(model)


@pytest.mark.parametrize("example", ALL, ids=lambda path: path.stem)
def test_an_example_fits_on_a_page(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


def test_every_example_is_run_by_a_test() -> None:
    assert {path.stem for path in ALL} == {*SAYS, "torch_hook"}

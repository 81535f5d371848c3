"""Two processes do anything at once, in any order: no weight is lost, and all errors are ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.align.small_models import external_model
from tests.commit.races import goes_on, processes, said
from tests.corpus import oracle

SHAPES: dict[str, tuple[int, ...]] = {f"w{number}": (61 + number, 33) for number in range(8)}
ENOUGH = 20


def done(root: Path) -> int:
    """Steps that came to their end without an error."""
    return sum(line.endswith("done") for line in said(root))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [0, 100])
def test_no_weight_is_lost(
    seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    wanted = oracle.tensors(external_model(tmp_path / "original.onnx", SHAPES))
    external_model(tmp_path / "folder" / "m.onnx", SHAPES)
    (tmp_path / "folder" / "below").mkdir()
    begun = time.monotonic()
    with processes("tests.commit.wanderer", tmp_path, seed, seed + 1):
        while goes_on(begun, done(tmp_path) >= ENOUGH):
            time.sleep(0.5)
    told = said(tmp_path)
    record_property("steps", len(told))
    assert [line for line in told if line.startswith("WRONG")] == []
    assert done(tmp_path) >= ENOUGH
    for folder in (tmp_path / "folder", tmp_path / "folder" / "below"):
        recover_folder(folder)
    models = sorted((tmp_path / "folder").rglob("*.onnx"))
    assert models
    assert all(oracle.tensors(model) == wanted for model in models)

"""Damaged models and data: a report that can be printed, or a named error. Nothing else, ever."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_cli.show_inspect import show_model, show_tensors
from onnx_align_pass import ModelError
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.report import ModelReport
from tests.corpus import CASES
from tests.model.damage import damaged

NAMES = (
    *("mixed", "if_branches", "constant_nodes_in_subgraphs", "sparse_external", "overlapping"),
    *("training_external", "function_constants", "strings", "unknown_key", "location_nested"),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Cases of the corpus, each in a folder of its own."""
    return {name: CASES[name].build(tmp_path_factory.mktemp(name)) for name in NAMES}


def looked_at(source: Path) -> ModelReport | None:
    """The report, after it was shown in every way."""
    refused = ""
    try:
        report = inspect_file(source)
    except ModelError as error:
        refused = str(error)
    assert refused.isprintable()
    if refused:
        return None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show_model(report)
        show_tensors(report)
    assert all(line.isprintable() for line in out.getvalue().splitlines())
    json.dumps(report.to_json())
    return report


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(NAMES))
def test_a_damaged_model_is_described_or_refused(
    good: dict[str, Path], name: str, seed: int
) -> None:
    source = good[name].with_name("damaged.onnx")
    source.write_bytes(damaged(good[name].read_bytes(), seed))
    report = looked_at(source)
    for file in report.files if report is not None else ():
        parts = file.live_bytes + file.padding_bytes + file.dead_bytes + file.header_bytes
        assert parts == (file.nbytes or 0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_a_data_file_holds_it_is_described(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = CASES["equal_bytes"].build(tmp_path_factory.mktemp("data"))
    data = source.with_name("model.onnx.data")
    rng = random.Random(seed)
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    start = rng.choice((b"", len(header).to_bytes(8, "little") + header, bytes(100)))
    data.write_bytes(damaged(start + rng.randbytes(rng.randrange(5000)), seed))
    report = looked_at(source)
    assert report is not None
    (file,) = report.files
    assert file.live_bytes + file.padding_bytes + file.dead_bytes + file.header_bytes == file.nbytes

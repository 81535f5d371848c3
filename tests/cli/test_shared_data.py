"""`onnx-align align A B OUT --shared-data NAME`: several models, one data file."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from onnx_align_cli import main

from .child import tree
from .models import write_model

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """Two models whose first tensors are equal."""
    one = write_model(tmp_path / "in", "shared", "own", name="encoder.onnx")
    other = write_model(tmp_path / "in", "shared", name="decoder.onnx")
    return str(one), str(other)


def test_what_both_hold_is_stored_once(
    pair: tuple[str, str], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out"
    assert main(["align", *pair, str(out), "--shared-data", "weights.data", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in out.iterdir()) == [
        "decoder.onnx",
        "encoder.onnx",
        "weights.data",
    ]
    assert (out / "weights.data").stat().st_size == 4096 + 2004
    assert [len(one["data_files"]) for one in report["models"]] == [1, 0]
    for source in pair:
        model = onnx.load(out / Path(source).name)
        assert [one.raw_data for one in model.graph.initializer] == [
            one.raw_data for one in onnx.load(source).graph.initializer
        ]


def test_again_nothing_is_written(pair: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
    arguments = ["align", *pair, str(tmp_path / "out"), "--shared-data", "weights.data"]
    assert main([*arguments, "--preset", "web"]) == 0
    before = tree(tmp_path)
    assert main([*arguments, "--preset", "web"]) == 0
    assert tree(tmp_path) == before
    assert "unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ([], "Name their common data file with --shared-data"),
        (["--shared-data", "w", "--in-place"], "both --shared-data and --in-place"),
        (["--shared-data", "w", "--external-data", "x"], "both --shared-data and --external-data"),
        (["--shared-data", "w", "--before", "checker"], "both --shared-data and --before"),
        (["--shared-data", ""], "--shared-data"),
        (["--shared-data", "{model}.data"], "{model}"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    pair: tuple[str, str], rest: list[str], said: str, tmp_path: Path, capsys: Capture
) -> None:
    before = tree(tmp_path)
    assert main(["align", *pair, str(tmp_path / "out"), *rest]) == 2
    assert said in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_one_path_alone_lacks_a_folder(pair: tuple[str, str], capsys: Capture) -> None:
    assert main(["align", pair[0], "--shared-data", "weights.data"]) == 2
    assert "needs a folder" in capsys.readouterr().err

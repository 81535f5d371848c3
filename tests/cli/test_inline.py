"""`onnx-align inline`: what it passes to the core, and how it shows what was done."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import onnx
import pytest

from onnx_align_cli import main

from .child import run_child, tree
from .models import DATA, MODEL, sparse_model, write_model

Capture = pytest.CaptureFixture[str]


def weights(model: Path) -> list[bytes]:
    return [tensor.raw_data for tensor in onnx.load(model).graph.initializer]


def test_the_result_is_one_file_and_equal(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in", "a", "b")
    assert main(["inline", str(source), str(tmp_path / "out") + "/", "-q"]) == 0
    assert sorted(tree(tmp_path / "out")) == [MODEL]
    assert weights(tmp_path / "out" / MODEL) == weights(source)


def test_the_summary_says_what_there_was_and_what_went(tmp_path: Path) -> None:
    source = write_model(tmp_path)
    done = run_child("inline", source, "--in-place", "--verify")
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\d+\.\d\d s", "T s", done.stdout).replace(str(tmp_path), "DIR")
    assert text.splitlines() == [
        "inlined DIR/model.onnx (4.0 KiB)",
        "  tensors   2 inline",
        "  time      T s",
        "  verified  every byte was read back and compared",
        f"  removed   {DATA}",
    ]
    again = run_child("inline", source, "--in-place", "--no-durable")
    assert again.stdout.startswith("unchanged ")
    assert "nothing was written" in again.stdout


def test_json_is_the_report_of_align(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    assert main(["inline", str(source), str(tmp_path / "out.onnx"), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema_version"] == 1
    assert values["models"][0]["data_files"] == []
    assert values["models"][0]["inline_tensors"] == 2


def test_a_folder_is_a_table(tmp_path: Path, capsys: Capture) -> None:
    write_model(tmp_path / "in", name="a.onnx")
    write_model(tmp_path / "in" / "below", name="b.onnx")
    assert main(["inline", str(tmp_path / "in"), "--in-place"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["model", "size", "tensors", "seconds"]
    assert "inlined 2 models" in lines
    assert f"  removed   {tmp_path}/in/a.onnx: a.onnx.data" in lines


def test_what_is_too_large_is_refused_with_its_size(tmp_path: Path, capsys: Capture) -> None:
    source = sparse_model(tmp_path / "in", 2 << 30)
    assert main(["inline", str(source), str(tmp_path / "out.onnx"), "--json"]) == 3
    out, err = capsys.readouterr()
    facts = json.loads(out)["error"]
    assert int(facts["found"].split()[0].replace(",", "")) > 2 << 30
    assert "onnx-align align" in facts["hint"]
    assert err.startswith("error: ")
    assert sorted(os.listdir(tmp_path)) == ["in"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "onnx-align inline m.onnx --in-place"),
        (["out.onnx", "--in-place"], "both a destination"),
        ([""], "DST is empty"),
        (["bare"], "bare/ or bare.onnx"),
    ],
)
def test_a_destination_that_says_nothing_is_wrong_usage(
    arguments: list[str], said: str, capsys: Capture
) -> None:
    assert main(["inline", "m.onnx", *arguments]) == 2
    assert said in capsys.readouterr().err

"""`onnx-align rename`: what it passes to the core, and how it shows what was done."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import onnx
import pytest

from onnx_align_cli import main

from .child import run_child, tree
from .models import DATA, MODEL, write_model

Capture = pytest.CaptureFixture[str]


def test_a_model_gets_another_name_with_its_data(tmp_path: Path) -> None:
    source = write_model(tmp_path)
    done = run_child("rename", source, tmp_path / "new.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\(.* B\)", "(N B)", done.stdout.replace(str(tmp_path), "DIR"))
    assert re.sub(r"\d+\.\d+ s", "T s", text).splitlines() == [
        "renamed to DIR/new.onnx (N B)",
        "  renamed   model.onnx.data -> new.onnx.data, 3.9 KiB",
        "  time      T s",
    ]
    assert sorted(tree(tmp_path)) == ["new.onnx", "new.onnx.data"]
    onnx.load(tmp_path / "new.onnx")


def test_a_folder_that_is_there_or_ends_with_a_slash_takes_it(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    (tmp_path / "there").mkdir()
    assert main(["rename", str(source), str(tmp_path / "there"), "-q"]) == 0
    moved = tmp_path / "there" / MODEL
    assert main(["rename", str(moved), f"{tmp_path}/new/", "-q", "--no-durable"]) == 0
    assert sorted(tree(tmp_path)) == [f"new/{MODEL}", f"new/{DATA}"]


def test_the_data_file_gets_the_name_that_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    arguments = ["rename", str(source), str(tmp_path / "n.onnx"), "--external-data", "{stem}.bin"]
    assert main([*arguments, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema_version"] == 1
    assert [file["after"] for file in values["data_files"]] == ["n.bin"]
    assert sorted(tree(tmp_path)) == ["n.bin", "n.onnx"]


def test_force_replaces_what_is_there(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path / "in", "a")
    other = write_model(tmp_path / "out", "b", name="other.onnx")
    assert main(["rename", str(source), str(other)]) == 3
    assert capsys.readouterr().err.startswith("error: ")
    assert main(["rename", str(source), str(other), "--force", "-q"]) == 0
    assert [one.name for one in onnx.load(other).graph.initializer] == ["a"]


def test_what_another_model_uses_is_refused_with_a_way_out(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    shutil.copy(source, tmp_path / "sibling.onnx")
    before = tree(tmp_path)
    assert main(["rename", str(source), str(tmp_path / "new.onnx"), "--json"]) == 3
    facts = json.loads(capsys.readouterr().out)["error"]
    assert facts["error"] == "DataFileSharedError"
    assert "lign the model" in facts["hint"]
    assert tree(tmp_path) == before


@pytest.mark.parametrize("destination", ["", "bare"])
def test_a_destination_that_may_mean_two_things_is_wrong_usage(
    destination: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["rename", MODEL, destination]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_an_empty_source_is_wrong_usage(capsys: Capture) -> None:
    assert main(["rename", "", "out.onnx"]) == 2
    assert "it is empty" in capsys.readouterr().err


def test_a_missing_destination_is_wrong_usage(capsys: Capture) -> None:
    assert main(["rename", "m.onnx"]) == 2
    assert "onnx-align rename --help" in capsys.readouterr().err

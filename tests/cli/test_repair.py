"""`onnx-align repair`: what is mended, what is not, and how both are shown."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import onnx
import pytest

from onnx_align_cli import main

from .child import run_child, tree
from .models import DATA, MODEL, write_model

Capture = pytest.CaptureFixture[str]


def broken(folder: Path, count: int = 3) -> Path:
    """A model whose data file was moved, and whose tensors have a key that nobody knows."""
    source = write_model(folder, *(f"w{index}" for index in range(count)))
    proto = onnx.load(source, load_external_data=False)
    for tensor in proto.graph.initializer:
        tensor.external_data.add(key="colour\x1b", value="blue")
    source.write_bytes(proto.SerializeToString())
    (folder / DATA).rename(folder / "Moved.data")
    return source


def test_what_was_mended_is_a_row_for_each_kind(tmp_path: Path) -> None:
    source = broken(tmp_path / "in")
    done = run_child("repair", source, f"{tmp_path}/out/", "--data", tmp_path / "in" / "Moved.data")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.replace(str(tmp_path), "DIR").splitlines()
    assert [re.split(" {2,}", line) for line in lines[:3]] == [
        ["mended", "tensors", "such as", "before", "after"],
        ["the data file is missing", "1", "w0", DATA, "DIR/in/Moved.data"],
        ["a key that onnxruntime refuses", "3", "w0", "colour\\x1b=blue", "dropped"],
    ]
    assert re.sub(r"\(.*\)", "(N)", lines[3]) == f"mended DIR/in/{MODEL} as DIR/out/{MODEL} (N)"
    assert lines[4] == f"  data      {DATA}, 10.0 KiB"
    onnx.load(tmp_path / "out" / MODEL)


def test_a_dry_run_writes_nothing_and_says_what_it_would_do(
    tmp_path: Path, capsys: Capture
) -> None:
    source = broken(tmp_path)
    before = tree(tmp_path)
    arguments = ["repair", str(source), "--dry-run", "--data", str(tmp_path / "Moved.data")]
    assert main(arguments) == 0
    assert "can be mended; nothing was written" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema_version"] == 1
    assert [one["code"] for one in values["repairs"]] == ["data-named", *["unknown-key"] * 3]
    assert values["remaining"] == []
    assert values["written"] is None
    assert main([*arguments, str(tmp_path / "out.onnx"), "-q"]) == 0
    assert tree(tmp_path) == before


def test_what_cannot_be_mended_is_said_and_ends_with_3(tmp_path: Path, capsys: Capture) -> None:
    source = broken(tmp_path)
    before = tree(tmp_path)
    assert main(["repair", str(source), str(tmp_path / "out.onnx")]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "the data file is missing" in err
    assert "--data PATH" in err
    assert main(["repair", str(source), "--dry-run"]) == 3
    out, err = capsys.readouterr()
    assert "cannot be mended" in out
    assert err == ""
    assert main(["repair", str(source), "--dry-run", "--json"]) == 3
    (fault,) = json.loads(capsys.readouterr().out)["remaining"]
    assert fault["code"] == "data-file-missing"
    assert tree(tmp_path) == before


def test_many_faults_are_counted(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path, *(f"w{index}" for index in range(30)))
    os.truncate(tmp_path / DATA, 100)
    assert main(["repair", str(source), "--dry-run"]) == 3
    out = capsys.readouterr().out
    assert out.count("ends ") == 20
    assert "10 more; --json lists all of them" in out


def test_nothing_to_mend_is_a_success(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    before = tree(tmp_path)
    for more in (["--dry-run"], [str(tmp_path / "out.onnx")]):
        assert main(["repair", str(source), *more]) == 0
        said = f"nothing to mend in {source}; nothing was written"
        assert capsys.readouterr() == (f"{said}\n", "")
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["m.onnx"], "--dry-run"),
        (["m.onnx", "bare"], "bare/ or bare.onnx"),
        (["m.onnx", ""], "DST is empty"),
        (["", "--dry-run"], "it is empty"),
    ],
)
def test_what_says_nothing_is_wrong_usage(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["repair", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_may_stand_for_several_is_wrong_usage(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    arguments = ["repair", str(source), "--dry-run", "--data", str(tmp_path / DATA)]
    assert main(arguments) == 2
    assert "LOCATION=PATH" in capsys.readouterr().err

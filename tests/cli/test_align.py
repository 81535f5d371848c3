"""`onnx-align align`: what it passes to the core, and how it shows what was done."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnx_align_cli import main

from .child import run_child, tree
from .models import DATA, MODEL, write_model

Capture = pytest.CaptureFixture[str]


def offsets(model: Path) -> dict[str, int]:
    graph = onnx.load(model, load_external_data=False).graph
    entries = {t.name: {e.key: e.value for e in t.external_data} for t in graph.initializer}
    return {name: int(entry["offset"]) for name, entry in entries.items() if entry}


def align(*arguments: str | Path) -> None:
    assert main(["align", *map(str, arguments), "-q"]) == 0


def test_the_result_is_aligned_and_equal(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in", "a", "b", "c")
    align(source, tmp_path / "out.onnx", "--alignment", "64KiB")
    assert offsets(tmp_path / "out.onnx") == {"a": 0, "b": 65536, "c": 131072}
    before, after = onnx.load(source), onnx.load(tmp_path / "out.onnx")
    assert [t.raw_data for t in before.graph.initializer] == [
        t.raw_data for t in after.graph.initializer
    ]


def test_each_layout_option_reaches_the_layout(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in", "a", "b", inline=True)
    align(source, tmp_path / "kept.onnx", "--size-threshold", "keep")
    assert offsets(tmp_path / "kept.onnx") == {}
    align(source, tmp_path / "inline.onnx", "--size-threshold", "4KiB")
    assert offsets(tmp_path / "inline.onnx") == {}
    align(source, tmp_path / "x.onnx", "--align-threshold", "1MiB", "--small-alignment", "256")
    assert offsets(tmp_path / "x.onnx") == {"a": 0, "b": 2048}
    align(source, tmp_path / "n.onnx", "--external-data", "{stem}.bin", "--pad", "file")
    assert (tmp_path / "n.bin").stat().st_size == 8192
    align(source, tmp_path / "s" / "s.onnx", "--max-shard-size", "2.5kB")
    assert len(list((tmp_path / "s").iterdir())) == 3


def test_in_place_keeps_the_names(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    assert main(["align", str(source), "--in-place", "--no-durable"]) == 0
    assert sorted(tree(tmp_path)) == [MODEL, DATA]
    assert offsets(source) == {"first": 0, "second": 4096}
    capsys.readouterr()
    assert main(["align", str(source), "--in-place"]) == 0
    assert capsys.readouterr().out.startswith("unchanged ")


def test_a_destination_that_ends_with_a_slash_is_a_folder(tmp_path: Path) -> None:
    align(write_model(tmp_path / "in"), f"{tmp_path}/new/folder/")
    assert sorted(tree(tmp_path / "new" / "folder")) == [MODEL, DATA]


def test_force_replaces_what_exists(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    align(source, tmp_path / "out.onnx")
    assert main(["align", str(source), str(tmp_path / "out.onnx")]) == 3
    align(source, tmp_path / "out.onnx", "--force")


def test_the_summary_says_everything_in_a_few_lines(tmp_path: Path) -> None:
    done = run_child("align", write_model(tmp_path), tmp_path / "out.onnx", "--verify")
    assert done.stderr == ""
    text = re.sub(r"\d+\.\d+ s, .*/s", "T s, S/s", done.stdout).replace(str(tmp_path), "DIR")
    assert re.sub(r"\(\d+ B\)", "(N B)", text).splitlines() == [
        "aligned DIR/out.onnx (N B)",
        "  data      out.onnx.data, 6.0 KiB",
        "  tensors   2 external (3.9 KiB), 0 inline",
        "  padding   2.0 KiB (34.30 %)",
        "  time      T s, S/s",
        "  verified  every byte was read back and compared",
    ]


def test_notes_are_part_of_the_summary(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    model = onnx.load(source, load_external_data=False)
    model.graph.initializer[0].external_data.add(key="checksum", value="0" * 40)
    source.write_bytes(model.SerializeToString())
    assert main(["align", str(source), str(tmp_path / "out.onnx")]) == 0
    assert "note      1 tensor has a checksum" in capsys.readouterr().out


def test_quiet_says_nothing(tmp_path: Path) -> None:
    done = run_child("align", write_model(tmp_path), tmp_path / "out.onnx", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_json_is_one_object(tmp_path: Path) -> None:
    done = run_child("align", write_model(tmp_path), tmp_path / "out.onnx", "--json")
    assert done.stderr == ""
    values: dict[str, Any] = json.loads(done.stdout)
    assert values["schema_version"] == 1
    assert values["models"][0]["data_files"] == [{"name": "out.onnx.data", "bytes": 6100}]
    assert values["totals"]["models"] == 1


def test_a_folder_is_a_table_with_totals(tmp_path: Path) -> None:
    write_model(tmp_path / "in", name="a.onnx")
    write_model(tmp_path / "in" / "below", name="b.onnx")
    (tmp_path / "in" / "config.json").write_text("{}")
    done = run_child("align", tmp_path / "in", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["model", "data", "files", "data", "tensors", "padding", "seconds"]
    assert [line.split()[0] for line in lines[1:3]] == [
        str(tmp_path / "out" / "a.onnx"),
        str(tmp_path / "out" / "below" / "b.onnx"),
    ]
    assert "aligned 2 models" in lines
    assert "carried along 1 other files" in lines
    assert (tmp_path / "out" / "config.json").exists()


@pytest.mark.parametrize("arguments", [["", "--in-place"], ["m.onnx", ""], ["m.onnx", "bare"]])
def test_a_path_that_says_nothing_is_wrong_usage(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "m.onnx").write_bytes(b"never read")
    monkeypatch.chdir(tmp_path)
    assert main(["align", *arguments]) == 2
    assert "error: " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]

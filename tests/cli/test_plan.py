"""`onnx-align plan`: table, text and object; nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_pass import LayoutPolicy, align_file, plan_file, plan_json, plan_text
from onnx_align_pass.repack_folder import models_below
from tests.corpus import CASES
from tests.corpus.case import Case

from .child import run_child, tree
from .models import write_model

Capture = pytest.CaptureFixture[str]
REFUSED = {"location_down_and_up"}
WHY = "at or above the size threshold"


def test_a_row_says_name_from_to_bytes_padding_and_why(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path, "a", "b")
    before = tree(tmp_path)
    assert main(["plan", str(source)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        str(source),
        "name  from    to      bytes  padding  why",
        f"a     @ 0     @ 0     2,004        0  {WHY}",
        f"b     @ 2004  @ 4096  2,004    2,092  {WHY}",
        "total",
        "  tensors   2 external, 0 inline",
        "  from      model.onnx.data",
        "  to        model.onnx.data, 6.0 KiB",
        "  files     1",
        "  padding   2,092 bytes (34.30 %)",
    ]
    assert tree(tmp_path) == before


def test_files_are_named_in_the_rows_where_there_are_several(
    tmp_path: Path, capsys: Capture
) -> None:
    source = write_model(tmp_path, "a", "b", inline=True)
    assert main(["plan", str(source), "--max-shard-size", "3kB"]) == 0
    rows = [line.split()[:4] for line in capsys.readouterr().out.splitlines()[2:4]]
    assert [row[:2] for row in rows] == [["a", "inline"], ["b", "inline"]]
    assert rows[0][2] != rows[1][2]
    assert rows[0][2].startswith("model")


def test_text_is_the_canonical_text(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    assert main(["plan", str(source), "--text", "--alignment", "64"]) == 0
    wanted = plan_text(plan_file(source, layout=LayoutPolicy(alignment=64)))
    assert capsys.readouterr().out == wanted


def test_json_is_the_plan_of_the_core(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    assert main(["plan", str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plan_json(plan_file(source))


def test_in_place_keeps_the_data_files_name(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path, name="other.onnx").rename(tmp_path / "renamed.onnx")
    assert main(["plan", str(source), "--json", "--in-place"]) == 0
    names = [file["name"] for file in json.loads(capsys.readouterr().out)["files"]]
    assert names == ["other.onnx.data"]


def test_a_folder_is_every_model_in_it(tmp_path: Path, capsys: Capture) -> None:
    write_model(tmp_path, name="b.onnx")
    write_model(tmp_path / "below", name="a.ONNX")
    write_model(tmp_path / ".x.onnx.align-01234567", name="staged.onnx")
    assert main(["plan", str(tmp_path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema_version"] == 1
    assert sorted(model["source"] for model in values["models"]) == [
        str(tmp_path / "b.onnx"),
        str(tmp_path / "below" / "a.ONNX"),
    ]
    assert main(["plan", str(tmp_path), "--text"]) == 0
    text = capsys.readouterr().out
    assert f"model {tmp_path / 'b.onnx'}\n" in text
    assert main(["plan", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("total\n") == 2


def test_a_folder_is_planned_in_the_order_in_which_it_is_repacked(
    tmp_path: Path, capsys: Capture
) -> None:
    for name in ("a/x.onnx", "z.onnx", "a-b/y.onnx"):
        write_model(tmp_path / Path(name).parent, name=Path(name).name)
    assert main(["plan", str(tmp_path), "--json"]) == 0
    planned = [one["source"] for one in json.loads(capsys.readouterr().out)["models"]]
    assert planned == [str(model) for model in models_below(tmp_path)]
    assert planned == [str(one.source) for one in align_file(tmp_path).models]


@pytest.mark.parametrize("case", list(CASES.values()), ids=str)
def test_every_valid_model_can_be_shown(case: Case, tmp_path: Path, capsys: Capture) -> None:
    source = str(case.build(tmp_path))
    wanted = 3 if case.name in REFUSED else 0
    assert main(["plan", source]) == wanted
    out, err = capsys.readouterr()
    assert err.startswith("error: ") == bool(wanted)
    assert all(line.isprintable() for line in out.splitlines())


def test_a_table_of_many_tensors_does_not_take_for_ever(tmp_path: Path) -> None:
    names = [f"t{index}" for index in range(5000)]
    done = run_child("plan", write_model(tmp_path, *names), env={"FORCE_COLOR": "1"})
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 5000

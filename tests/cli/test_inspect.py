"""`onnx-align inspect`: a screenful for people, one object for programs, a page for a browser."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onnx_align_cli import main
from onnx_align_cli.file_map import map_of
from onnx_align_pass import align_file
from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.report import DataFileReport, Range, RangeKind
from tests.corpus import BAD, CASES
from tests.corpus.case import Case
from tests.corpus.params import cases

from .child import run_child, tree
from .models import write_model

Capture = pytest.CaptureFixture[str]
SCREEN = 40
"""Lines."""


def test_a_model_is_shown_with_its_files_presets_and_findings(
    tmp_path: Path, capsys: Capture
) -> None:
    source = write_model(tmp_path, "a", "b", "c")
    data = tmp_path / "model.onnx.data"
    data.write_bytes(data.read_bytes() + b"\1" * 2004)
    before = tree(tmp_path)
    assert main(["inspect", str(source)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert tree(tmp_path) == before
    lines = out.splitlines()
    assert lines[:6] == [
        f"{source} ({source.stat().st_size} B)",
        "  external  3 tensors (5.9 KiB) in 1 file, 3 mappings",
        "  inline    0 tensors (0 B)",
        "  dtypes    FLOAT 3 tensors (5.9 KiB)",
        "  alignment 4: 1  8: 1  65536+: 1",
        "  page      2 of 3 external tensors do not start on 4,096",
    ]
    assert [" ".join(line.split()) for line in lines[6:9]] == [
        "data file size tensors padding dead links shared with",
        "model.onnx.data 7.8 KiB 3 0 B 2.0 KiB 1",
        "model.onnx.data █ tensors 75.0 % ▒ dead 25.0 %",
    ]
    assert set(lines[9].strip()) == {"█", "▒"}
    assert abs(lines[9].count("█") - 3 * lines[9].count("▒")) <= 4
    assert "  satisfied packed" in lines
    assert "0 errors, 1 warning" in lines
    assert f"  dead-bytes: {data}: bytes of the data file belong to no tensor" in out


@pytest.mark.parametrize("case", cases())
def test_every_valid_model_can_be_shown(case: Case, tmp_path: Path, capsys: Capture) -> None:
    source = str(case.build(tmp_path))
    assert main(["inspect", source]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(line.isprintable() for line in out.splitlines())
    assert len(out.splitlines()) <= SCREEN
    assert max(map(len, out.splitlines())) < 2000 + len(source)


def test_a_model_of_many_tensors_and_files_is_a_screenful(tmp_path: Path, capsys: Capture) -> None:
    for name in ("one_file_a_tensor", "two_thousand_small"):
        (tmp_path / name).mkdir()
        assert main(["inspect", str(CASES[name].build(tmp_path / name))]) == 0
        assert len(capsys.readouterr().out.splitlines()) <= SCREEN


def test_faults_are_shown_and_change_no_exit_code(tmp_path: Path, capsys: Capture) -> None:
    source = BAD["location_missing"].build(tmp_path)
    assert main(["inspect", str(source)]) == 0
    out = capsys.readouterr().out
    assert "1 error, 0 warnings" in out
    assert "data-file-missing: tensor 'w'" in out
    assert "Is it beside the model, under this name?" in out
    assert "not       any of them: tensor 'w'" in out


@pytest.mark.parametrize("name", ["zeros", "missing", "model_is_a_folder"])
def test_what_is_no_model_is_refused(name: str, tmp_path: Path, capsys: Capture) -> None:
    source = BAD[name].build(tmp_path)
    assert main(["inspect", str(source)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert main(["inspect", "--json", str(source)]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["message"]


def test_json_is_the_report_of_the_core(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path, "a", "b")
    assert main(["inspect", str(source), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    wanted = json.loads(json.dumps(inspect_file(source).to_json()))
    assert values == {"schema_version": 1, "models": [wanted]}
    assert wanted["tensors"][1]["offset"] == 2004


def test_a_row_for_each_tensor_says_where_it_is(tmp_path: Path, capsys: Capture) -> None:
    source = CASES["equal_bytes"].build(tmp_path)
    assert main(["inspect", str(source), "--tensors"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:5]]
    assert rows == [
        ["tensor", "dtype", "shape", "bytes", "where", "starts", "on", "note"],
        ["a", "FLOAT", "500", "2,000", "model.onnx.data", "@", "3", "1"],
        ["b", *("FLOAT", "500", "2,000", "model.onnx.data", "@", "2006", "2"), "equal", "to", "a"],
        ["c", "FLOAT", "500", "2,000", "inline", "equal", "to", "a"],
    ]


def test_duplicates_are_counted_unless_that_was_declined(tmp_path: Path, capsys: Capture) -> None:
    source = str(CASES["equal_bytes"].build(tmp_path))
    assert main(["inspect", source]) == 0
    assert "  duplicate 1 group of equal tensors: 3.9 KiB could be saved" in capsys.readouterr().out
    assert main(["inspect", source, "--no-duplicates"]) == 0
    out = capsys.readouterr().out
    assert "  duplicate" not in out
    assert "  note      nobody looked for tensors of equal bytes" in out


def test_a_folder_is_a_row_for_each_model_and_the_totals(tmp_path: Path, capsys: Capture) -> None:
    write_model(tmp_path, name="b.onnx")
    write_model(tmp_path / "below", name="a.ONNX")
    align_file(tmp_path / "b.onnx", tmp_path / "c.onnx", durable=False)
    assert main(["inspect", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert [Path(line.split()[0]).name for line in lines[1:4]] == ["b.onnx", "c.onnx", "a.ONNX"]
    assert "page, packed" in lines[2]
    assert lines[4] == "3 models"
    assert lines[5] == "  external  6 tensors (11.7 KiB)"


def test_a_broken_model_in_a_folder_stops_nothing_and_is_told_at_the_end(
    tmp_path: Path, capsys: Capture
) -> None:
    write_model(tmp_path, name="good.onnx")
    (tmp_path / "bad.onnx").write_bytes(bytes(100))
    assert main(["inspect", str(tmp_path)]) == 3
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {tmp_path / 'bad.onnx'}: ")
    assert len(err.splitlines()) == 1
    assert "not readable" in out
    assert "1 model could not be read" in out
    assert "good.onnx" in out
    assert main(["inspect", str(tmp_path), "--json"]) == 3
    models = json.loads(capsys.readouterr().out)["models"]
    assert [len(one["tensors"]) for one in models] == [0, 2]
    assert models[0]["findings"][0]["code"] == "not-a-model"
    done = run_child("inspect", tmp_path)
    assert done.returncode == 3
    assert "2 models" in done.stdout


def test_colours_are_for_terminals_and_blocks_for_those_that_have_them(tmp_path: Path) -> None:
    source = CASES["wide_gap"].build(tmp_path)
    colour = run_child("inspect", source, env={"FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"})
    assert "\x1b[31m▒" in colour.stdout
    plain = run_child("inspect", source, env={"PYTHONIOENCODING": "utf-8"})
    assert "▒" in plain.stdout
    assert "\x1b" not in plain.stdout
    ascii_only = run_child("inspect", source, env={"PYTHONIOENCODING": "ascii"})
    assert ascii_only.stdout.isascii()
    assert "#xxxx" in ascii_only.stdout
    assert "\\u" not in ascii_only.stdout


def test_a_map_is_as_wide_as_the_terminal(tmp_path: Path) -> None:
    source = CASES["wide_gap"].build(tmp_path)
    env = {"PYTHONIOENCODING": "ascii"}
    for width in (20, 50):
        lines = run_child("inspect", source, env={**env, "COLUMNS": str(width)}).stdout.splitlines()
        (strip,) = [line for line in lines if line.strip() and set(line.strip()) <= set("#x.h")]
        assert len(strip) == width


def file_of(*parts: tuple[int, RangeKind]) -> DataFileReport:
    ranges, at = [], 0
    for length, kind in parts:
        ranges.append(Range(at, length, kind))
        at += length
    return DataFileReport("f", at, "raw", 0, 0, 0, 0, 0, 1, (), {}, tuple(ranges))


@pytest.mark.parametrize(
    ("parts", "width", "wanted"),
    [
        ([(50, "tensor"), (50, "dead")], 10, "█████▒▒▒▒▒"),
        ([(10, "header"), (80, "tensor"), (10, "padding")], 10, "▓████████░"),
        ([(3, "tensor"), (97, "dead")], 10, "▒▒▒▒▒▒▒▒▒▒"),
        ([(2, "tensor"), (1, "dead")], 10, "██▒"),
        ([(1 << 40, "tensor"), (1 << 40, "dead")], 4, "██▒▒"),
        ([(7, "tensor"), (6, "dead"), (7, "tensor")], 3, "█▒█"),
    ],
)
def test_a_block_is_what_most_of_its_bytes_are(
    parts: list[tuple[int, RangeKind]], width: int, wanted: str, capsys: Capture
) -> None:
    drawn = "".join(text for text, _ in map_of(file_of(*parts), width))
    assert drawn.translate(str.maketrans("#.xh", "█░▒▓")) == wanted


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the maker of pages is given; the page is its length."""
    given: list[Any] = []
    module: Any = ModuleType("onnx_align_pass.inspection.page")

    def html_page(models: list[dict[str, Any]]) -> str:
        given.extend(models)
        return f"<html>{len(models)}</html>"

    module.html_page = html_page
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return given


def test_a_page_is_made_of_the_same_values_as_json(
    page: list[Any], tmp_path: Path, capsys: Capture
) -> None:
    source = write_model(tmp_path / "model")
    target = tmp_path / "report.html"
    target.write_text("an old page")
    assert main(["inspect", str(source), "--html", str(target), "--json"]) == 0
    out, err = capsys.readouterr()
    assert target.read_text() == "<html>1</html>"
    assert err == f"wrote {target}\n"
    assert page == json.loads(out)["models"]
    assert sorted(os.listdir(tmp_path)) == ["model", "report.html"]


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "other.txt", "folder.html"])
def test_a_page_never_replaces_what_is_no_page(
    name: str, page: list[Any], tmp_path: Path, capsys: Capture
) -> None:
    source = write_model(tmp_path)
    (tmp_path / "other.txt").write_text("other")
    (tmp_path / "folder.html").mkdir()
    before = tree(tmp_path)
    assert main(["inspect", str(source), "--html", str(tmp_path / name)]) == 2
    assert "error: " in capsys.readouterr().err
    assert tree(tmp_path) == before
    assert page == []


def test_a_page_never_replaces_data_that_is_called_like_one(
    page: list[Any], tmp_path: Path
) -> None:
    source = CASES["location_nested"].build(tmp_path)
    data = tmp_path / "weights" / "a.bin"
    content = source.read_bytes().replace(b"weights/a.bin", b"weight/a.html")
    source.write_bytes(content)
    (tmp_path / "weight").mkdir()
    data.rename(tmp_path / "weight" / "a.html")
    before = tree(tmp_path)
    assert main(["inspect", str(source), "--html", str(tmp_path / "weight" / "a.html")]) == 2
    assert tree(tmp_path) == before


def test_a_page_that_cannot_be_written_leaves_nothing(
    page: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    source = write_model(tmp_path)
    assert main(["inspect", str(source), "--html", str(tmp_path / "nowhere" / "p.html")]) == 4
    assert "writing failed" in capsys.readouterr().err
    before = tree(tmp_path)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    assert main(["inspect", str(source), "--html", str(tmp_path / "p.html")]) == 4
    assert tree(tmp_path) == before


def test_a_digest_is_shown_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    module: Any = ModuleType("onnx_align_pass.digesting")

    def digest_of(path: Path, **how: Any) -> str:
        if path.name == "bad.onnx":
            raise BrokenModelError("it has no digest", file=path)
        return "0123abcd"

    module.digest_of = digest_of
    monkeypatch.setitem(sys.modules, module.__name__, module)
    write_model(tmp_path, name="bad.onnx")
    source = write_model(tmp_path, name="good.onnx")
    assert main(["inspect", str(source), "--digest"]) == 0
    assert "  digest    0123abcd\n" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path), "--digest", "--json"]) == 0
    bad, good = json.loads(capsys.readouterr().out)["models"]
    assert (bad["digest"], good["digest"]) == (None, "0123abcd")
    assert bad["notes"] == [f"no digest: {tmp_path / 'bad.onnx'}: it has no digest"]


def test_a_stranger_s_names_are_made_safe(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path, "[red]x\x1b[2J\u202e", name="mo\x1b[2Jdel.onnx")
    assert main(["inspect", str(source), "--tensors"]) == 0
    out = capsys.readouterr().out
    assert "[red]x\\x1b[2J\\u202e" in out
    assert "\x1b" not in out

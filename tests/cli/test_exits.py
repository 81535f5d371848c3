"""Exit codes, one for each way to fail; an error is lines on stderr, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from onnx_align_cli import main
from onnx_align_cli.exits import Exit, exit_code
from onnx_align_pass import errors
from onnx_align_pass._version import __version__
from onnx_align_pass.transfer.compare import compare_pieces
from tests.corpus import BAD
from tests.corpus.case import BadCase

from .child import run_child, tree
from .models import DATA, MODEL, write_model

Capture = pytest.CaptureFixture[str]


def fail(capsys: Capture, *arguments: str | Path) -> tuple[int, list[str]]:
    """Run a command that fails; nothing may be on stdout. The code, and the lines on stderr."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert lines[0].startswith("error: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    return code, lines


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_has_the_code_of_its_branch(name: str) -> None:
    kind = getattr(errors, name)
    if issubclass(kind, errors.UsageError):
        wanted = 2
    elif issubclass(kind, errors.WriteError):
        wanted = 4
    elif issubclass(kind, errors.VerifyError):
        wanted = 1
    else:
        wanted = 3
    assert exit_code(kind.__new__(kind)) == wanted


def test_a_defect_has_no_code() -> None:
    with pytest.raises(KeyError):
        exit_code(ZeroDivisionError())


def test_the_version_is_printed(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"onnx-align {__version__}\n", "")


def test_neither_destination_nor_in_place_says_what_to_type(
    tmp_path: Path, capsys: Capture
) -> None:
    code, lines = fail(capsys, "align", tmp_path / "my model.onnx")
    assert code == Exit.USAGE
    assert f"onnx-align align '{tmp_path}/my model.onnx' --in-place" in lines[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["align", "a.onnx", "b.onnx", "--in-place"],
        ["align", "a.onnx", "b.onnx", "--alignment", "3"],
        ["align", "a.onnx", "b.onnx", "--alignment", "0"],
        ["align", "a.onnx", "b.onnx", "--alignment", "lots"],
        ["align", "a.onnx", "b.onnx", "--alignment", "9223372036854775808"],
        ["align", "a.onnx", "b.onnx", "--alignment", "9" * 5000],
        ["align", "a.onnx", "b.onnx", "--small-alignment", "12"],
        ["align", "a.onnx", "b.onnx", "--size-threshold", "kept"],
        ["align", "a.onnx", "b.onnx", "--align-threshold", "1.5"],
        ["align", "a.onnx", "b.onnx", "--max-shard-size", "0"],
        ["align", "a.onnx", "b.onnx", "--max-shard-size", "9" * 400 + ".5GB"],
        ["align", "a.onnx", "b.onnx", "--external-data", "../elsewhere"],
        ["align", "a.onnx", "b.onnx", "--pad", "everything"],
        ["align", "a.onnx", "b.onnx", "c.onnx"],
        ["align"],
        ["align", "--nonsense"],
        ["plan"],
        ["plan", "a.onnx", "--json", "--text"],
        ["plan", "a.onnx", "--alignment", "-1"],
        ["demo", "--dir", "nowhere"],
        ["demo", "--side", "big"],
        ["nonsense"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_a_bad_option_or_value_ends_with_2(arguments: list[str], capsys: Capture) -> None:
    code = main(arguments)
    out, err = capsys.readouterr()
    assert code == 2
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert out == "" or json.loads(out)["error"]


def test_a_size_that_is_none_is_named_with_its_option(capsys: Capture) -> None:
    code, lines = fail(capsys, "plan", "a.onnx", "--align-threshold", "64Q")
    assert code == 2
    assert "--align-threshold '64Q'" in lines[0]


@pytest.mark.parametrize("command", [["align", "--in-place"], ["plan"], ["plan", "--text"]])
def test_a_model_that_is_missing_ends_with_3(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    code, lines = fail(capsys, *command, tmp_path / "no.onnx")
    assert code == 3
    assert "no.onnx" in lines[0]
    assert lines[1].startswith("hint: ")


def test_a_missing_model_gets_a_hint_with_a_destination_too(
    tmp_path: Path, capsys: Capture
) -> None:
    code, lines = fail(capsys, "align", tmp_path / "no.onnx", tmp_path / "out.onnx")
    assert (code, len(lines)) == (3, 2)


@pytest.mark.parametrize("command", ["align", "plan"])
def test_a_model_that_may_not_be_read_is_no_wrong_usage(
    command: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    source = write_model(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr("onnx_align_pass.transfer.guard.os.open", refuse)
    monkeypatch.setattr("onnx_align_pass.model.skeleton.os.open", refuse)
    more = [tmp_path / "out.onnx"] if command == "align" else []
    code, lines = fail(capsys, command, source, *more)
    assert code == 3
    assert lines[1].startswith("hint: ")


def test_a_result_that_differs_from_its_source_ends_with_1(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnx_align_pass import write

    def spoil(path: Path, *rest: Any) -> None:
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        compare_pieces(path, *rest)

    monkeypatch.setattr(write, "compare_pieces", spoil)
    out = tmp_path / "out" / "out.onnx"
    code, lines = fail(capsys, "align", write_model(tmp_path), out, "--verify")
    assert (code, len(lines)) == (1, 2)
    assert not out.exists()


def test_a_hint_is_said_once_and_whole(tmp_path: Path, capsys: Capture) -> None:
    source = tmp_path / "/".join(["n" * 200] * 4) / "model.onnx"
    code, lines = fail(capsys, "align", source)
    assert code == 2
    assert lines[0] == "error: where should the result go?"
    typed = f"onnx-align align {source}"
    assert lines[1] == f"hint: Type `{typed} DST` for a new model, or `{typed} --in-place`."
    assert main(["align", str(source), "--json"]) == 2
    facts = json.loads(capsys.readouterr().out)["error"]
    assert lines == [f"error: {facts['message']}", f"hint: {facts['hint']}"]


def test_demo_says_what_to_do_about_its_folder(tmp_path: Path, capsys: Capture) -> None:
    code, lines = fail(capsys, "demo", "--dir", tmp_path / "no")
    assert (code, len(lines)) == (2, 2)


@pytest.mark.parametrize("command", ["align", "plan"])
def test_a_folder_without_models_ends_with_3(command: str, tmp_path: Path, capsys: Capture) -> None:
    more = [tmp_path / "out"] if command == "align" else []
    assert fail(capsys, command, tmp_path, *more)[0] == 3


def test_a_folder_that_is_missing_cannot_be_recovered(tmp_path: Path, capsys: Capture) -> None:
    assert fail(capsys, "recover", tmp_path / "no")[0] == 3


def test_a_destination_that_exists_ends_with_3_and_is_kept(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path / "in")
    (tmp_path / MODEL).write_text("mine")
    code, lines = fail(capsys, "align", source, tmp_path)
    assert code == 3
    assert lines[1].startswith("hint: ")
    assert (tmp_path / MODEL).read_text() == "mine"


def test_a_folder_that_is_a_file_ends_with_4(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    (tmp_path / "file").touch()
    code, _ = fail(capsys, "align", source, tmp_path / "file" / "out.onnx")
    assert code == 4


def test_an_error_of_the_operating_system_ends_with_4(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_align(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/odd\x1bname")

    monkeypatch.setattr("onnx_align_pass.align.align_file", fail_to_align)
    monkeypatch.setattr("onnx_align_pass.align.plan_file", fail_to_align)
    source = write_model(tmp_path)
    code, lines = fail(capsys, "align", source, tmp_path / "out.onnx")
    assert (code, lines) == (4, ["error: /odd\\x1bname: Permission denied"])
    assert fail(capsys, "plan", source)[0] == 3


def test_a_defect_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("onnx_align_pass.align.align_file", break_down)
    with pytest.raises(ZeroDivisionError):
        main(["align", str(write_model(tmp_path)), str(tmp_path / "out.onnx")])


@pytest.mark.parametrize("case", [case for case in BAD.values() if not case.needs_root], ids=str)
def test_no_bad_model_ends_in_a_traceback(case: BadCase, tmp_path: Path, capsys: Capture) -> None:
    if case.blocks:
        pytest.skip("a child that may hang belongs to the tests of the core")
    source = case.build(tmp_path)
    target = tmp_path / "a new folder"
    for arguments in (["align", str(source), str(target / "out.onnx")], ["plan", str(source)]):
        # What is bad about a tensor that stays inline is carried along as it is.
        code = main(arguments)
        assert code in (0, 3)
        assert capsys.readouterr().err.startswith("error: ") == (code == 3)
        assert target.exists() == (code == 0) or arguments[0] == "plan"


def test_the_object_of_an_error_is_all_there_is_on_stdout(tmp_path: Path) -> None:
    done = run_child("align", tmp_path / "no.onnx", tmp_path / "out.onnx", "--json")
    assert done.returncode == 3
    values = json.loads(done.stdout)
    assert values["schema_version"] == 1
    assert values["error"]["error"] == "ModelNotFoundError"
    assert values["error"]["file"] == str(tmp_path / "no.onnx")
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("arguments", [["align", "--json", "--nonsense"], ["align", "--json"]])
def test_a_line_that_cannot_be_parsed_gives_an_object_too(
    arguments: list[str], capsys: Capture
) -> None:
    assert main(arguments) == 2
    values = json.loads(capsys.readouterr().out)
    assert values["error"]["hint"] == "Type `onnx-align align --help`."


def test_a_short_data_file_is_an_error_with_facts(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path)
    with (tmp_path / DATA).open("rb+") as file:
        file.truncate(3000)
    assert main(["plan", str(source), "--json"]) == 3
    facts = json.loads(capsys.readouterr().out)["error"]
    assert facts["tensor"] == "second"
    assert "4,008" in facts["needed"]


def test_a_path_that_is_not_utf8_is_shown_escaped(tmp_path: Path) -> None:
    done = run_child("plan", bytes(tmp_path) + b"/\xff\x1b[31m.onnx")
    assert done.returncode == 3
    assert "\\udcff\\x1b[31m.onnx" in done.stderr


def test_a_failed_run_leaves_no_litter(tmp_path: Path, capsys: Capture) -> None:
    source = write_model(tmp_path / "in")
    before = tree(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / DATA).mkdir()
    assert fail(capsys, "align", source, tmp_path / "out")[0] == 3
    shutil.rmtree(tmp_path / "out")
    assert tree(tmp_path) == before

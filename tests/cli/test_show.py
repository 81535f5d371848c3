"""Tables and texts: on a terminal, in a pipe, with names from strangers."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_cli.show import MANY_ROWS, Column, show_table

from .child import run_child
from .models import write_model

COLUMNS = (Column("name"), Column("bytes", right=True), Column("why"))
ROWS = (("[red]x", "1,234,567", "because it is long enough"), ("权重", "2", "short"))


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int, rows: object = ROWS) -> str:
    screen = _Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        for key in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(key, raising=False)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", str(width))
        show_table("title", COLUMNS, rows)  # type: ignore[arg-type]
    return screen.getvalue()


def test_a_pipe_gets_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("title", COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "title",
        "name        bytes  why",
        "[red]x  1,234,567  because it is long enough",
        "权重            2  short",
    ]


def test_a_terminal_gets_a_drawn_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch, 80)
    assert "──" in text
    assert "[red]x" in text


@pytest.mark.parametrize("width", [10, 30, 42, 50, 200])
def test_no_number_is_ever_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1,234,567" in on_terminal(monkeypatch, width)


def test_many_rows_are_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch, 80, [ROWS[0]] * (MANY_ROWS + 1))
    assert "──" not in text


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = write_model(tmp_path)
    colour = run_child("plan", source, env={"FORCE_COLOR": "1"})
    plain = run_child("plan", source)
    assert "\x1b[" in colour.stdout
    assert "\x1b[" not in plain.stdout
    assert not any(
        f"\x1b[{code}m" in run_child("plan", source, env={"NO_COLOR": "1", "TERM": "xterm"}).stdout
        for code in range(30, 38)
    )


@pytest.mark.parametrize("arguments", [["plan"], ["plan", "--text"], ["plan", "--json"]])
def test_an_ascii_terminal_crashes_nothing(arguments: list[str], tmp_path: Path) -> None:
    source = write_model(tmp_path, "权重", "ü", "[red]x[/red]", name="模型.onnx")
    done = run_child(*arguments, source, env={"PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "[red]x[/red]" in done.stdout
    assert done.stdout.isascii()
    done = run_child("align", source, tmp_path / "ö.onnx", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\xf6.onnx" in done.stdout


def test_an_error_names_a_tensor_as_it_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_model(tmp_path, "[red]x\x1b[2J\u202e")
    (tmp_path / "model.onnx.data").write_bytes(b"")
    assert main(["plan", str(source)]) == 3
    assert "tensor '[red]x\\x1b[2J\\u202e'" in capsys.readouterr().err

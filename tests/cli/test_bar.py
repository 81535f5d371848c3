"""The progress bar, drawn by a rich console into a string; and where there is none."""

from __future__ import annotations

import io
import sys
import time

import pytest
from rich.console import Console

from onnx_align_cli.bar import REFRESHES_PER_SECOND, ByteBar, progress_bar
from onnx_align_pass.progress import SILENT


def console(width: int = 120) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=None, markup=False
    )


def drawn(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_it_shows_bytes_speed_and_the_tensor_at_hand() -> None:
    screen = console()
    with ByteBar(screen) as bar:
        bar.begin("model.onnx", 4 << 20)
        bar.refresh()
        time.sleep(0.01)
        bar.advance(1 << 20, "layer.0")
        bar.refresh()
        bar.advance(1 << 20, "layer.1")
        bar.refresh()
    text = drawn(screen)
    assert "model.onnx" in text
    assert "2.0 MiB / 4.0 MiB" in text
    assert "iB/s" in text
    assert "layer.1" in text


def test_a_phase_stands_where_the_tensor_stood() -> None:
    screen = console()
    with ByteBar(screen) as bar:
        bar.begin("model.onnx", 10)
        bar.advance(10, "layer.0")
        bar.phase("syncing")
        bar.refresh()
    assert "syncing" in drawn(screen)


def test_names_are_shown_and_not_obeyed() -> None:
    screen = console()
    with ByteBar(screen) as bar:
        bar.begin("[b]model\x1b[2J.onnx", 10)
        bar.advance(1, "[red]x\x07")
        bar.refresh()
    text = drawn(screen)
    assert "[b]model\\x1b[2J.onnx" in text
    assert "[red]x\\x07" in text


def test_a_model_takes_the_place_of_the_one_before() -> None:
    screen = console()
    with ByteBar(screen) as bar:
        bar.begin("first.onnx", 10)
        bar.advance(10, "w")
        bar.begin("second.onnx", 7)
        bar.refresh()
        last = drawn(screen).rsplit("\r", 1)[-1]
    assert "second.onnx" in last
    assert "0 B / 7 B" in last
    assert "first.onnx" not in last


@pytest.mark.parametrize("width", [20, 40, 69, 70, 200])
def test_it_stays_one_line_at_any_width(width: int) -> None:
    screen = console(width)
    with ByteBar(screen) as bar:
        bar.begin("a model with a long name.onnx", 1 << 40)
        bar.advance(1 << 39, "an even longer name of a tensor" * 9)
        bar.refresh()
        last = drawn(screen).rsplit("\r", 1)[-1]
    assert last.count("\n") == 0


def test_a_call_costs_next_to_nothing_and_draws_nothing() -> None:
    screen = console()
    with ByteBar(screen) as bar:
        bar.begin("model.onnx", 10**9)
        started = time.perf_counter()
        for _ in range(100_000):
            bar.advance(1, "w")
        seconds = time.perf_counter() - started
    frames = drawn(screen).count("model.onnx")
    assert frames <= (seconds + 0.2) * REFRESHES_PER_SECOND + 3
    assert seconds < 2


class _Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_goes_away_breaks_nothing() -> None:
    with ByteBar(Console(file=_Gone(), force_terminal=True)) as bar:
        bar.begin("model.onnx", 10)
        bar.advance(1, "w")
        bar.phase("syncing")
        bar.refresh()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_where_one_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(wanted=True) as progress:
        assert isinstance(progress, ByteBar)
    with progress_bar(wanted=False) as progress:
        assert progress is SILENT


def test_a_dumb_terminal_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "dumb")
    with progress_bar(wanted=True) as progress:
        assert progress is SILENT


def test_a_file_gets_none_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(wanted=True) as progress:
        assert progress is SILENT

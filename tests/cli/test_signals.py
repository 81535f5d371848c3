"""Signals to a real child in the middle of its work: codes, words, and nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

try:
    import pty
except ImportError:  # Windows
    pty = None  # type: ignore[assignment]

from onnx_align_cli.signals import PATIENCE_SECONDS, Interrupted, Signals

from .child import COMMAND, environment, run_child, tree
from .models import DATA, MODEL, sparse_model, write_model

NOTHING = "interrupted; nothing was changed"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

# The real command line, slowed down and made to say where it is.
SLOW = """
import sys, time
from onnx_align_cli import main, watch
from onnx_align_pass import write
from onnx_align_pass.transfer.staging import Stage

def say_and_wait(text, function):
    def slowed(*args, **kwargs):
        print(text, file=sys.stderr, flush=True)
        time.sleep({seconds})
        return function(*args, **kwargs)
    return slowed

watch._Watch.advance = say_and_wait("copying", watch._Watch.advance)
write.commit = say_and_wait("committing", write.commit)
Stage.__exit__ = say_and_wait("cleaning", Stage.__exit__)
sys.exit(main())
"""


class Child:
    """A child that says where it is on stderr."""

    def __init__(
        self, *arguments: str | Path, seconds: float = 0.3, ignored: int | None = None
    ) -> None:
        before: Callable[[], object] | None = None
        if ignored is not None:
            before = partial(signal.signal, ignored, signal.SIG_IGN)
        self._process = subprocess.Popen(
            [sys.executable, "-c", SLOW.format(seconds=seconds), *arguments],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
        )

    def send(self, signum: int, *, at: str) -> None:
        """Send a signal as soon as the child says `at`."""
        assert self._process.stderr is not None
        assert any(line.strip() == at for line in iter(self._process.stderr.readline, ""))
        self._process.send_signal(signum)

    def end(self) -> tuple[int, str, str]:
        """Wait; exit code, stdout, and the last line of stderr."""
        out, err = self._process.communicate(timeout=60)
        assert "Traceback" not in err
        return self._process.returncode, out, (err.splitlines() or [""])[-1]


@pytest.mark.parametrize("signum", CODES)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_signal_while_it_copies_leaves_everything_as_it_was(
    signum: signal.Signals, in_place: bool, tmp_path: Path
) -> None:
    source = write_model(tmp_path)
    before = tree(tmp_path)
    child = Child("align", source, "--in-place" if in_place else tmp_path / "new" / "out.onnx")
    child.send(signum, at="copying")
    assert child.end() == (CODES[signum], "", NOTHING)
    assert tree(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == [MODEL, DATA]


def test_a_signal_in_the_middle_of_a_large_copy_of_the_real_command(tmp_path: Path) -> None:
    source = sparse_model(tmp_path / "in", 1 << 30)
    (tmp_path / "out").mkdir()
    process = subprocess.Popen(
        [*COMMAND, "align", source, tmp_path / "out", "--verify"],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list((tmp_path / "out").rglob(DATA)):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"{NOTHING}\n")
    assert os.listdir(tmp_path / "out") == []


def test_a_signal_while_it_publishes_waits_until_the_model_is_whole(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    child = Child("align", source, tmp_path / "out.onnx")
    child.send(signal.SIGINT, at="committing")
    wanted = (130, "", "interrupted; out.onnx is finished, nothing else was changed")
    assert child.end() == wanted
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]


def test_a_signal_in_a_folder_says_which_models_are_finished(tmp_path: Path) -> None:
    write_model(tmp_path / "in", name="a.onnx")
    write_model(tmp_path / "in", name="b.onnx")
    child = Child("align", tmp_path / "in", tmp_path / "out")
    child.send(signal.SIGTERM, at="committing")
    code, _, last = child.end()
    assert (code, last) == (143, "interrupted; a.onnx is finished, nothing else was changed")
    assert sorted(os.listdir(tmp_path / "out")) == ["a.onnx", "a.onnx.data"]


def test_a_second_signal_does_not_disturb_the_clean_up(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    child = Child("align", source, tmp_path / "out.onnx")
    child.send(signal.SIGINT, at="copying")
    child.send(signal.SIGTERM, at="cleaning")
    assert child.end() == (130, "", NOTHING)
    assert os.listdir(tmp_path) == ["in"]


def test_a_second_signal_while_it_publishes_changes_nothing(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    child = Child("align", source, tmp_path / "out.onnx")
    child.send(signal.SIGHUP, at="committing")
    child.send(signal.SIGTERM, at="cleaning")
    assert child.end() == (129, "", "interrupted; out.onnx is finished, nothing else was changed")
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]


def test_a_limit_of_file_sizes_is_words_and_a_code_and_no_signal(tmp_path: Path) -> None:
    import resource

    source = write_model(tmp_path)
    before = tree(tmp_path)
    size = (tmp_path / DATA).stat().st_size // 2
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
    done = run_child("align", source, tmp_path / "out.onnx", preexec_fn=limit)
    assert done.returncode == 4  # not -25: SIGXFSZ
    assert "ulimit -f" in done.stderr
    assert tree(tmp_path) == before


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    source = write_model(tmp_path / "in")
    child = Child("align", source, tmp_path / "out.onnx", "-q", seconds=0.1, ignored=signal.SIGHUP)
    child.send(signal.SIGHUP, at="copying")
    assert child.end()[0] == 0
    assert (tmp_path / "out.onnx").exists()


def test_json_says_that_it_was_interrupted(tmp_path: Path) -> None:
    child = Child("align", write_model(tmp_path), tmp_path / "out.onnx", "--json")
    child.send(signal.SIGINT, at="copying")
    code, out, last = child.end()
    assert (code, last) == (130, NOTHING)
    assert '"message": "interrupted; nothing was changed"' in out


@pytest.mark.skipif(pty is None, reason="no pseudo terminals here")
def test_a_signal_takes_the_bar_off_the_terminal(tmp_path: Path) -> None:
    source = write_model(tmp_path)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(seconds=0.5), "align", source, tmp_path / "out.onnx"],
        env=environment(),
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    text = b""
    while b"copying" not in text:
        text += os.read(master, 4096)
    time.sleep(0.25)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # EIO: the child has closed its side
        while part := os.read(master, 4096):
            text += part
    os.close(master)
    assert process.wait() == 130
    assert "━".encode() in text
    assert text.rindex(b"\x1b[?25h") > text.rindex(b"\x1b[?25l")
    assert text.endswith(f"{NOTHING}\r\n".encode())


def test_the_handlers_go_when_the_command_is_done() -> None:
    before = [signal.getsignal(number) for number in CODES]
    with Signals():
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(number) for number in CODES] == before


@pytest.fixture
def signals() -> Signals:
    """Handlers that are called by the test, and installed nowhere."""
    return Signals()


def test_the_first_signal_raises_and_those_behind_it_do_not(signals: Signals) -> None:
    with pytest.raises(Interrupted) as caught:
        signals.handle(signal.SIGTERM)
    assert caught.value.signum == signal.SIGTERM
    signals.handle(signal.SIGINT)
    signals.handle(signal.SIGTERM)


def test_a_held_signal_raises_when_it_is_released(signals: Signals) -> None:
    signals.hold()
    signals.handle(signal.SIGINT)
    with pytest.raises(Interrupted):
        signals.release()


def test_nobody_is_locked_out_of_a_run_that_hangs(
    signals: Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals.hold()
    signals.handle(signal.SIGINT)
    later = time.monotonic() + PATIENCE_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(Interrupted):
        signals.handle(signal.SIGINT)

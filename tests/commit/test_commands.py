"""The command line when the system fails it, or when a signal comes: words and a code, and a pair.

No traceback, whatever call fails; 130, 143 or 129 after a signal, and nothing half done.
"""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

import pytest

from onnx_align_pass.recovering import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.commands import READING, WRITING, absolute
from tests.commit.judge import content
from tests.commit.kills import Wrongs
from tests.commit.scenes import SCENES, Task
from tests.commit.test_faults import FAULTS as CHANGING
from tests.commit.test_looks import FAULTS as LOOKING
from tests.commit.test_looks import FULL, run_with
from tests.commit.traced import Call, Tracer

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

FAULTS = {**{name: errors for name, errors in CHANGING.items() if "ing" not in name}, **LOOKING}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
STREAM = re.compile("[012]<")
HERE = ("/etc/", "/usr/", "/sys/", "/dev/", "/proc/sys", "TCGETS", "TIOCGWINSZ")
"""Files of the system, and questions to a terminal: what a program asks without telling."""


def build(root: Path) -> None:
    SCENES["fresh"].build(root)


def typed(name: str, root: Path) -> Task:
    """What is typed; `inline` in place of the model that is there."""
    arguments = {**READING, **WRITING}[name]
    if name == "inline":
        arguments = ["inline", "source/model.onnx", "--in-place"]
    return {"call": "command", "arguments": absolute(arguments, root)}


def calls_of(tracer: Tracer, task: Task) -> list[Call]:
    """The calls of an undisturbed command that can fail."""
    ended = tracer.run(task, [*FAULTS])
    assert ended.result["done"][0] in ("0", "3"), ended.result
    assert ended.result["leaked"] == []
    return [
        one
        for one in ended.calls
        if not (STREAM.match(one.arguments) or any(part in one.arguments for part in HERE))
    ]


@pytest.mark.parametrize("name", [*READING, *WRITING])
def test_a_command_in_which_a_call_fails_ends_with_words_and_a_code(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    root, wrongs = tmp_path / "scene", Wrongs()
    build(root)
    wanted = content(root / "source" / "model.onnx")
    before = snapshot(root)
    calls = calls_of(tracer, typed(name, root))
    for call in calls[:: 1 if FULL else 3]:
        rebuild(root)
        error = FAULTS[call.name][call.number % len(FAULTS[call.name])]
        ended = run_with(tracer, typed(name, root), call, error)
        with wrongs.at(f"{error} at {call} {call.arguments[:90]}"):
            assert "done" in ended.result, ended.result  # else it raised: a traceback
            code, out, err = ended.result["done"]
            assert "Traceback" not in out + err
            assert ended.result["leaked"] == [] or call.name == "close"
            assert code in ("0", "1", "3", "4"), err
            assert code == "0" or (err or out).strip()
            stays = code == "0" or "is in place" in err or name == "folder"  # what was published
            if name in READING or not stays:
                assert snapshot(root) == before
            recover_folder(root / "source")
            assert wanted in [content(one) for one in (root / "source").glob("*.onnx")]
            assert not list(root.rglob("*.align-*"))
    wrongs.none()
    assert len(calls) >= 7  # what the shortest of them, prune, makes


def rebuild(root: Path) -> None:
    shutil.rmtree(root)
    build(root)


@pytest.mark.parametrize("signum", CODES, ids=lambda one: one.name)
def test_a_command_that_a_signal_meets_at_any_call_ends_with_its_code_and_a_whole_pair(
    signum: signal.Signals, tracer: Tracer, tmp_path: Path
) -> None:
    root, wrongs = tmp_path / "scene", Wrongs()
    build(root)
    before, wanted = snapshot(root), content(root / "source" / "model.onnx")
    task = typed("in_place", root)
    calls = calls_of(tracer, task)
    after = snapshot(root)
    ends = set()
    for call in calls[list(CODES).index(signum) :: 1 if FULL else len(CODES)]:
        rebuild(root)
        fault = f"{call.name}:signal={signum.name}:when={call.number}"
        ended = tracer.run(task, [call.name], fault)
        with wrongs.at(f"{call} {call.arguments[:90]}"):
            assert f"--- {signum.name}" in ended.log
            code, _, err = ended.result["done"]
            assert int(code) == CODES[signum], ended.result
            # What was opened and not yet returned, or not closed, by the signal itself.
            assert ended.result["leaked"] == [] or call.name in ("openat", "close")
            assert snapshot(root) in (before, after)
            assert content(root / "source" / "model.onnx") == wanted
            finished = snapshot(root) == after
            assert ("model.onnx is finished" in err) == finished, err
            ends.add(finished)
    wrongs.none()
    assert ends == {False, True}

"""A call that fails is a clear error and costs nothing: the old pair, or the new one, no litter."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import Judge
from tests.commit.kills import Wrongs
from tests.commit.traced import Call, Ended, Tracer

pytestmark = pytest.mark.needs_strace

FULL = ("ENOSPC", "EDQUOT")
FORBIDDEN = ("EACCES", "EROFS")
FAULTS = {
    "mkdir": (*FULL, *FORBIDDEN, "EMLINK"),
    "creating": (*FULL, *FORBIDDEN, "EMFILE", "ENFILE"),
    "openat": ("EMFILE",),
    "ioctl": (*FULL, "EFBIG", "EIO"),
    "ftruncate": ("EFBIG", "EIO"),
    "write": (*FULL, "EIO"),
    "pwrite64": (*FULL, "EIO"),
    "pwritev2": (*FULL, "EIO"),
    "splice": (*FULL, "EIO"),
    "reading": ("EIO",),
    "fchmod": ("EIO", "EROFS"),
    "fchown": ("EIO", "EDQUOT"),
    "fsync": (*FULL, "EIO"),
    "rename": (*FULL, *FORBIDDEN, "EIO"),
    "link": (*FULL, "EROFS", "EIO"),
    "unlink": (*FORBIDDEN, "EIO"),
    "unlinkat": (*FORBIDDEN, "EIO"),
    "rmdir": (*FORBIDDEN, "EIO"),
    "flock": ("EIO", "ENOLCK"),
}
"""What each call can fail with; `creating` is an openat, `reading` a splice from a file."""
OURS = ("WriteError", "DiskFullError")
READING = (
    *("ExternalDataError", "ModelError", "ModelNotFoundError", "BrokenModelError"),
    "DataFileSharedError",  # a neighbour could not be opened: whose the data is, is unknown
)
TRACED = [name for name in FAULTS if name not in ("creating", "reading")]
TO_FILE = re.compile(r"\d+<[^>]*>, NULL, ")

WRITING = ("ioctl", "pwrite64", "pwritev2", "splice")
SCENES = {"fresh": 2, "overwrite": 1, "in_place": 3, "in_place_three": 1, "large": 1}
"""How many kinds of failure are tried at each call."""


def faults(tracer: Tracer, judge: Judge, root: Path, most: int) -> Iterator[tuple[Call, str]]:
    """Every call of the run, with what it can fail with; not always with the same if not all."""
    judge.rebuild(root)
    ended = tracer.run(judge.scene.task(root), TRACED)
    assert ended.result == {"done": ["written"], "leaked": []}
    for call in ended.calls:
        kind = "creating" if "O_CREAT" in call.arguments else call.name
        if kind == "splice" and not TO_FILE.match(call.arguments):
            kind = "reading"
        if kind == "openat" and most == 1:
            continue
        errors = [*FAULTS[kind], *FAULTS[kind]]
        start = call.number % len(FAULTS[kind])
        yield from ((call, error) for error in errors[start:][: min(most, len(FAULTS[kind]))])


@pytest.mark.parametrize("name", SCENES)
def test_a_failed_call_costs_nothing_and_is_told(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    for call, error in faults(tracer, one, root, SCENES[name]):
        one.rebuild(root)
        fault = f"{call.name}:error={error}:when={call.number}"
        ended = tracer.run(one.scene.task(root), [call.name], fault)
        assert "(INJECTED)" in ended.log, call
        with wrongs.at(f"{error} at {call}"):
            assert ended.status == 0
            assert ended.result["leaked"] == []
            if "done" in ended.result:
                succeeded(one, root, call)
            else:
                failed(one, root, ended, error)
                full = error in FULL and call.name in WRITING
                assert (ended.result["error"] == "DiskFullError") >= full
    wrongs.none()


def succeeded(judge: Judge, root: Path, call: Call) -> None:
    """What did not matter: the new pair is whole; only a failed removal may leave something."""
    judge.whole(root)
    if call.name in ("unlink", "unlinkat", "rmdir", "openat", "fchmod"):
        recover_folder((root / judge.scene.model).parent)
    judge.is_after(root, superseded_may_stay=call.name in ("unlink", "openat"))


def failed(judge: Judge, root: Path, ended: Ended, error: str) -> None:
    """What mattered: an error of ours that names the file, and not a trace of the run."""
    told = ended.result
    assert told["error"] in (*OURS, *READING), told
    assert told["file"].startswith(str(root)), told
    assert reason_of(error) in told["text"], told
    assert ("bytes free" in told["text"]) == (told["error"] == "DiskFullError"), told
    found = snapshot(root)
    if found == judge.after:
        assert "is in place" in told["text"], told
    else:
        judge.settled(root)


def reason_of(error: str) -> str:
    """What the system says to a user."""
    number: int = getattr(errno, error)
    return os.strerror(number)

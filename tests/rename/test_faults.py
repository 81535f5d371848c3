"""A call that fails is a clear error: the old model, or both, or the new one; again means done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.interrupts import interrupting
from tests.commit.kills import Wrongs
from tests.commit.perform import perform
from tests.commit.test_faults import FAULTS, OURS, READING, TRACED
from tests.commit.traced import Call, Ended, Tracer

from .judge import RenameJudge

pytestmark = pytest.mark.exhaustive
Judges = Callable[[str], RenameJudge]
REMOVING = ("unlink", "unlinkat", "rmdir", "openat")
"""Calls that may fail at the end, with nothing to be done but to leave something."""


def faults(tracer: Tracer, judge: RenameJudge, root: Path) -> Iterator[tuple[Call, str]]:
    """Every call of the run, each with one of the errors that it can fail with."""
    judge.rebuild(root)
    ended = tracer.run(judge.scene.task(root), TRACED)
    assert ended.result == {"done": ["renamed"], "leaked": []}
    for call in ended.calls:
        errors = FAULTS["creating" if "O_CREAT" in call.arguments else call.name]
        yield call, errors[call.number % len(errors)]


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["three_files", "moved_and_renamed", "over_another", "no_data"])
def test_a_failed_call_costs_nothing_and_is_told(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    seen = set()
    for call, error in faults(tracer, one, root):
        one.rebuild(root)
        fault = f"{call.name}:error={error}:when={call.number}"
        ended = tracer.run(one.scene.task(root), [call.name], fault)
        assert "(INJECTED)" in ended.log, call
        with wrongs.at(f"{error} at {call}"):
            assert ended.status == 0
            assert ended.result["leaked"] == []
            one.whole(root)
            if "done" in ended.result:
                succeeded(one, root, call)
            else:
                stands = failed(one, root, ended)
                seen.add(stands)
                if stands != "after, with old data":
                    one.finish(root)
    wrongs.none()
    assert seen >= {"before", "after"}


def succeeded(judge: RenameJudge, root: Path, call: Call) -> None:
    """What did not matter: only a failed removal may leave something of the run's own."""
    if call.name in REMOVING:
        for model in (judge.scene.source, judge.scene.model):
            recover_folder((root / model).parent)
    if call.name == "rmdir":  # the emptied folder is all that may be left of it
        for name in sorted(snapshot(root).keys() - judge.after.keys(), reverse=True):
            (root / name).rmdir()
    judge.is_after(root, superseded_may_stay=call.name in ("unlink", "openat"))


def failed(judge: RenameJudge, root: Path, ended: Ended) -> str:
    """What mattered: an error of ours, and the old model as it was, unless the new one stands."""
    told = ended.result
    assert told["error"] in (*OURS, *READING), told
    assert told["file"].startswith(str(root)), told
    if "is in place" in told["text"]:
        assert (root / judge.scene.model).exists()
        return "after, with old data" if "old data" in told["text"] else "after"
    assert snapshot(root) == judge.before
    return "before"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["three_files", "moved_and_renamed", "over_another"])
def test_an_interrupt_at_any_call_leaves_a_whole_model_and_no_litter(
    name: str, after: bool, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    one.rebuild(root)
    with interrupting(after=False) as counted:
        assert "done" in perform(one.scene.task(root))
    for number in range(int(after), counted.count, 2):  # each call is cut short on one side
        one.rebuild(root)
        with interrupting(number, after=after) as found:
            result = perform(one.scene.task(root))
        with wrongs.at(f"{number} {found.fired}"):
            assert found.fired
            dropped = after and found.fired[0].startswith("close")
            interrupted = result.get("error") == "NOT OURS: KeyboardInterrupt"
            assert interrupted or ("done" in result and dropped), result
            one.whole(root)
            assert not list(root.rglob("*.align-*"))
            # A descriptor that was not closed holds its lock as long as this process lives.
            if not found.fired[0].startswith("open" if after else "close"):
                one.finish(root)
    wrongs.none()
    assert counted.count > 50

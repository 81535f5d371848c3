"""Ctrl-C at any moment: the old pair or the new one, and no litter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import AlignError, LayoutPolicy, Progress, align_file, recover_folder
from tests.align.snapshot import snapshot
from tests.commit.interrupts import interrupting
from tests.commit.judge import Judge
from tests.commit.kills import Wrongs
from tests.commit.perform import descriptors, perform
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer

HARMLESS = ("newfstatat", "lseek", "fcntl", "read", "getdents64")
"""Calls like others; there are many."""

Judges = Callable[[str], Judge]


def calls_of(judge: Judge, root: Path) -> int:
    """How many calls a run makes."""
    judge.rebuild(root)
    with interrupting(after=False) as counted:
        assert "done" in perform(judge.scene.task(root))
    assert counted.count > 50
    return counted.count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["fresh_in_shards", "overwrite", "in_place", "in_place_three"])
def test_an_interrupt_at_any_call_leaves_a_whole_pair_and_no_litter(
    name: str, after: bool, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    for number in range(calls_of(one, root)):
        one.rebuild(root)
        with interrupting(number, after=after) as found:
            result = perform(one.scene.task(root))
        with wrongs.at(f"{number} {found.fired}"):
            assert found.fired
            # Closing twice, shutil.rmtree drops the interrupt of the first.
            dropped = after and found.fired[0].startswith("close")
            interrupted = result.get("error") == "NOT OURS: KeyboardInterrupt"
            assert interrupted or ("done" in result and dropped), result
            # What was opened and not yet returned, or not closed, by the test itself.
            if not found.fired[0].startswith("open" if after else "close"):
                assert result["leaked"] == []
            one.settled(root)
    wrongs.none()


@pytest.mark.parametrize("name", ["in_place", "fresh_in_shards"])
@pytest.mark.parametrize("second", [1, 2, 3, 5, 8])
def test_a_second_interrupt_costs_no_pair(
    name: str, second: int, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    for number in range(0, calls_of(one, root), 2):
        one.rebuild(root)
        with interrupting(number, number + second, after=True) as found:
            perform(one.scene.task(root))
        with wrongs.at(f"{number} {found.fired}"):
            one.whole(root)
            recover_folder((root / one.scene.model).parent)
            one.settled(root)
    wrongs.none()


class Failing(Progress):
    """A progress that fails at one of its calls."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.count = 0
        self._at = at
        self._error = error

    def begin(self, model: str, total_bytes: int) -> None:
        self._see()

    def advance(self, nbytes: int, tensor: str) -> None:
        self._see()

    def phase(self, text: str) -> None:
        self._see()

    def _see(self) -> None:
        self.count += 1
        if self.count == self._at:
            raise self._error("from the progress")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError])
@pytest.mark.parametrize("name", ["fresh_in_shards", "in_place_three", "large"])
def test_what_a_progress_raises_passes_through_and_leaves_nothing(
    name: str, error: type[BaseException], tmp_path: Path
) -> None:
    scene, open_before = SCENES[name], descriptors()
    scene.build(tmp_path)
    before = snapshot(tmp_path)
    target = scene.destination and tmp_path / scene.destination
    counted = Failing(-1, error)
    layout = LayoutPolicy(alignment=64)
    for at in range(1, 100):
        counted = Failing(at, error)
        told = ""
        try:
            align_file(tmp_path / scene.source, target, layout=layout, progress=counted)
        except (error, AlignError) as caught:
            told = f"{caught} {caught.__context__}"
        if not told:
            break
        assert "from the progress" in told
        assert snapshot(tmp_path) == before
        assert descriptors() == open_before
    assert counted.count > 5


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["in_place"])
def test_a_real_signal_at_any_call_leaves_a_whole_pair(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    one.rebuild(root)
    run = tracer.run(one.scene.task(root), ["%file", "%desc"])
    for call in (one for one in run.calls if one.name not in HARMLESS):
        one.rebuild(root)
        fault = f"{call.name}:signal=INT:when={call.number}"
        ended = tracer.run(one.scene.task(root), [call.name], fault)
        with wrongs.at(call):
            assert "SIGINT" in ended.log
            one.settled(root)
            assert recover_folder((root / one.scene.model).parent) == ()
    wrongs.none()
    assert len(run.calls) > 100

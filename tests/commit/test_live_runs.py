"""A run that lives is left alone, a dead one is cleaned up, and two at once do not mix."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import LayoutPolicy, align_file, recover_folder, repack, run
from onnx_align_pass import write as write_module
from onnx_align_pass.prepare import Prepared, prepare
from onnx_align_pass.transfer.commit import folder_lock
from onnx_align_pass.transfer.journal import Journal
from onnx_align_pass.transfer.publication import Publication
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.commit.judge import Judge, content
from tests.commit.perform import perform
from tests.commit.scenes import SCENES, Scene
from tests.commit.traced import Tracer

CHANGED = ("SourceChangedError", "ExternalDataError", "DestinationExistsError")
"""How the slower of two runs may end."""


@contextmanager
def stopped(runner: Tracer, task: dict[str, Any]) -> Iterator[int]:
    """A run that holds still where the task says."""
    pid = runner.start(task)
    until(lambda: state_of(pid) == "T")
    try:
        yield pid
    finally:
        if state_of(pid) == "T":
            os.kill(pid, signal.SIGKILL)
            runner.end()


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def resume(runner: Tracer, pid: int) -> dict[str, Any]:
    """Let a stopped run go on to its end."""
    os.kill(pid, signal.SIGCONT)
    return runner.end()


@pytest.mark.parametrize("name", ["fresh", "in_place"])
@pytest.mark.parametrize("stop_at", ["begin", "advance", "syncing", "publishing"])
def test_a_live_run_is_left_alone_and_a_killed_one_is_cleaned_up(
    name: str, stop_at: str, judge: Callable[[str], Judge], runner: Tracer, tmp_path: Path
) -> None:
    one = judge(name)
    one.rebuild(tmp_path)
    folder = (tmp_path / one.scene.model).parent
    with stopped(runner, one.scene.task(tmp_path, stop_at=stop_at)) as pid:
        during = snapshot(tmp_path)
        (found,) = recover_folder(folder)
        assert found.outcome == "live"
        assert snapshot(tmp_path) == during
        os.kill(pid, signal.SIGKILL)
        assert runner.end() == {}
    (found,) = recover_folder(folder)
    assert found.outcome == "discarded"
    assert snapshot(tmp_path) == one.before


def test_a_run_is_not_disturbed_by_a_recovery(
    judge: Callable[[str], Judge], runner: Tracer, tmp_path: Path
) -> None:
    one = judge("in_place")
    one.rebuild(tmp_path)
    with stopped(runner, one.scene.task(tmp_path, stop_at="advance")) as pid:
        recover_folder(tmp_path / "folder")
        os.kill(pid, signal.SIGCONT)
        assert runner.end() == {"done": ["written"], "leaked": []}
    one.is_after(tmp_path)


@pytest.mark.parametrize("name", ["fresh", "in_place", "overwrite"])
@pytest.mark.parametrize("stop_at", ["begin", "advance", "publishing"])
def test_of_two_runs_the_one_that_publishes_last_gives_way(
    name: str, stop_at: str, judge: Callable[[str], Judge], runner: Tracer, tmp_path: Path
) -> None:
    one = judge(name)
    one.rebuild(tmp_path)
    with stopped(runner, one.scene.task(tmp_path, alignment=64, stop_at=stop_at)) as pid:
        assert perform(one.scene.task(tmp_path)) == {"done": ["written"], "leaked": []}
        told = resume(runner, pid)
    assert told["error"] == "SourceChangedError", told
    assert told["leaked"] == []
    one.is_after(tmp_path)


@pytest.mark.parametrize("name", ["fresh", "in_place", "in_place_three", "in_place_other_names"])
def test_two_runs_at_once_end_in_the_result_of_one_of_them(
    name: str, runner: Tracer, tmp_path: Path
) -> None:
    scene = SCENES[name]
    results = [played(scene, tmp_path / str(alignment), alignment) for alignment in (16, 1024)]
    for number in range(8):
        root = tmp_path / f"both{number}"
        scene.build(root)
        wanted = content(root / scene.source)
        told: list[dict[str, Any]] = []
        other = threading.Thread(
            target=lambda: told.append(runner.plain(scene.task(root, alignment=16)))  # noqa: B023
        )
        other.start()
        time.sleep(number * 0.002)
        told.append(perform(scene.task(root, alignment=1024)))
        other.join()
        for result in told:
            assert "done" in result or result["error"] in CHANGED, result
            assert result["leaked"] == []
        assert any("done" in result for result in told)
        assert content(root / scene.model) == wanted
        assert recover_folder((root / scene.model).parent) == ()
        assert snapshot(root) in results


@pytest.mark.parametrize("options", [{"alignment": 16}, {"alignment": 1024}])
def test_a_model_that_stands_in_between_is_not_taken_for_the_model(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, between, go_on = SCENES["in_place"], threading.Event(), threading.Event()
    scene.build(tmp_path)
    publish = Publication._publish

    def held_up(steps: Publication, name: str) -> None:
        between.set()
        go_on.wait(30)
        publish(steps, name)

    def waits(folder: Path) -> AbstractContextManager[None]:
        go_on.set()
        return folder_lock(folder)

    monkeypatch.setattr(Publication, "_publish", held_up)
    monkeypatch.setattr(run, "folder_lock", waits)
    told: list[dict[str, Any]] = []
    task = scene.task(tmp_path, alignment=16)
    other = threading.Thread(target=lambda: told.append(perform(task)))
    other.start()
    assert between.wait(30)
    late = perform(scene.task(tmp_path, **options))
    other.join()
    assert late["error"] == "SourceChangedError", late
    assert "done" in told[0], told
    assert recover_folder(tmp_path / "folder") == ()


def test_what_another_run_published_since_is_not_replaced_without_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = SCENES["fresh"]
    scene.build(tmp_path)

    def late(*given: Any, **keywords: Any) -> Prepared:
        monkeypatch.setattr(repack, "prepare", prepare)
        assert perform(scene.task(tmp_path, alignment=1024)) == {"done": ["written"], "leaked": []}
        published.update(snapshot(tmp_path))
        return prepare(*given, **keywords)

    published: dict[str, tuple[object, ...]] = {}
    monkeypatch.setattr(repack, "prepare", late)
    told = perform(scene.task(tmp_path, alignment=16))
    assert told["error"] == "SourceChangedError", told
    assert snapshot(tmp_path) == published


def test_a_folder_that_another_run_removed_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, source = tmp_path / "folder", tmp_path / "source" / "new.onnx"
    (folder / "below").mkdir(parents=True)
    external_model(folder / "old.onnx", data="below/old.data")
    external_model(source)
    wanted = content(source)
    journal_of = write_module.journal_of

    def late(*given: Any) -> Journal:
        journal = journal_of(*given)
        monkeypatch.setattr(write_module, "journal_of", journal_of)
        align_file(folder / "old.onnx", layout=LayoutPolicy(data_name="old.data"))
        assert not (folder / "below").exists()
        return journal

    monkeypatch.setattr(write_module, "journal_of", late)
    align_file(source, folder / "new.onnx", layout=LayoutPolicy(data_name="below/new.data"))
    assert content(folder / "new.onnx") == wanted


def played(scene: Scene, root: Path, alignment: int) -> dict[str, tuple[object, ...]]:
    """What a run leaves when it is alone."""
    scene.build(root)
    assert "done" in perform(scene.task(root, alignment=alignment))
    return snapshot(root)

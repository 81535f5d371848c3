"""A call that only looks, and fails, costs nothing: a disk that fails, a server that forgot a file.

What cannot be looked at is never taken for nothing. It ends in a clear error, or did not matter.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_align_pass.recovering import recover_folder
from tests.align.snapshot import snapshot
from tests.commit import scenes
from tests.commit.judge import Judge, content
from tests.commit.kills import LOOKS, Wrongs, changes_of, kill
from tests.commit.perform import perform
from tests.commit.scenes import INLINE, SCENES, Scene
from tests.commit.test_faults import reason_of
from tests.commit.traced import Call, Ended, Tracer
from tests.corpus.build import point, showing, tensor

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]

FULL = "ALIGN_TESTS_FULL" in os.environ
"""Every call with each of its errors; minutes more. Else with one, and not in each scene."""
GONE = ("EIO", "ESTALE", "EACCES")
FAULTS = {
    "newfstatat": (*GONE, "ENOMEM"),
    "fstat": ("EIO", "ESTALE"),
    "statx": (*GONE, "ENOMEM"),
    "fstatfs": ("EIO", "ENOSYS"),
    "access": GONE,
    "faccessat2": GONE,
    "openat": (*GONE, "EMFILE", "ENFILE", "ENOMEM", "EINTR"),
    "getdents64": ("EIO", "ESTALE"),
    "readlink": ("EIO", "EACCES"),
    "lseek": ("EIO",),
    "read": ("EIO", "ESTALE", "EINTR"),
    "pread64": ("EIO", "ESTALE", "EINTR"),
    "preadv2": ("EIO", "ESTALE", "EINTR"),
    "close": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "flock": ("EIO", "ENOLCK", "EINTR"),
    "fcntl": ("EPERM", "EIO"),
    "pipe2": ("EMFILE", "ENFILE"),
    "fadvise64": ("EIO",),
    "mmap": ("EIO",),
    "getcwd": ("ENOENT",),
}
"""What each can fail with. strace makes a `close` fail by leaving it out: that leak is its own."""
PASSES = ("/proc/sys/fs/pipe-max-size",)
"""What is read for advice alone."""


def test_every_call_that_looks_is_here() -> None:
    assert {*FAULTS} == {*LOOKS, "openat"}


def faults(tracer: Tracer, task: scenes.Task) -> Iterator[tuple[Call, str]]:
    """Every call of the run that looks, with one of the errors that it can fail with, or all."""
    ended = tracer.run(task, [*FAULTS])
    assert "done" in ended.result or ended.result["error"].startswith("D"), ended.result
    for call in ended.calls:
        if not any(part in call.arguments for part in PASSES):
            errors = FAULTS[call.name]
            start = call.number % len(errors)
            yield from (
                (call, error) for error in [*errors[start:], *errors[:start]][: None if FULL else 1]
            )


def run_with(tracer: Tracer, task: scenes.Task, call: Call, error: str) -> Ended:
    """Carry out a task in which a call fails."""
    ended = tracer.run(task, [call.name], f"{call.name}:error={error}:when={call.number}")
    assert "(INJECTED)" in ended.log, f"{error} at {call}"
    assert ended.status == 0
    return ended


def told(ended: Ended, call: Call, error: str) -> str:
    """Hold the error to be one of ours, and to say what the system said; its text."""
    result = ended.result
    assert not result["error"].startswith("NOT OURS"), result
    assert result["file"], result
    if result["error"] not in ("DiskFullError", "SourceChangedError", "DataFileSharedError"):
        assert reason_of(error) in result["text"] or "may not be read" in result["text"], result
    assert result["leaked"] == [] or call.name == "close", result
    text: str = result["text"]
    return text


TRIED = (SCENES["in_place"], SCENES["overwrite"], *((SCENES["fresh"], INLINE) if FULL else ()))
MORE = (SCENES["in_place_three"], SCENES["large"], SCENES["fresh_in_shards"])


@pytest.mark.parametrize("scene", [*TRIED, *(MORE if FULL else ())], ids=lambda one: one.name)
def test_a_look_that_fails_costs_nothing_and_is_told(
    scene: Scene, tracer: Tracer, tmp_path: Path
) -> None:
    one, root, wrongs = Judge.of(scene, tmp_path / "once"), tmp_path / "scene", Wrongs()
    one.rebuild(root)
    for call, error in list(faults(tracer, one.scene.task(root))):
        one.rebuild(root)
        ended = run_with(tracer, one.scene.task(root), call, error)
        with wrongs.at(f"{error} at {call} {call.arguments[:90]}"):
            if "done" in ended.result:
                assert ended.result["leaked"] == [] or call.name == "close"
                recover_folder((root / one.scene.model).parent)
                one.is_after(root, superseded_may_stay=True)
            elif "is in place" in told(ended, call, error):
                one.is_after(root)
            else:
                one.settled(root)
    wrongs.none()


def shared(root: Path) -> None:
    """A neighbour points at the data."""
    scenes.one_file(root)
    part = point(tensor("w.0", [300]), [("location", "model.onnx.data"), ("offset", "3")])
    scenes.write(root / "folder", showing([part]), "sharer.onnx")


def shared_with_a_backup(root: Path) -> None:
    shared(root)
    (root / "folder" / "sharer.onnx").rename(root / "folder" / "sharer.onnx.bak")


def somebodys_data(root: Path) -> None:
    scenes.to_a_fresh_folder(root)
    (root / "folder" / "model.onnx.data").write_bytes(b"mine")


def data_by_two_names(root: Path) -> None:
    scenes.one_file(root)
    (root / "other").mkdir()
    os.link(root / "folder" / "model.onnx.data", root / "other" / "model.onnx.data")


SOURCE, THERE = "source/model.onnx", "folder/model.onnx"
FORCE = {"overwrite": True}
REFUSED = {
    scene.name: scene
    for scene in (
        Scene("shared", shared, THERE),
        Scene("shared_with_a_backup", shared_with_a_backup, THERE),
        Scene("shared_renamed", shared, THERE, "folder/new.onnx", call="rename"),
        Scene("exists", scenes.over_another_model, SOURCE, THERE),
        Scene("somebodys_data", somebodys_data, SOURCE, THERE),
        Scene("its_own_source", data_by_two_names, THERE, "other/model.onnx", FORCE),
    )
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_whatever_cannot_be_looked_at(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    scene, root, wrongs = REFUSED[name], tmp_path / "scene", Wrongs()
    scene.build(root)
    before = snapshot(root)
    assert perform(scene.task(root))["error"].startswith("D")
    for call, error in list(faults(tracer, scene.task(root))):
        ended = run_with(tracer, scene.task(root), call, error)
        with wrongs.at(f"{error} at {call} {call.arguments[:90]}"):
            assert "error" in ended.result, ended.result
            assert not ended.result["error"].startswith("NOT OURS"), ended.result
            if "Both are whole" in ended.result["text"]:  # a rename that has come half way
                assert content(root / "folder/new.onnx") == content(root / "folder/model.onnx")
                shutil.rmtree(root)
                scene.build(root)
            assert snapshot(root) == before
    wrongs.none()


@pytest.mark.parametrize(("name", "number"), [("in_place", 2), ("in_place_three", 4)])
def test_a_recovery_in_which_a_look_fails_loses_nothing_and_can_be_called_again(
    name: str,
    number: int,
    tracer: Tracer,
    judge: Callable[[str], Judge],
    tmp_path: Path,
) -> None:
    one, root, wrongs = judge(name), tmp_path / "scene", Wrongs()
    task: scenes.Task = {"call": "recover", "folder": str(root / "folder")}
    one.rebuild(root)
    renames = [call for call in changes_of(tracer, one.scene.task(root)) if call.name == "rename"]
    one.rebuild(root)
    kill(tracer, one.scene.task(root), renames[number])
    for call, error in list(faults(tracer, task)):
        one.rebuild(root)
        kill(tracer, one.scene.task(root), renames[number])
        ended = run_with(tracer, task, call, error)
        with wrongs.at(f"{error} at {call} {call.arguments[:90]}"):
            assert not ended.result.get("error", "").startswith("NOT OURS"), ended.result
            one.whole(root)
            recover_folder(root / "folder")
            one.settled(root)
    wrongs.none()

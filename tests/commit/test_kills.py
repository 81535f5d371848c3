"""A run killed at any call that changes the disk leaves the old pair or the new one.

The kill comes on entry of the call: between two calls, every state that another process can see.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnx_align_pass import AlignError, recover_folder

from .judge import Judge, loads_everywhere
from .perform import perform
from .scenes import SCENES
from .traced import Call, Tracer

pytestmark = pytest.mark.needs_strace

CHANGES = (
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat"),
    *("fsync", "fdatasync", "ftruncate", "openat", "fchmod", "fchown", "pwrite64", "pwritev2"),
)

def kill_points(tracer: Tracer, judge: Judge, folder: Path) -> list[Call]:
    """Play the scene undisturbed, and list the calls at which it can be killed."""
    judge.scene.build(folder)
    ended = tracer.run(judge.scene.task(folder), CHANGES)
    assert ended.result == {"done": ["written"], "leaked": []}
    shutil.rmtree(folder)
    return [one for one in ended.calls if one.name != "openat" or "O_CREAT" in one.arguments]


@contextmanager
def told(wrong: dict[str, str], point: Call) -> Iterator[None]:
    """Note what is wrong after a kill, and go on to the next one."""
    try:
        yield
    except (AssertionError, AlignError, OSError, ValueError) as error:
        wrong[f"{point} {point.arguments}"] = f"{type(error).__name__}: {error}"


def killed(tracer: Tracer, judge: Judge, folder: Path) -> Iterator[Call]:
    """Kill the run at one call after the other, each time from the start."""
    points = kill_points(tracer, judge, folder)
    assert len(points) > 15
    for point in points:
        judge.scene.build(folder)
        fault = f"{point.name}:signal=KILL:when={point.number}"
        ended = tracer.run(judge.scene.task(folder), [point.name], fault)
        assert ended.killed, f"{point}: {ended.status}"
        assert str(ended.calls[-1]) == str(point)
        yield point
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", SCENES)
def test_a_killed_run_leaves_a_whole_pair_and_recover_settles_it(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root = judge(name), tmp_path / "scene"
    model = root / one.scene.model
    wrong: dict[str, str] = {}
    for number, point in enumerate(killed(tracer, one, root)):
        with told(wrong, point):
            if one.whole(root):
                loads_everywhere(model, runtime=number % 5 == 0)
            recover_folder(model.parent)
            one.settled(root)
            assert recover_folder(model.parent) == ()
    assert not wrong, "\n".join(f"{point}: {what}" for point, what in wrong.items())

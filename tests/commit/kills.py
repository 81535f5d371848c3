"""Runs that are killed: at which calls, one after the other, and what was wrong after which."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onnx_align_pass import AlignError
from tests.commit.scenes import Scene
from tests.commit.shared_scenes import SharedScene
from tests.commit.traced import Call, Tracer

__all__ = ["CHANGES", "Wrongs", "changes_of", "kill", "killed"]

CHANGES = (
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "fchmod", "fchown"),
    *("fsync", "fdatasync", "ftruncate", "openat", "write", "pwrite64", "pwritev2"),
)
"""Calls that change the disk; of `openat` those that create."""


class Wrongs(dict[str, str]):
    """What was wrong, by the call; told at the end, all of it."""

    @contextmanager
    def at(self, point: object) -> Iterator[None]:
        """Note what is wrong after a kill, and go on to the next one."""
        try:
            yield
        except (AssertionError, AlignError, OSError, ValueError) as error:
            self[str(point)] = f"{type(error).__name__}: {error}"

    def none(self) -> None:
        """Hold nothing to have been wrong."""
        assert not self, "\n".join(f"{point}: {what}" for point, what in self.items())


def changes_of(tracer: Tracer, task: dict[str, Any], faults: Sequence[str] = ()) -> list[Call]:
    """Let a task run, and list the calls of it that change the disk."""
    ended = tracer.run(task, CHANGES, *faults)
    assert "done" in ended.result, ended.result
    assert ended.result["leaked"] == []
    return [one for one in ended.calls if one.name != "openat" or "O_CREAT" in one.arguments]


def kill(tracer: Tracer, task: dict[str, Any], point: Call, faults: Sequence[str] = ()) -> None:
    """Kill a task on entry of a call: the call does not take effect."""
    traced = [point.name, *(name for fault in faults for name in fault.split(":")[0].split(","))]
    fault = f"{point.name}:signal=KILL:when={point.number}"
    ended = tracer.run(task, traced, *faults, fault)
    assert ended.killed, f"{point}: {ended.status}"
    assert str(ended.calls[-1]) == str(point)


def killed(
    tracer: Tracer,
    scene: Scene | SharedScene,
    root: Path,
    *faults: str,
    only: Sequence[str] = CHANGES,
) -> Iterator[Call]:
    """Kill the run of a scene at one call after the other, each time from the start.

    Args:
        tracer: Kills.
        scene: What is played.
        root: A folder that is not there; it is made for each kill, and removed.
        faults: Injected into every run.
        only: Names of the calls to kill at.
    """
    scene.build(root)
    points = changes_of(tracer, scene.task(root), faults)
    shutil.rmtree(root)
    for point in (one for one in points if one.name in only):
        scene.build(root)
        kill(tracer, scene.task(root), point, faults)
        yield point
        shutil.rmtree(root)

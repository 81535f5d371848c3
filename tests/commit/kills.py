"""Runs that are killed: at which calls, one after the other, and what was wrong after which."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from onnx_align_pass import AlignError
from tests.commit.scenes import Scene
from tests.commit.shared_scenes import SharedScene
from tests.commit.traced import Call, Tracer

__all__ = ["ALWAYS", "CHANGES", "LOOKS", "Wrongs", "calls_of", "changes_of", "kill", "killed"]

CHANGES = (
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mknod", "mknodat"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "fchownat", "utimensat"),
    *("fsync", "fdatasync", "syncfs", "sync_file_range", "ftruncate", "truncate", "fallocate"),
    *("open", "creat", "openat", "openat2", "write", "writev", "pwrite64", "pwritev", "pwritev2"),
    *("ioctl", "splice", "copy_file_range", "sendfile"),
)
"""Calls that change the disk; of `openat` those that create. An ioctl reserves, or clones."""
LOOKS = (
    *("newfstatat", "fstat", "statx", "fstatfs", "access", "faccessat2", "getdents64"),
    *("readlink", "lseek", "read", "pread64", "preadv2", "close", "flock", "fcntl", "pipe2"),
    *("fadvise64", "mmap", "getcwd"),
)
"""Calls that change nothing on the disk, and may fail."""
ALWAYS = (
    *("getrandom", "geteuid", "munmap", "brk", "madvise", "mremap", "futex", "clock_nanosleep"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "getpid", "gettid", "restart_syscall"),
    *("clock_gettime", "gettimeofday", "sched_yield", "mprotect", "getuid", "getgid", "getegid"),
    *("uname", "getrusage", "prlimit64", "rseq", "set_robust_list", "exit", "exit_group"),
)
"""Calls that fail on no system on which anything works."""


class Wrongs(dict[str, str]):
    """What was wrong, by the call; told at the end, all of it."""

    tried: ClassVar[int] = 0
    """Points that were tried in this process."""

    @contextmanager
    def at(self, point: object) -> Iterator[None]:
        """Note what is wrong after a kill, and go on to the next one."""
        Wrongs.tried += 1
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


def calls_of(tracer: Tracer, task: dict[str, Any]) -> list[Call]:
    """Let a task run, and list every call of it that touches a file."""
    ended = tracer.run(task, ["all"])
    assert "done" in ended.result, ended.result
    assert ended.result["leaked"] == []
    known = {*CHANGES, *LOOKS, *ALWAYS}
    assert {one.name for one in ended.calls} <= known, {one.name for one in ended.calls} - known
    return [one for one in ended.calls if one.name not in ALWAYS]


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
    every: bool = False,
) -> Iterator[Call]:
    """Kill the run of a scene at one call after the other, each time from the start.

    Args:
        tracer: Kills.
        scene: What is played.
        root: A folder that is not there; it is made for each kill, and removed.
        faults: Injected into every run.
        only: Names of the calls to kill at.
        every: Kill at each call, whatever it is, but for those that read nothing of the disk.
    """
    scene.build(root)
    if every:
        points = calls_of(tracer, scene.task(root))
    else:
        points = [one for one in changes_of(tracer, scene.task(root), faults) if one.name in only]
    shutil.rmtree(root)
    for point in points:
        scene.build(root)
        kill(tracer, scene.task(root), point, faults)
        yield point
        shutil.rmtree(root)

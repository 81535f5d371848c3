"""A task carried out, and what came of it, as plain values."""

from __future__ import annotations

import io
import os
import signal
from contextlib import redirect_stderr, redirect_stdout
from os import close, listdir, open, readlink  # noqa: A004 - as they are, whatever a test makes of them
from pathlib import Path
from typing import Any

from onnx_align_pass import (
    AlignError,
    LayoutPolicy,
    align_file,
    load,
    prune_file,
    recover_folder,
    save,
)
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.renaming import rename_file
from onnx_align_pass.repairing import repair_file
from onnx_align_pass.shared import align_shared

__all__ = ["MARK", "perform"]

RENAME = ("external_data", "overwrite", "durable")
MARK = "/dev/zero"
"""What is opened before a run's first step and after its last, for a trace to tell them."""
LAYOUT = ("alignment", "max_shard_size_bytes", "data_name")


def perform(task: dict[str, Any]) -> dict[str, Any]:
    """Carry out a task; an error is told by its name, not raised."""
    before = descriptors()
    mark()
    try:
        result: dict[str, Any] = {"done": call(task)}
    except AlignError as error:
        result = {"error": type(error).__name__, "text": str(error), "file": error.file}
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the server tells it, and a test judges it
        result = {"error": f"NOT OURS: {type(error).__name__}", "text": str(error), "file": None}
    mark()
    result["leaked"] = sorted(descriptors() - before)
    return result


def call(task: dict[str, Any]) -> list[str]:
    """Do what the task says; say what was done."""
    if "file_limit" in task:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (task["file_limit"], task["file_limit"]))
    if "user" in task:
        os.setgroups([])
        os.setgid(task["user"])
        os.setuid(task["user"])
    if task["call"] == "command":
        return command(task["arguments"])
    if task["call"] == "recover":
        found = recover_folder(Path(task["folder"]))
        return [leftover.outcome for leftover in found]
    if task["call"] == "prune":
        return [one.path.name for one in prune_file(task["source"]).removed]
    if task["call"] == "rename":
        keywords = {name: task[name] for name in RENAME if name in task}
        renamed = rename_file(task["source"], task["destination"], **keywords)
        return ["resumed" if renamed.resumed else "renamed"]
    if task["call"] == "inline":
        done = inline_file(task["source"], task["destination"], durable=task.get("durable", True))
        return ["unchanged" if model.unchanged else "written" for model in done.models]
    if task["call"] == "repair":
        keywords = {name: task[name] for name in RENAME if name in task}
        repaired = repair_file(task["source"], task["destination"], **keywords)
        return ["unchanged" if repaired.written is None else "written"]
    if task["call"] == "save":
        report = save(load(task["source"]), task["source"], durable=task.get("durable", True))
        return ["unchanged" if model.unchanged else "written" for model in report.models]
    options: dict[str, Any] = {
        "layout": LayoutPolicy(**{name: task[name] for name in LAYOUT if name in task}),
        "progress": Stopping(task.get("stop_at", "")),
        "overwrite": task.get("overwrite", False),
        "durable": task.get("durable", True),
        "verify": task.get("verify", False),
    }
    if "keep_old_data" in task:
        options["keep_old_data"] = task["keep_old_data"]
    if task["call"] == "share":
        named = {"shared_data": task["shared_data"], **options}
        report = align_shared(task["sources"], task["destination"], **named)
    else:
        report = align_file(task["source"], task["destination"], **options)
    return ["unchanged" if model.unchanged else "written" for model in report.models]


def command(arguments: list[str]) -> list[str]:
    """Run the command line; its exit code, and what it wrote to stdout and stderr."""
    from onnx_align_cli import main

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return [str(int(code)), out.getvalue(), err.getvalue()]


class Stopping:
    """A progress that stops its process (SIGSTOP) once, when it is told of what it waits for."""

    def __init__(self, stop_at: str) -> None:
        self._stop_at = stop_at

    def begin(self, model: str, total_bytes: int) -> None:
        self._see("begin")

    def advance(self, nbytes: int, tensor: str) -> None:
        self._see("advance")

    def phase(self, text: str) -> None:
        self._see(text)

    def _see(self, what: str) -> None:
        if what == self._stop_at:
            self._stop_at = ""
            os.kill(os.getpid(), signal.SIGSTOP)


def mark() -> None:
    """Open a file that nobody else does."""
    close(open(MARK, os.O_RDONLY))


def descriptors() -> set[str]:
    """The open descriptors of this process, each with what it is open to."""
    found = set()
    for fd in listdir("/proc/self/fd"):
        try:
            found.add(f"{fd} {readlink(f'/proc/self/fd/{fd}')}")
        except OSError:
            continue  # the one that listed them
    return found

"""A process that imports once and forks a child for each task, to be traced from its first call.

It reads one line of JSON for each task, answers with the child's process id, waits for an empty
line, lets the child go, and answers with its end: `{"status": ..., "result": ...}`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.commit.commands import commands
from tests.commit.perform import perform
from tests.commit.scenes import INLINE, REPAIR, SAVE, SCENES
from tests.rename.scenes import RENAMES

__all__: list[str] = []


def serve() -> None:
    """Answer until there is no more to read."""
    warm_up()
    gc.freeze()
    answer({"ready": True})
    for line in sys.stdin:
        answer_one(json.loads(line))


def warm_up() -> None:
    """Import what is imported late, before it can fail or count."""
    with tempfile.TemporaryDirectory() as name:
        for scene in (*SCENES.values(), *RENAMES.values(), INLINE, REPAIR, SAVE):
            root = Path(name, scene.name)
            scene.build(root)
            assert "done" in perform(scene.task(root)), scene.name
            assert "done" in perform({"call": "recover", "folder": str(root)})
        root = Path(name, "commands")
        SCENES["fresh"].build(root)
        for arguments in commands(root):
            assert perform({"call": "command", "arguments": arguments})["done"][0] == "0", arguments


def answer_one(task: dict[str, Any]) -> None:
    """Fork, wait for leave, and tell the end."""
    leave_read, leave_write = os.pipe()
    result_read, result_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(result_read)
        os.readv(leave_read, [bytearray(1)])  # no call that a run makes: it may be traced or not
        result = perform(task)
        os.write(result_write, json.dumps(result).encode())
        os._exit(0)
    os.close(leave_read)
    os.close(result_write)
    answer({"pid": child})
    sys.stdin.readline()
    os.write(leave_write, b"!")
    with os.fdopen(result_read, "rb") as file:
        text = file.read()
    os.close(leave_write)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    answer({"status": code, "result": json.loads(text) if text else None})


def answer(value: dict[str, Any]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve()

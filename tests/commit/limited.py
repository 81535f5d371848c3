"""Runs one task in a group whose memory is limited: `python -m tests.commit.limited GROUP TASK`.

What has been loaded before counts for the group that it was loaded in. All that the task takes
counts, the page cache too. Prints, as JSON, what the system says of the group at the end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir

from onnx_align_cli import main
from onnx_align_pass import align_file, load, save
from tests.capabilities import LIMITED_BY

__all__ = ["LOADED"]

LOADED = (np, onnx, onnx_ir, align_file, load, save)
ROOM_BYTES = 64 << 20


def perform(call: str, source: Path, target: Path, *, durable: bool) -> object:
    """Carry out a call; commands of the command line have two words or more."""
    if call == "align":
        return align_file(source, target, durable=durable).models[0].unchanged
    if call == "in place":
        return align_file(source, durable=durable).models[0].unchanged
    if call == "save":
        return save(load(source), target, durable=durable).models[0].unchanged
    return main([*call.format(source=source, target=target).split("|"), "--json"])


def limited(group: Path, task: dict[str, Any]) -> dict[str, object]:
    """Enter the group, carry the task out there, and read what it took."""
    (group / LIMITED_BY).write_text(str(ROOM_BYTES))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    done = perform(
        task["call"], Path(task["source"]), Path(task["target"]), durable=task["durable"]
    )
    killed = (group / "memory.oom_control").read_text().split()
    return {
        "done": done,
        "met": int((group / "memory.failcnt").read_text()),
        "killed": int(killed[killed.index("oom_kill") + 1]),
    }


if __name__ == "__main__":
    found = limited(Path(sys.argv[1]), json.loads(sys.argv[2]))
    sys.stdout.write("\n" + json.dumps(found) + "\n")

"""Runs under strace: what they call, and what comes of a call that kills or fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.commit.perform import MARK

__all__ = ["Call", "Ended", "Tracer", "why_not"]

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"^\d+\s+(\w+)\((.*)$")
PLACE = re.compile(r"/[^\"<>]*\.align-[0-9a-f]{8}/?")
"""A staging folder, in an argument."""


@dataclass(frozen=True)
class Call:
    """One system call of a run."""

    name: str
    number: int
    """1 for the first call of this name: strace's `when`."""
    arguments: str
    """As strace writes them, with the path of each descriptor; of a staging folder just `/`."""

    def __str__(self) -> str:
        return f"{self.name}#{self.number}"


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    """Exit code, or minus the signal."""
    result: dict[str, Any]
    calls: tuple[Call, ...]
    log: str

    @property
    def killed(self) -> bool:
        """Whether an injected SIGKILL ended it."""
        return self.status == -9 and "+++ killed by SIGKILL +++" in self.log


def why_not() -> str | None:
    """Why nothing can be traced here; None if it can."""
    program = shutil.which("strace")
    if program is None:
        return "needs strace"
    tried = subprocess.run([program, "-e", "trace=none", "true"], capture_output=True, check=False)
    return "needs leave to trace (ptrace)" if tried.returncode else None


class Tracer:
    """Runs tasks under strace, one at a time, each in a fork of one prepared process."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.commit.server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def plain(self, task: dict[str, Any]) -> dict[str, Any]:
        """Carry out a task untraced; what came of it."""
        self.start(task)
        return self.end()

    def start(self, task: dict[str, Any]) -> int:
        """Begin a task untraced; its process id."""
        pid: int = self._ask(task)["pid"]
        self._say("")
        return pid

    def end(self) -> dict[str, Any]:
        """Wait for the task that was started; what came of it, nothing where it was killed."""
        result: dict[str, Any] | None = self._read()["result"]
        return result or {}

    def run(self, task: dict[str, Any], traced: Sequence[str], *faults: str) -> Ended:
        """Carry out a task; each fault is what follows `-e inject=`."""
        pid = self._ask(task)["pid"]
        inject = [part for fault in faults for part in ("-e", f"inject={fault}")]
        names = ",".join(f"?{name}" for name in traced)
        options = ["-f", "-y", "-o", str(self._log), "-e", f"trace={names}", *inject]
        command = ["strace", *options, "-p", str(pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            # From this line on every call is seen.
            assert strace.stderr is not None
            said = strace.stderr.readline()
            assert "attached" in said, said
            ended = self._ask("")
            strace.communicate()
        log = self._log.read_text()
        return Ended(ended["status"], ended["result"] or {}, tuple(calls(log)), log)

    def _ask(self, question: object) -> dict[str, Any]:
        self._say(question)
        return self._read()

    def _say(self, what: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write("\n" if what == "" else json.dumps(what) + "\n")
        self._server.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._server:
            self._server.kill()


def calls(log: str) -> list[Call]:
    """The calls in a log; where the run can be seen to begin and to end, those between."""
    numbers: Counter[str] = Counter()
    found: list[Call] = []
    begun = False
    for line in log.splitlines():
        match = CALL.match(line)
        if match is None:
            continue
        name, arguments = match.groups()
        numbers[name] += 1
        if MARK not in arguments:
            found.append(Call(name, numbers[name], PLACE.sub("/", arguments)))
        elif name != "openat":
            continue
        elif begun:
            break
        else:
            begun, found = True, []
    return found

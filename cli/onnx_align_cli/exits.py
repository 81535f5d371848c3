"""What the exit codes say: the one table from what went wrong to a code."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from onnx_align_pass.errors import AlignError, ModelError, UsageError, VerifyError, WriteError

__all__ = ["Exit", "exit_code"]


class Exit(IntEnum):
    """The exit codes. A run that a signal ended exits with 128 + its number, as shells say it."""

    DONE = 0
    FOUND = 1
    """A check found something: what was written is not what was asked."""
    USAGE = 2
    """An option or argument has a value that it cannot have."""
    MODEL = 3
    """The model is missing, broken or refused."""
    WRITE = 4
    """Writing failed: disk full, permission."""
    HUNG_UP = 129
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    """Whoever read stdout has gone: the code of a program that SIGPIPE ended."""
    TERMINATED = 143


_CODES: Final[dict[type, Exit]] = {
    UsageError: Exit.USAGE,
    VerifyError: Exit.FOUND,
    ModelError: Exit.MODEL,
    WriteError: Exit.WRITE,
    AlignError: Exit.MODEL,
    BrokenPipeError: Exit.PIPE_CLOSED,
    OSError: Exit.WRITE,
    KeyboardInterrupt: Exit.INTERRUPTED,
}


def exit_code(error: BaseException) -> Exit:
    """Look an error up; the nearest class counts.

    Raises:
        KeyError: The error is none that a user can cause.
    """
    for kind in type(error).__mro__:
        if kind in _CODES:
            return _CODES[kind]
    raise KeyError(type(error).__name__)

"""What is said when a command fails: lines on stderr, one object on stdout, one exit code."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass

from onnx_align_cli.exits import Exit, exit_code
from onnx_align_cli.signals import Interrupted
from onnx_align_cli.streams import hint, say_json, silence_stdout
from onnx_align_pass.errors import AlignError
from onnx_align_pass.printable import printable

__all__ = ["Failure", "failure_of", "flush_stdout", "say_failure"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure, ready to be said. All texts are safe to show."""

    code: int
    lines: tuple[str, ...]
    facts: dict[str, str]


def failure_of(error: BaseException, *, os_error: Exit = Exit.WRITE) -> Failure:
    """Say an error that a user can cause.

    Args:
        error: The error.
        os_error: What an operating system's error about a file means for the command that met it.

    Raises:
        KeyError: The error is a defect: it deserves its traceback.
    """
    if isinstance(error, Interrupted):
        return _stopped(128 + error.signum, error.outcome)
    code = exit_code(error)
    if code is Exit.INTERRUPTED:
        return _stopped(code, "run the command again")
    if code is Exit.PIPE_CLOSED:
        return Failure(code, (), {"error": type(error).__name__, "message": "stdout was closed"})
    if isinstance(error, AlignError):
        return _refused(code, error)
    # Without a name it is stdout that failed: a full disk behind a redirection.
    named = getattr(error, "filename", None) is not None
    return _os_failure(os_error if named else code, error)


def _refused(code: int, error: AlignError) -> Failure:
    advice = (f"hint: {printable(error.hint)}",) if error.hint else ()
    return Failure(code, (f"error: {error.sentence}", *advice), error.facts())


def _os_failure(code: int, error: BaseException) -> Failure:
    reason = getattr(error, "strerror", None) or str(error)
    file = getattr(error, "filename", None)
    facts = {"error": type(error).__name__}
    if file is None:
        message = printable(reason)
    else:
        facts["file"] = printable(str(file))
        message = f"{facts['file']}: {printable(reason)}"
    return Failure(code, (f"error: {message}",), {**facts, "message": message})


def _stopped(code: int, outcome: str) -> Failure:
    message = f"interrupted; {outcome}"
    return Failure(code, (message,), {"error": "Interrupted", "message": message})


def say_failure(failure: Failure, *, as_json: bool) -> int:
    """Write the lines to stderr and, if asked, the object to stdout; return the exit code."""
    # A terminal that is gone, or a full disk behind a redirection, must not hide the exit code.
    with suppress(OSError):
        for line in failure.lines:
            hint(line)
    if as_json and failure.code != Exit.PIPE_CLOSED:
        with suppress(OSError):
            say_json({"error": failure.facts})
    return failure.code


def flush_stdout(code: int) -> int:
    """Write out what is buffered; return the exit code, another one if that fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return say_failure(failure_of(error), as_json=False)
    return code

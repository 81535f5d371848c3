"""The standard streams: there, unable to crash on a character, and quiet when the reader goes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


__all__ = ["flush_stdout", "prepare_streams", "silence_stdout"]


def prepare_streams() -> None:
    """Open what is closed, and escape what an encoding cannot say.

    A file that is opened while descriptor 1 or 2 is free would get the output of libraries.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def flush_stdout(code: int) -> int:
    """Write out what is buffered; return the exit code, another one if that fails."""
    from onnx_align_cli.failure import failure_of, say_failure

    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return say_failure(failure_of(error), as_json=False)
    return code


def silence_stdout() -> None:
    """Send what is still buffered nowhere: else the interpreter complains at its end."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)



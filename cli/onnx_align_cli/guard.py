"""Between typer and a command: what a user can cause becomes words and a code, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from onnx_align_cli.exits import Exit
from onnx_align_cli.failure import failure_of, say_failure
from onnx_align_cli.signals import Interrupted
from onnx_align_cli.streams import silence_stdout
from onnx_align_pass.errors import AlignError

__all__ = ["guarded"]

P = ParamSpec("P")


def guarded(function: Callable[P, None], *, os_error: Exit = Exit.WRITE) -> Callable[P, int]:
    """Make a command return its exit code. Inside typer, so that typer sees no OSError.

    Args:
        function: The command; its parameter `as_json`, if it has one, is `--json`.
        os_error: What an operating system's error about a file means, where the core has not said.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            function(*args, **kwargs)
        except (AlignError, OSError, Interrupted, KeyboardInterrupt) as error:
            if isinstance(error, OSError) and error.filename is None:
                silence_stdout()
            failure = failure_of(error, os_error=os_error)
            return say_failure(failure, as_json=bool(kwargs.get("as_json")))
        return Exit.DONE

    return run

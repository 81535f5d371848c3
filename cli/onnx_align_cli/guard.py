"""Between typer and a command: what a user can cause becomes words and a code, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec

from onnx_align_cli.exits import Exit
from onnx_align_cli.failure import failure_of, say_failure
from onnx_align_cli.signals import SIGNALS, Interrupted
from onnx_align_cli.streams import silence_stdout
from onnx_align_pass.errors import AlignError

__all__ = ["guarded"]

P = ParamSpec("P")
_SAYABLE: Final = (AlignError, OSError, Interrupted, KeyboardInterrupt)
"""What a user can cause. The rest are defects, which deserve their traceback."""


def guarded(function: Callable[P, None], *, os_error: Exit = Exit.WRITE) -> Callable[P, int]:
    """Make a command return its exit code. Inside typer, so that typer sees no OSError.

    Only while the command runs can a signal raise; before and after it is held.

    Args:
        function: The command; its parameter `as_json`, if it has one, is `--json`.
        os_error: What an operating system's error about a file means, where the core has not said.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            SIGNALS.release()
            function(*args, **kwargs)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where a reader that does not read can be interrupted
        except BaseException as raised:
            error = _what_counts(raised)
            if not isinstance(error, _SAYABLE):
                raise
            if isinstance(error, OSError) and error.filename is None and not _flushes():
                silence_stdout()
            failure = failure_of(error, os_error=os_error)
            return say_failure(failure, as_json=bool(kwargs.get("as_json")))
        finally:
            SIGNALS.hold()
        return Exit.DONE

    return run


def _flushes() -> bool:
    """Whether stdout takes what it is given."""
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        return False
    return True


def _what_counts(raised: BaseException) -> BaseException:
    """The signal behind an error, if there is one and the core has not spoken.

    Some places turn a signal into another error: a class body, a terminal that hung up.
    """
    error: BaseException | None = raised
    while error is not None and not isinstance(error, (AlignError, Interrupted)):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, Interrupted) else raised

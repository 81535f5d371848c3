"""The command line of onnx-align-pass: `onnx-align`.

One file a command. Data flows one way: `app` parses, a command calls the core, `show` renders.
The core and everything heavy are imported inside the command functions, and typer only when
signals are handled already.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see `exits` for what the codes say.

    Args:
        arguments: What is typed after `onnx-align`; None: the arguments of this process.
    """
    from onnx_align_cli.signals import SIGNALS, Interrupted

    given = sys.argv[1:] if arguments is None else list(arguments)
    with SIGNALS:
        # Until a command starts (see `guard`): typer imports a lot before it does.
        SIGNALS.hold()
        from onnx_align_cli.app import run
        from onnx_align_cli.failure import failure_of, flush_stdout, say_failure
        from onnx_align_cli.streams import prepare_streams, silence_stdout

        prepare_streams()
        try:
            return flush_stdout(run(given))
        except Interrupted as stop:  # between a command and its end, or insisted on
            return say_failure(failure_of(stop), as_json="--json" in given)
        except OSError as error:  # what typer prints itself: a help text, a version
            silence_stdout()
            return say_failure(failure_of(error), as_json=False)

"""The typer application: which commands there are, and what becomes of what typer refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from onnx_align_cli.align import align
from onnx_align_cli.demo import demo
from onnx_align_cli.exits import Exit
from onnx_align_cli.failure import Failure, say_failure
from onnx_align_cli.guard import guarded
from onnx_align_cli.inline import inline
from onnx_align_cli.inspect import inspect
from onnx_align_cli.passes import passes
from onnx_align_cli.plan import plan
from onnx_align_cli.presets import presets
from onnx_align_cli.prune import prune
from onnx_align_cli.recover import recover
from onnx_align_cli.rename import rename
from onnx_align_cli.repair import repair
from onnx_align_cli.streams import say, silence_stdout
from onnx_align_cli.verify import verify
from onnx_align_pass._version import __version__
from onnx_align_pass.printable import printable

__all__ = ["PROGRAM", "app", "run"]

PROGRAM: Final = "onnx-align"

# typer vendors click, and exports only this leaf of what its parser raises.
_ParserError: Final[type[Exception]] = typer.BadParameter.__bases__[0]

app: Final = typer.Typer(
    name=PROGRAM,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it: onnx-align demo. See before you write: onnx-align plan model.onnx. "
    "Then: onnx-align align model.onnx aligned/",
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Repack the external data of ONNX models: aligned, streamed, crash-safe."""


app.command("align")(guarded(align))
app.command("plan")(guarded(plan, os_error=Exit.MODEL))
app.command("inspect")(guarded(inspect, os_error=Exit.MODEL))
app.command("verify")(guarded(verify, os_error=Exit.MODEL))
app.command("repair")(guarded(repair))
app.command("inline")(guarded(inline))
app.command("rename")(guarded(rename))
app.command("recover")(guarded(recover))
app.command("prune")(guarded(prune))
app.command("presets")(guarded(presets, os_error=Exit.MODEL))
app.command("passes")(guarded(passes))
app.command("demo")(guarded(demo))


def run(arguments: Sequence[str]) -> int:
    """Parse, run the command, and return the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=list(arguments) or ["--help"], prog_name=PROGRAM, standalone_mode=False
        )
    except _ParserError as error:
        return say_failure(_misused(error), as_json="--json" in arguments)
    except SystemExit as stop:
        if not stop.code:
            return Exit.DONE  # a completion was printed
        # How typer and rich say that whoever read the help text has gone.
        silence_stdout()
        return Exit.PIPE_CLOSED
    return int(code or 0)


def _misused(error: Any) -> Failure:
    message = printable(error.format_message())
    command = error.ctx.command_path if error.ctx is not None else PROGRAM
    hint = f"Type `{command} --help`."
    facts = {"error": "UsageError", "message": message, "hint": hint}
    return Failure(Exit.USAGE, (f"error: {message}", f"hint: {hint}"), facts)

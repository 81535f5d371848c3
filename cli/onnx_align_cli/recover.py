"""`onnx-align recover`: finish or discard what killed runs left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.errors import ModelNotFoundError, WriteError
from onnx_align_pass.printable import printable

if TYPE_CHECKING:
    from onnx_align_pass.transfer.recover import Leftover

__all__ = ["recover"]

OUTCOMES = ("finished", "discarded", "live", "untrusted")


def recover(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Folders, or models.", show_default="this folder"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Finish or discard what killed runs left behind; live runs are not touched.

    A folder means those below it, too. Every run does so for its own destination.
    A model is whole before and after. Example: onnx-align recover models/
    """
    with SIGNALS.held():
        from onnx_align_cli.show import show_facts
        from onnx_align_pass.recovering import recover_folder

    places = list(_places(paths or [Path()]))
    found: list[Leftover] = []
    try:
        for folder, model_name in places:
            SIGNALS.hold()
            found += recover_folder(folder, model_name)
            SIGNALS.outcome = "what was recovered until now stays so"
            SIGNALS.release()
    finally:
        SIGNALS.drop_hold()
    if as_json:
        say_json(_values(found))
    else:
        show_facts(_headline(found), map(_line, found))


def _places(paths: list[Path]) -> Iterator[tuple[Path, str | None]]:
    """Folders to look into, with the name of the model if one was named."""
    for path in paths:
        if path.is_dir():
            yield from ((folder, None) for folder in _with_those_below(path))
        elif path.parent.is_dir() and (path.exists() or path.suffix.lower() == ".onnx"):
            # A model that is missing may be what a killed run was about to publish.
            yield path.parent, path.name
        else:
            raise ModelNotFoundError(
                "there is no such folder or model", file=path, hint="Name a folder, or a model."
            )


def _with_those_below(path: Path) -> Iterator[Path]:
    """A folder and those below it, as `align` goes through them: symlinks are not followed."""
    from onnx_align_pass.transfer.recover import is_staging_name

    for folder, names, _ in os.walk(path, onerror=_refuse):
        names[:] = sorted(name for name in names if not is_staging_name(name))
        yield Path(folder)


def _refuse(error: OSError) -> None:
    raise WriteError.of(error, error.filename, doing="looking for leftovers") from None


def _counts(found: list[Leftover]) -> dict[str, int]:
    return {name: sum(one.outcome == name for one in found) for name in OUTCOMES}


def _values(found: list[Leftover]) -> dict[str, object]:
    return {
        "leftovers": [
            {
                "path": printable(str(one.path)),
                "outcome": one.outcome,
                "reason": printable(one.reason),
            }
            for one in found
        ],
        "totals": _counts(found),
    }


def _headline(found: list[Leftover]) -> str:
    counts = [f"{count} {name}" for name, count in _counts(found).items() if count]
    return ", ".join(counts) or "nothing to recover"


def _line(one: Leftover) -> tuple[str, str]:
    return one.outcome, printable(f"{one.path}: {one.reason}")

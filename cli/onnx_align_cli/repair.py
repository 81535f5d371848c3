"""`onnx-align repair`: what is wrong with a model's external data, mended in a new model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options, writing
from onnx_align_cli.exits import Exit
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_cli.target import new_place
from onnx_align_pass.errors import UsageError

if TYPE_CHECKING:
    from onnx_align_pass.repair_report import RepairReport

__all__ = ["repair"]


def repair(
    source: writing.Model,
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DST", help="The new model, or a folder for it.", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="[LOCATION=]PATH",
            help="Where a data file is, of a location that leads to none; repeatable.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what is wrong; write nothing.")
    ] = False,
    durable: writing.Durable = True,
    force: writing.Force = False,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    quiet: writing.Quiet = False,
) -> None:
    """Write a model anew with its external data entries mended. The old one is not touched.

    Mended is what has one meaning: padded lengths, entries that are absent, unknown, doubled or
    stale, and data files that you name. What would need a guess is not: it is said, and nothing is
    written. Where nothing is wrong, nothing is written either.

    Example: onnx-align repair model.onnx mended/ --data /mnt/moved/model.onnx.data
    """
    target = _target(source, destination, dry_run=dry_run)
    named = tuple(data or ())
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_repair import show_repairs
        from onnx_align_cli.watch import watched
        from onnx_align_pass.repairing import find_repairs, repair_file

    if target is None:
        report = find_repairs(source, data=named, allow_hard_links=allow_hard_links)
    else:
        with progress_bar(wanted=not (quiet or as_json)) as bar, watched(bar) as progress:
            report = repair_file(
                source,
                target,
                data=named,
                progress=progress,
                overwrite=force,
                durable=durable,
                allow_hard_links=allow_hard_links,
            )
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        show_repairs(report, dry_run=dry_run)
    _end(report)


def _target(source: Path, destination: str | None, *, dry_run: bool) -> Path | None:
    if dry_run:
        return None
    if destination is None:
        typed = f"onnx-align repair {shlex.quote(str(source))}"
        raise UsageError(
            "where should the result go?",
            hint=f"Type `{typed} DST`, or `{typed} --dry-run` to see what is wrong.",
        )
    return new_place(source, destination)


def _end(report: RepairReport) -> None:
    """Say by the exit code what a run would be refused for.

    Raises:
        typer.Exit: Something cannot be mended.
    """
    if report.remaining:
        raise typer.Exit(Exit.MODEL)

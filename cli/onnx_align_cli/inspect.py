"""`onnx-align inspect`: what a model and its data files are like, and what may hurt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.exits import Exit
from onnx_align_cli.options import OUTPUT
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import hint, say_json
from onnx_align_pass.errors import ModelError
from onnx_align_pass.printable import printable

if TYPE_CHECKING:
    from onnx_align_pass.inspection.report import ModelReport

__all__ = ["inspect"]


def inspect(
    source: options.Source,
    tensors: Annotated[
        bool,
        typer.Option("--tensors", help="Print a row for each tensor too.", rich_help_panel=OUTPUT),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page for a browser too, with a map of each data file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    digest: Annotated[
        bool,
        typer.Option(
            "--digest", help="Read everything, and say what the model means in one number."
        ),
    ] = False,
    no_duplicates: Annotated[
        bool,
        typer.Option("--no-duplicates", help="Do not look for tensors of equal bytes."),
    ] = False,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what a model and its data files are like, and what may hurt. Nothing is changed.

    Files with a map of each, alignment, presets that are satisfied already, tensors that share
    bytes, and what readers will refuse. For a folder, a line for each model in it.

    What is wrong is shown and changes no exit code: `verify` judges.
    Example: onnx-align inspect model.onnx --html report.html
    """
    with SIGNALS.held():
        from onnx_align_pass.inspecting import inspect_file, inspect_folder

    if html is not None:
        _check_page(html)
    folder = source.is_dir()
    if folder:
        reports = inspect_folder(
            source, duplicates=not no_duplicates, allow_hard_links=allow_hard_links
        )
    else:
        one = inspect_file(source, duplicates=not no_duplicates, allow_hard_links=allow_hard_links)
        reports = (one,)
    if digest:
        reports = tuple(_with_digest(one, allow_hard_links) for one in reports)
    if html is not None:
        _write_page(html, reports)
    if as_json:
        say_json({"models": [one.to_json() for one in reports]})
    else:
        _show(reports, folder=folder, tensors=tensors)
    _end(reports)


def _show(reports: Sequence[ModelReport], *, folder: bool, tensors: bool) -> None:
    from onnx_align_cli.show_inspect import show_folder, show_model, show_tensors

    if tensors:
        for one in reports:
            show_tensors(one)
    if folder:
        show_folder(reports)
    else:
        show_model(reports[0])


def _with_digest(report: ModelReport, allow_hard_links: bool) -> ModelReport:
    """A report with its digest, or with why it has none."""
    from onnx_align_pass.digesting import digest_of

    try:
        digest = digest_of(report.model, allow_hard_links=allow_hard_links)
        return replace(report, digest=digest)
    except ModelError as error:
        return replace(report, notes=(*report.notes, f"no digest: {error.sentence}"))


def _check_page(path: Path) -> None:
    from onnx_align_cli.page_file import check_page

    check_page(path)


def _write_page(path: Path, reports: Sequence[ModelReport]) -> None:
    from onnx_align_cli.page_file import write_page
    from onnx_align_pass.inspection.page import html_page

    inputs = [one.model for one in reports]
    inputs += [one.model.parent / file.name for one in reports for file in one.files]
    write_page(path, html_page([one.to_json() for one in reports]), inputs)
    hint(f"wrote {printable(str(path))}")


def _end(reports: Sequence[ModelReport]) -> None:
    """Say which models of a folder could not be read.

    Raises:
        typer.Exit: With the exit code of such a model.
    """
    unreadable = [one for report in reports if not report.is_readable for one in report.findings]
    for one in unreadable:
        hint(f"error: {one.error.sentence}")
    if unreadable:
        raise typer.Exit(Exit.MODEL)

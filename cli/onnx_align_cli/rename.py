"""`onnx-align rename`: another name, or another folder, for a model and its data."""

from __future__ import annotations

from typing import Annotated

import typer

from onnx_align_cli import options, writing
from onnx_align_cli.options import WRITING
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_cli.target import new_place

__all__ = ["rename"]


def rename(
    source: writing.Model,
    destination: Annotated[
        str,
        typer.Argument(metavar="DST", help="Its new name, or a folder.", show_default=False),
    ],
    external_data: Annotated[
        str | None,
        typer.Option(
            "--external-data",
            metavar="NAME",
            help="New name of its one data file; {model} and {stem} stand for the model's.",
            show_default="names that begin with the old model's change with it",
            rich_help_panel=WRITING,
        ),
    ] = None,
    durable: writing.Durable = True,
    force: writing.Force = False,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    quiet: writing.Quiet = False,
) -> None:
    """Rename a model, or move it to another folder, with its data files.

    The model points at the new names; on one file system no weight is read or written. At every
    instant the old model is whole, or the new one; after a kill the same command finishes it. A
    data file that another model uses too is not taken away from it.

    Example: onnx-align rename model.onnx encoder.onnx
    """
    target = new_place(source, destination)
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_rename import show_renamed
        from onnx_align_cli.watch import watched
        from onnx_align_pass.renaming import rename_file

    with progress_bar(wanted=not (quiet or as_json)) as bar, watched(bar) as progress:
        report = rename_file(
            source,
            target,
            external_data=external_data,
            overwrite=force,
            durable=durable,
            allow_hard_links=allow_hard_links,
            progress=progress,
        )
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        show_renamed(report)

"""`onnx-align verify`: a model as it lies, by the rules, for a consumer, against another."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from onnx_align_cli import options
from onnx_align_cli.exits import Exit
from onnx_align_cli.options import OUTPUT, Pad
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json

__all__ = ["verify"]

LAYOUT: Final = "Layout to check"
COMPARE: Final = "To compare with"


def verify(
    source: options.Source,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            "-p",
            metavar="NAME",
            help="Check that weights lie as this preset would lay them.",
            show_default=False,
            rich_help_panel=LAYOUT,
            autocompletion=options.preset_names,
        ),
    ] = None,
    alignment: Annotated[
        str | None,
        typer.Option(
            "--alignment",
            "-a",
            metavar="SIZE",
            help="Check that every tensor starts at a multiple of this.",
            show_default=False,
            rich_help_panel=LAYOUT,
        ),
    ] = None,
    align_threshold: Annotated[
        str | None,
        typer.Option(
            "--align-threshold",
            metavar="SIZE",
            help="Tensors below this size need the small alignment only.",
            show_default=False,
            rich_help_panel=LAYOUT,
        ),
    ] = None,
    small_alignment: Annotated[
        str | None,
        typer.Option(
            "--small-alignment",
            metavar="SIZE",
            help="Alignment of the tensors below the align threshold.",
            show_default=False,
            rich_help_panel=LAYOUT,
        ),
    ] = None,
    pad: Annotated[
        Pad | None,
        typer.Option(
            "--pad",
            metavar="none|file|tensor",
            help="Check that this is rounded up to the alignment.",
            show_default=False,
            rich_help_panel=LAYOUT,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="OTHER",
            help="Compare every byte and every field with another model, in whatever layout it is; "
            "a folder with a folder.",
            show_default=False,
            rich_help_panel=COMPARE,
        ),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(
            "--digest",
            metavar="HEX",
            help="The content digest that the model should have; no layout changes it.",
            show_default=False,
            rich_help_panel=COMPARE,
        ),
    ] = None,
    show_digest: Annotated[
        bool,
        typer.Option(
            "--show-digest", help="Compute the content digest, and show it.", rich_help_panel=OUTPUT
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for warnings too.", rich_help_panel=OUTPUT)
    ] = False,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print nothing where nothing is wrong.", rich_help_panel=OUTPUT
        ),
    ] = False,
) -> None:
    """Check a model as it lies: its graph is valid, and every tensor can be read.

    Weights are read only to compare or hash them. Exits with 1 if something is wrong, with 3 if the
    model cannot be read at all. A folder means every model in it.

    Example: onnx-align verify models/ --preset windows --quiet
    """
    asked = options.chosen(
        preset,
        alignment=alignment,
        align_threshold=align_threshold,
        small_alignment=small_alignment,
        pad=pad,
    )
    sizes = (alignment, align_threshold, small_alignment, pad)
    has_layout = preset is not None or any(one is not None for one in sizes)
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_verify import show_report
        from onnx_align_pass.verifying import verify_file

    with progress_bar(wanted=not (quiet or as_json)) as progress:
        report = verify_file(
            source,
            layout=asked.layout if has_layout else None,
            storage=asked.storage if preset is not None else None,
            against=against,
            digest=digest,
            with_digest=show_digest,
            progress=progress,
            allow_hard_links=allow_hard_links,
        )
    failed = not report.ok or (strict and report.warnings > 0)
    if as_json:
        say_json(report.to_json())
    elif failed or not quiet:
        show_report(report, preset=preset, folder=source.is_dir(), strict=strict)
    if failed:
        raise typer.Exit(Exit.FOUND)

"""`onnx-align verify`: a model as it lies, by the rules, for a consumer, against another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onnx_align_cli import options
from onnx_align_cli.exits import Exit
from onnx_align_cli.options import OUTPUT, Pad
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import LayoutPolicy

if TYPE_CHECKING:
    from onnx_align_pass.presets import Preset

__all__ = ["verify"]

LAYOUT: Final = "Layout to check"
COMPARE: Final = "To compare with"


def verify(
    source: options.Source,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Check that weights lie as this preset would lay them.",
            show_default=False,
            rich_help_panel=LAYOUT,
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
    chosen = None if preset is None else _preset(preset)
    layout = _layout(
        chosen,
        alignment=alignment,
        align_threshold=align_threshold,
        small_alignment=small_alignment,
        pad=pad,
    )
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_verify import show_report
        from onnx_align_pass.verifying import verify_file

    with progress_bar(wanted=not (quiet or as_json)) as progress:
        report = verify_file(
            source,
            layout=layout,
            storage=None if chosen is None else chosen.storage,
            against=against,
            digest=digest,
            with_digest=show_digest,
            progress=progress,
        )
    failed = not report.ok or (strict and report.warnings > 0)
    if as_json:
        say_json(report.to_json())
    elif failed or not quiet:
        show_report(report, preset=preset, folder=source.is_dir(), strict=strict)
    if failed:
        raise typer.Exit(Exit.FOUND)


def _preset(name: str) -> Preset:
    from onnx_align_pass.presets import PRESETS

    if name not in PRESETS:
        raise UsageError(
            f"there is no preset {name!r}", hint=f"There are: {', '.join(sorted(PRESETS))}."
        )
    return PRESETS[name]


def _layout(preset: Preset | None, *, pad: Pad | None, **sizes: str | None) -> LayoutPolicy | None:
    """The preset's layout, with what was given beside it; None if nothing was given."""
    base = LayoutPolicy() if preset is None else preset.layout
    given = {name: text for name, text in sizes.items() if text is not None}
    if not given and pad is None:
        return None if preset is None else base
    read = options.layout_policy(
        alignment=given.get("alignment", "4096"),
        align_threshold=given.get("align_threshold", "0"),
        small_alignment=given.get("small_alignment", "64"),
        pad=Pad.NONE if pad is None else pad,
        external_data=None,
        max_shard_size=None,
    )
    changed = replace(base, **{name: getattr(read, name) for name in given})
    return changed if pad is None else replace(changed, pad=read.pad)

"""`onnx-align plan`: what `align` would do, before it does anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.options import OUTPUT
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say, say_json
from onnx_align_pass.errors import UsageError
from onnx_align_pass.printable import printable

if TYPE_CHECKING:
    from onnx_align_pass.layout.plan import LayoutPlan

__all__ = ["plan"]

Plans = list[tuple[Path, "LayoutPlan"]]


def plan(
    source: options.Source,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place", help="Plan for the model's own place: data files keep their names."
        ),
    ] = False,
    preset: options.PresetName = None,
    alignment: options.Alignment = None,
    size_threshold: options.SizeThreshold = None,
    align_threshold: options.AlignThreshold = None,
    small_alignment: options.SmallAlignment = None,
    element_floor: options.ElementFloor = None,
    pad: options.Padding = None,
    external_data: options.ExternalData = None,
    max_shard_size: options.MaxShardSize = None,
    rules: options.Rules = None,
    dedupe: options.Dedupe = None,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    as_text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Print the canonical text: the same plan is the same text.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Show where every tensor would go, and why. Nothing is written.

    For a folder, the plan of every model in it. Example: onnx-align plan model.onnx --preset web
    """
    if as_json and as_text:
        raise UsageError("both --json and --text", hint="Leave one of them out.")
    wanted = options.chosen(
        preset,
        rules=rules,
        alignment=alignment,
        size_threshold=size_threshold,
        align_threshold=align_threshold,
        small_alignment=small_alignment,
        element_floor=element_floor,
        pad=pad,
        external_data=external_data,
        max_shard_size=max_shard_size,
        dedupe=dedupe,
    )
    with SIGNALS.held():
        from onnx_align_cli.show_plan import show_plan
        from onnx_align_pass.align import plan_file
        from onnx_align_pass.repack_folder import models_below

    planned = partial(
        plan_file,
        storage=wanted.storage,
        layout=wanted.layout,
        in_place=in_place,
        allow_hard_links=allow_hard_links,
    )
    folder = source.is_dir()
    plans = [(model, planned(model)) for model in (models_below(source) if folder else [source])]
    if as_json:
        _say_json(plans, folder=folder)
    elif as_text:
        _say_text(plans, folder=folder)
    else:
        for model, one in plans:
            show_plan(model, one)


def _say_json(plans: Plans, *, folder: bool) -> None:
    from onnx_align_pass.layout.render import plan_json

    if not folder:
        say_json(plan_json(plans[0][1]))
        return
    models = []
    for path, one in plans:
        values = plan_json(one)
        del values["schema_version"]
        models.append({"source": printable(str(path)), **values})
    say_json({"models": models})


def _say_text(plans: Plans, *, folder: bool) -> None:
    from onnx_align_pass.layout.render import plan_text

    for path, one in plans:
        if folder:
            say(f"model {printable(str(path))}")
        say(plan_text(one).removesuffix("\n"))

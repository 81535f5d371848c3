"""`onnx-align align`: repack from file to file, or in place."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.options import OUTPUT, WRITING
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.errors import UsageError

if TYPE_CHECKING:
    from onnx_align_pass.presets import Preset
    from onnx_align_pass.report import AlignReport

__all__ = ["align"]


def align(
    source: options.Source,
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DST",
            help="The new model, or a folder for it; for a folder of models, the new folder.",
            show_default=False,
        ),
    ] = None,
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
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Replace the model and its data; a crash leaves the old pair or the new one.",
            rich_help_panel=WRITING,
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read everything back and compare it before it is published.",
            rich_help_panel=WRITING,
        ),
    ] = False,
    durable: Annotated[
        bool,
        typer.Option(
            "--durable/--no-durable",
            help="Return only when the result is on the disk.",
            rich_help_panel=WRITING,
        ),
    ] = True,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace what exists at DST. Never the source, nor another model's data.",
            rich_help_panel=WRITING,
        ),
    ] = False,
    before: Annotated[
        list[str] | None,
        typer.Option(
            "--before",
            metavar="PASS",
            help="Run this pass first; repeatable. 'onnx-align passes' lists them.",
            show_default=False,
            rich_help_panel=WRITING,
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print nothing on success.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Repack a model's weights so that every tensor starts on its boundary.

    The weights go from file to file and never through memory; tensors that are inside the .onnx
    move out. Sizes are bytes, or 64KiB, 2GB and the like. With --before the model goes through
    onnx-ir's passes on its way; what onnx-ir cannot hold is refused, not lost.
    Example: onnx-align align model.onnx aligned/ --preset windows --verify
    """
    target = _target(source, destination, in_place=in_place)
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
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_align import show_report
        from onnx_align_cli.watch import watched

        if before:
            from onnx_align_pass.with_passes import align_with_passes

            repack: Callable[..., AlignReport] = partial(align_with_passes, before=before)
        else:
            from onnx_align_pass.align import align_file as repack

    # A pass that prints must not get into the result.
    result_alone = redirect_stdout(sys.stderr) if before else nullcontext()
    with (
        result_alone,
        progress_bar(wanted=not (quiet or as_json)) as bar,
        watched(bar) as progress,
    ):
        report = repack(
            source,
            target,
            storage=wanted.storage,
            layout=wanted.layout,
            progress=progress,
            verify=verify,
            overwrite=force,
            durable=durable,
        )
    report = _advised(report, wanted.preset)
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        show_report(report)


def _advised(report: AlignReport, preset: Preset | None) -> AlignReport:
    """Note with each model what its consumer wants to be told."""
    if preset is None:
        return report
    models = []
    for model in report.models:
        advice = preset.advice_for(len(model.data_files))
        models.append(replace(model, notes=(*model.notes, advice)) if advice else model)
    return replace(report, models=tuple(models))


def _target(source: Path, destination: str | None, *, in_place: bool) -> Path | None:
    if destination is None and not in_place:
        typed = f"onnx-align align {shlex.quote(str(source))}"
        raise UsageError(
            "where should the result go?",
            hint=f"Type `{typed} DST` for a new model, or `{typed} --in-place`.",
        )
    if destination is None:
        return None
    if in_place:
        raise UsageError(
            f"both a destination ({destination}) and --in-place",
            hint="Leave one of them out.",
        )
    if not destination:
        raise UsageError("DST is empty", needed="a path", hint="Give one, or --in-place.")
    if source.is_dir() or Path(destination).is_dir():
        return Path(destination)
    if destination.endswith(("/", os.sep)):
        return Path(destination, source.name)
    if source.suffix and not Path(destination).suffix:
        raise UsageError(
            f"is {destination} a folder, or a model without .onnx?",
            hint=f"Type {destination}/ or {destination}.onnx.",
        )
    return Path(destination)

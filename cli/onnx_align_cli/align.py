"""`onnx-align align`: repack from file to file, or in place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options, writing
from onnx_align_cli.options import LAYOUT, WRITING
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_cli.target import target_of
from onnx_align_pass.errors import UsageError

if TYPE_CHECKING:
    from onnx_align_pass.presets import Preset
    from onnx_align_pass.report import AlignReport

__all__ = ["align"]


def align(
    source: options.Source,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SRC ...] DST",
            help="The new model, or a folder for it; for a folder of models, the new folder. "
            "Several models need --shared-data.",
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
    shared_data: Annotated[
        str | None,
        typer.Option(
            "--shared-data",
            metavar="NAME",
            help="Several SRC, a folder as DST: what their tensors hold goes into this one data "
            "file, once.",
            show_default=False,
            rich_help_panel=LAYOUT,
        ),
    ] = None,
    in_place: writing.InPlace = False,
    verify: writing.Verify = False,
    durable: writing.Durable = True,
    force: writing.Force = False,
    keep_old_data: writing.KeepOldData = False,
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
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    quiet: writing.Quiet = False,
) -> None:
    """Repack a model's weights so that every tensor starts on its boundary.

    The weights go from file to file and never through memory; tensors that are inside the .onnx
    move out. Sizes are bytes, or 64KiB, 2GB and the like. With --before the model goes through
    onnx-ir's passes on its way; what onnx-ir cannot hold is refused, not lost.

    Example: onnx-align align model.onnx aligned/ --preset windows --verify
    """
    paths = more or []
    destination = paths[-1] if paths else None
    sources = [source, *map(options.given_path, paths[:-1])]
    if shared_data is None and len(sources) > 1:
        raise UsageError(
            f"{len(sources)} models and one destination",
            hint="Name their common data file with --shared-data, or align them one by one.",
        )
    if shared_data is not None:
        _check_shared(
            shared_data,
            destination,
            in_place=in_place,
            external_data=external_data,
            keep_old_data=keep_old_data,
            before=before,
        )
        target: Path | None = Path(destination or "")
    else:
        target = target_of("align", source, destination, in_place=in_place)
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

        repack = _repack(sources, shared_data, before, keep_old_data=keep_old_data)

    # A pass that prints must not get into the result.
    result_alone = redirect_stdout(sys.stderr) if before else nullcontext()
    with (
        result_alone,
        progress_bar(wanted=not (quiet or as_json)) as bar,
        watched(bar) as progress,
    ):
        report = repack(
            target,
            storage=wanted.storage,
            layout=wanted.layout,
            progress=progress,
            verify=verify,
            overwrite=force,
            durable=durable,
            allow_hard_links=allow_hard_links,
        )
    report = _advised(report, wanted.preset)
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        show_report(report)


def _check_shared(
    shared_data: str,
    destination: str | None,
    *,
    in_place: bool,
    external_data: str | None,
    keep_old_data: bool,
    before: list[str] | None,
) -> None:
    refused = {
        "--in-place": in_place,
        "--external-data": external_data is not None,
        "--keep-old-data": keep_old_data,
        "--before": bool(before),
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageError(f"both --shared-data and {option}", hint=f"Leave {option} out.")
    if not shared_data:
        raise UsageError("--shared-data is empty", needed="the name of a data file")
    if not destination:
        raise UsageError("--shared-data needs a folder for the models: the last path")


def _repack(
    sources: list[Path],
    shared_data: str | None,
    before: list[str] | None,
    *,
    keep_old_data: bool,
) -> Callable[..., AlignReport]:
    """The call of the core: all that it lacks is the destination, and how."""
    if shared_data is not None:
        from onnx_align_pass.shared import align_shared

        return partial(align_shared, sources, shared_data=shared_data)
    if before:
        from onnx_align_pass.with_passes import align_with_passes

        return partial(align_with_passes, sources[0], before=before, keep_old_data=keep_old_data)
    from onnx_align_pass.align import align_file

    return partial(align_file, sources[0], keep_old_data=keep_old_data)


def _advised(report: AlignReport, preset: Preset | None) -> AlignReport:
    """Note with each model what its consumer wants to be told."""
    if preset is None:
        return report
    models = []
    for model in report.models:
        advice = preset.advice_for(len(model.data_files))
        models.append(replace(model, notes=(*model.notes, advice)) if advice else model)
    return replace(report, models=tuple(models))

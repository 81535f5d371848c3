"""`onnx-align align`: repack from file to file, or in place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.options import OUTPUT, WRITING, Pad
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.errors import UsageError
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

if TYPE_CHECKING:
    from onnx_align_pass.report import AlignReport, ModelAlignment

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
    alignment: options.Alignment = "4096",
    size_threshold: options.SizeThreshold = "1KiB",
    align_threshold: options.AlignThreshold = "0",
    small_alignment: options.SmallAlignment = "64",
    pad: options.Padding = Pad.NONE,
    external_data: options.ExternalData = None,
    max_shard_size: options.MaxShardSize = None,
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
    as_json: options.AsJson = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print nothing on success.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Repack a model's weights so that every tensor starts on its boundary.

    The weights go from file to file and never through memory; tensors that are inside the .onnx
    move out. Sizes are bytes, or 64KiB, 2GB and the like.
    """
    target = _target(source, destination, in_place=in_place)
    storage = options.storage_policy(size_threshold)
    layout = options.layout_policy(
        alignment=alignment,
        align_threshold=align_threshold,
        small_alignment=small_alignment,
        pad=pad,
        external_data=external_data,
        max_shard_size=max_shard_size,
    )
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.watch import watched
        from onnx_align_pass.align import align_file

    with progress_bar(wanted=not (quiet or as_json)) as bar, watched(bar) as progress:
        report = align_file(
            source,
            target,
            storage=storage,
            layout=layout,
            progress=progress,
            verify=verify,
            overwrite=force,
            durable=durable,
        )
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        _show(report)


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
    folder = destination.endswith(("/", os.sep)) and not source.is_dir()
    return Path(destination, source.name) if folder else Path(destination)


def _show(report: AlignReport) -> None:
    from onnx_align_cli.show import Column, show_facts, show_table

    if len(report.models) == 1:
        only = report.models[0]
        show_facts(_headline(only), _facts(only))
    else:
        columns = [
            Column("model"),
            Column("data files"),
            Column("data", right=True),
            Column("tensors", right=True),
            Column("padding", right=True),
            Column("seconds", right=True),
        ]
        show_table("", columns, map(_row, report.models))
        show_facts(f"aligned {len(report.models)} models", _totals(report))
    if report.carried:
        show_facts(f"carried along {len(report.carried)} other files", ())


def _headline(model: ModelAlignment) -> str:
    done = "unchanged" if model.unchanged else "aligned"
    return f"{done} {printable(str(model.destination))} ({format_bytes(model.model_bytes)})"


def _facts(model: ModelAlignment) -> Iterator[tuple[str, str]]:
    for file in model.data_files:
        yield "data", f"{printable(file.name)}, {format_bytes(file.nbytes)}"
    yield (
        "tensors",
        f"{model.external_tensors:,} external ({format_bytes(model.tensor_bytes)}), "
        f"{model.inline_tensors:,} inline",
    )
    yield "padding", _padding(model)
    if model.unchanged:
        yield "time", f"{model.seconds:.2f} s; it lay as asked already, nothing was written"
    else:
        yield "time", f"{model.seconds:.2f} s{_speed(model)}"
    if model.verified:
        yield "verified", "every byte was read back and compared"
    for name in model.removed:
        yield "removed", printable(name)
    for note in model.notes:
        yield "note", printable(note)


def _padding(model: ModelAlignment) -> str:
    percent = 100 * model.padding_bytes / model.data_bytes if model.data_bytes else 0.0
    return f"{format_bytes(model.padding_bytes)} ({percent:.2f} %)"


def _speed(model: ModelAlignment) -> str:
    if not (model.seconds and model.data_bytes):
        return ""
    return f", {format_bytes(int(model.data_bytes / model.seconds))}/s"


def _row(model: ModelAlignment) -> tuple[str, ...]:
    return (
        printable(str(model.destination)),
        ", ".join(printable(file.name) for file in model.data_files),
        format_bytes(model.data_bytes),
        f"{model.external_tensors:,}",
        _padding(model),
        "unchanged" if model.unchanged else f"{model.seconds:.2f}",
    )


def _totals(report: AlignReport) -> Iterator[tuple[str, str]]:
    speed = f", {format_bytes(int(report.data_bytes / report.seconds))}/s" if report.seconds else ""
    yield "data", format_bytes(report.data_bytes)
    yield "padding", format_bytes(report.padding_bytes)
    yield "time", f"{report.seconds:.2f} s{speed}"
    for model in report.models:
        for note in model.notes:
            yield "note", f"{printable(str(model.destination))}: {printable(note)}"

"""`onnx-align plan`: what `align` would do, before it does anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.options import OUTPUT, Pad
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say, say_json
from onnx_align_pass.errors import ModelNotFoundError, UsageError
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

if TYPE_CHECKING:
    from onnx_align_pass.layout.plan import LayoutPlan
    from onnx_align_pass.tensors import TensorRequest

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
    alignment: options.Alignment = "4096",
    size_threshold: options.SizeThreshold = "1KiB",
    align_threshold: options.AlignThreshold = "0",
    small_alignment: options.SmallAlignment = "64",
    pad: options.Padding = Pad.NONE,
    external_data: options.ExternalData = None,
    max_shard_size: options.MaxShardSize = None,
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

    For a folder, the plan of every model in it.
    """
    if as_json and as_text:
        raise UsageError("both --json and --text", hint="Leave one of them out.")
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
        from onnx_align_pass.align import plan_file

    folder = source.is_dir()
    plans = [
        (model, plan_file(model, storage=storage, layout=layout, in_place=in_place))
        for model in (_models_below(source) if folder else [source])
    ]
    if as_json:
        _say_json(plans, folder=folder)
    elif as_text:
        _say_text(plans, folder=folder)
    else:
        _show(plans)


def _models_below(folder: Path) -> list[Path]:
    """The models that `align` would repack, in its order."""
    from onnx_align_pass.transfer.recover import is_staging_name

    models = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".onnx"
        and path.is_file()
        and not any(is_staging_name(part) for part in path.relative_to(folder).parts)
    ]
    if not models:
        raise ModelNotFoundError("there is no .onnx file in the folder", file=folder)
    return models


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


def _show(plans: Plans) -> None:
    from onnx_align_cli.show import Column, show_facts, show_table

    columns = [
        Column("name"),
        Column("from"),
        Column("to"),
        Column("bytes", right=True),
        Column("padding", right=True),
        Column("why"),
    ]
    for path, one in plans:
        show_table(printable(str(path)), columns, _rows(one))
        show_facts("total", _totals(one))


def _rows(plan: LayoutPlan) -> Iterator[tuple[str, ...]]:
    homes, one_file = _homes(plan), len(plan.files) == 1
    home = homes[0] if len(homes) == 1 else ""
    for one in plan.placements:
        to = f"{'' if one_file else one.file} @ {one.offset}"
        tied = f"; tied to {one.tied_to}" if one.tied_to else ""
        yield _row(one.request, home, to, f"{one.padding:,}", tied)
    for request in plan.inline:
        yield _row(request, home, "inline", "", "")


def _row(request: TensorRequest, home: str, to: str, padding: str, tied: str) -> tuple[str, ...]:
    """A file's name is left out where it is the only one: it stands below the table."""
    facts = request.facts
    origin = request.origin.removeprefix(home) if request.home else request.origin
    why = request.decision.reason + tied
    cells = (facts.slot.name, origin.strip(), to.strip(), f"{facts.nbytes:,}", padding, why)
    return tuple(map(printable, cells))


def _homes(plan: LayoutPlan) -> list[str]:
    """The data files that tensors are in now."""
    requests = (*(one.request for one in plan.placements), *plan.inline)
    return sorted({one.home for one in requests if one.home is not None})


def _totals(plan: LayoutPlan) -> Iterator[tuple[str, str]]:
    from onnx_align_pass.layout.render import padding_percent

    yield "tensors", f"{len(plan.placements):,} external, {len(plan.inline):,} inline"
    for home in _homes(plan):
        yield "from", printable(home)
    for file in plan.files:
        yield "to", f"{printable(file.name)}, {format_bytes(file.size)}"
    yield "files", f"{len(plan.files):,}"
    yield "padding", f"{plan.padding_bytes:,} bytes ({padding_percent(plan):.2f} %)"
    for note in plan.notes:
        yield "note", printable(note)

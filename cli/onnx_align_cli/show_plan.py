"""How the table of `onnx-align plan` looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.render import padding_percent
from onnx_align_pass.printable import printable
from onnx_align_pass.tensors import TensorRequest
from onnx_align_pass.units import format_bytes

__all__ = ["show_plan"]


def show_plan(model: Path, plan: LayoutPlan) -> None:
    """Print a row for each tensor, then the totals."""
    columns = [
        Column("name"),
        Column("from"),
        Column("to"),
        Column("bytes", right=True),
        Column("padding", right=True),
        Column("why"),
    ]
    show_table(printable(str(model)), columns, _rows(plan))
    show_facts("total", _totals(plan))


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
    yield "tensors", f"{len(plan.placements):,} external, {len(plan.inline):,} inline"
    for home in _homes(plan):
        yield "from", printable(home)
    for file in plan.files:
        yield "to", f"{printable(file.name)}, {format_bytes(file.size)}"
    yield "files", f"{len(plan.files):,}"
    if plan.header_bytes:
        yield "headers", f"{plan.header_bytes:,} bytes"
    yield "padding", f"{plan.padding_bytes:,} bytes ({padding_percent(plan):.2f} %)"
    for note in plan.notes:
        yield "note", printable(note)

"""How the report of `onnx-align repair` looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.printable import printable
from onnx_align_pass.repair_report import Repair, RepairReport
from onnx_align_pass.units import format_bytes

__all__ = ["show_repairs"]

MANY_FAULTS = 20
"""More faults than this are counted, not listed."""
_LONGEST = 60
"""Characters of what there was that are shown."""


def show_repairs(report: RepairReport, *, dry_run: bool) -> None:
    """Print a row for each kind of repair, then what was written, or what is in the way."""
    if report.repairs:
        columns = [
            Column("mended"),
            Column("tensors", right=True),
            Column("such as"),
            Column("before"),
            Column("after"),
        ]
        show_table("", columns, map(_row, _kinds(report.repairs)))
    show_facts(_headline(report, dry_run), _facts(report))


def _kinds(repairs: Sequence[Repair]) -> list[list[Repair]]:
    """Repairs of one kind together: there may be as many as tensors."""
    kinds: dict[tuple[str, str], list[Repair]] = {}
    for one in repairs:
        kinds.setdefault((one.code, one.problem), []).append(one)
    return list(kinds.values())


def _row(kind: list[Repair]) -> tuple[str, ...]:
    first = kind[0]
    before = first.before if len(first.before) <= _LONGEST else f"{first.before[:_LONGEST]}..."
    cells = (first.problem, f"{len(kind):,}", first.tensor, before, first.after or "dropped")
    return tuple(map(printable, cells))


def _headline(report: RepairReport, dry_run: bool) -> str:
    source = printable(str(report.source))
    if report.remaining:
        return f"{source} cannot be mended"
    if report.is_whole:
        return f"nothing to mend in {source}; nothing was written"
    if report.written is None or dry_run:
        return f"{source} can be mended; nothing was written"
    written = report.written
    name = printable(str(written.destination))
    return f"mended {source} as {name} ({format_bytes(written.model_bytes)})"


def _facts(report: RepairReport) -> Iterator[tuple[str, str]]:
    for fault in islice(report.remaining, MANY_FAULTS):
        yield "fault", fault.error.sentence
        if fault.error.hint:
            yield "", printable(fault.error.hint)
    if len(report.remaining) > MANY_FAULTS:
        yield "faults", f"{len(report.remaining) - MANY_FAULTS:,} more; --json lists all of them"
    if report.written is not None:
        for file in report.written.data_files:
            yield "data", f"{printable(file.name)}, {format_bytes(file.nbytes)}"
        for note in report.written.notes:
            yield "note", printable(note)
    for note in report.notes:
        yield "note", printable(note)

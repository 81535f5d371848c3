"""How the report of `onnx-align inline` looks."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_cli.show_align import endings, headline
from onnx_align_pass.printable import printable
from onnx_align_pass.report import AlignReport, ModelAlignment
from onnx_align_pass.units import format_bytes

__all__ = ["show_inlined"]


def show_inlined(report: AlignReport) -> None:
    """Print a few lines for one model, a table for several."""
    if len(report.models) == 1:
        only = report.models[0]
        show_facts(headline(only, "inlined"), _facts(only))
    else:
        columns = [
            Column("model"),
            Column("size", right=True),
            Column("tensors", right=True),
            Column("seconds", right=True),
        ]
        show_table("", columns, map(_row, report.models))
        show_facts(f"inlined {len(report.models)} models", _notes(report))
    if report.carried:
        show_facts(f"carried along {len(report.carried)} other files", ())


def _facts(model: ModelAlignment) -> Iterator[tuple[str, str]]:
    yield "tensors", f"{model.inline_tensors:,} inline"
    nothing = "; no data was outside, nothing was written" if model.unchanged else ""
    yield "time", f"{model.seconds:.2f} s{nothing}"
    yield from endings(model)


def _row(model: ModelAlignment) -> tuple[str, ...]:
    return (
        printable(str(model.destination)),
        format_bytes(model.model_bytes),
        f"{model.inline_tensors:,}",
        "unchanged" if model.unchanged else f"{model.seconds:.2f}",
    )


def _notes(report: AlignReport) -> Iterator[tuple[str, str]]:
    for model in report.models:
        for name in model.removed:
            yield "removed", f"{printable(str(model.destination))}: {printable(name)}"
        for note in model.notes:
            yield "note", f"{printable(str(model.destination))}: {printable(note)}"

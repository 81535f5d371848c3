"""How the report of `onnx-align align` looks."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.printable import printable
from onnx_align_pass.report import AlignReport, ModelAlignment
from onnx_align_pass.units import format_bytes

__all__ = ["endings", "headline", "show_report"]


def show_report(report: AlignReport) -> None:
    """Print a few lines for one model, a table and its totals for several."""
    if len(report.models) == 1:
        only = report.models[0]
        show_facts(headline(only, "aligned"), _facts(only))
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


def headline(model: ModelAlignment, done: str) -> str:
    """Say what was done to a model, and what it weighs."""
    done = "unchanged" if model.unchanged else done
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
    yield from endings(model)


def endings(model: ModelAlignment) -> Iterator[tuple[str, str]]:
    """What is said at the end of every run on a model."""
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
        _files(model),
        format_bytes(model.data_bytes),
        f"{model.external_tensors + model.referenced_tensors:,}",
        _padding(model),
        "unchanged" if model.unchanged else f"{model.seconds:.2f}",
    )


def _files(model: ModelAlignment) -> str:
    if not model.data_files and model.referenced_tensors:
        return "(that of the first)"
    return ", ".join(printable(file.name) for file in model.data_files)


def _totals(report: AlignReport) -> Iterator[tuple[str, str]]:
    speed = f", {format_bytes(int(report.data_bytes / report.seconds))}/s" if report.seconds else ""
    yield "data", format_bytes(report.data_bytes)
    yield "padding", format_bytes(report.padding_bytes)
    yield "time", f"{report.seconds:.2f} s{speed}"
    for model in report.models:
        for note in model.notes:
            yield "note", f"{printable(str(model.destination))}: {printable(note)}"

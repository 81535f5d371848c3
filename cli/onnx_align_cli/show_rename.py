"""How the report of `onnx-align rename` looks."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_align_cli.show import show_facts
from onnx_align_pass.printable import printable
from onnx_align_pass.rename_report import RenamedFile, RenameReport
from onnx_align_pass.units import format_bytes

__all__ = ["show_renamed"]

MANY_FILES = 20
"""More data files than this are counted, not listed."""


def show_renamed(report: RenameReport) -> None:
    """Print what the model is called now, and what became of each data file."""
    done = "finished renaming to" if report.resumed else "renamed to"
    size = format_bytes(report.model_bytes)
    show_facts(f"{done} {printable(str(report.destination))} ({size})", _facts(report))


def _facts(report: RenameReport) -> Iterator[tuple[str, str]]:
    for file in report.data_files[:MANY_FILES]:
        yield file.how, _line(file)
    rest = report.data_files[MANY_FILES:]
    if rest:
        yield "data", f"{len(rest):,} more files, {format_bytes(sum(one.nbytes for one in rest))}"
    for name in report.removed:
        yield "removed", printable(name)
    yield "time", f"{report.seconds:.2f} s"
    for note in report.notes:
        yield "note", printable(note)


def _line(file: RenamedFile) -> str:
    size = format_bytes(file.nbytes)
    if file.before == file.after:
        return f"{printable(file.after)}, {size}"
    return f"{printable(file.before)} -> {printable(file.after)}, {size}"

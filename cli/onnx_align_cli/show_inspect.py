"""How the report of `onnx-align inspect` looks: a screenful, however many tensors there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onnx_align_cli.file_map import legend, map_of
from onnx_align_cli.show import Column, screen_width, show_facts, show_pieces, show_table
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.report import (
    MAX_ALIGNMENT,
    Amount,
    DataFileReport,
    ModelReport,
    TensorReport,
)
from onnx_align_pass.presets import DEFAULT_PRESET, PRESETS
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

__all__ = ["show_folder", "show_model", "show_tensors"]

_MOST_FILES: Final = 8
_MOST_FINDINGS: Final = 8
_NEAREST: Final = 3
_WIDEST_MAP: Final = 100
_INDENT: Final = "  "
_STYLES: Final = {"error": "bold red", "warning": "yellow"}


def show_model(report: ModelReport) -> None:
    """Print what a model is like, its data files with their maps, and what was found."""
    headline = f"{printable(str(report.model))} ({format_bytes(report.model_bytes)})"
    show_facts(headline, _facts(report))
    if report.files:
        _show_files(report.files)
    show_facts("presets", _presets(report))
    show_facts(_headline(report.findings), ())
    _show_findings(report.findings)


def show_tensors(report: ModelReport) -> None:
    """Print a row for each tensor."""
    columns = [
        Column("tensor"),
        Column("dtype"),
        Column("shape"),
        Column("bytes", right=True),
        Column("where"),
        Column("starts on", right=True),
        Column("note"),
    ]
    rows = [_row(one, report.tensors) for one in report.tensors]
    show_table(printable(str(report.model)), columns, rows)


def show_folder(reports: Sequence[ModelReport]) -> None:
    """Print a row for each model, then the totals and the worst that was found."""
    columns = [
        Column("model"),
        Column("tensors", right=True),
        Column("external", right=True),
        Column("inline", right=True),
        Column("padding", right=True),
        Column("dead", right=True),
        Column("presets"),
        Column("findings"),
    ]
    show_table("", columns, map(_summary, reports))
    digests = [(printable(str(one.model)), one.digest) for one in reports if one.digest]
    if digests:
        show_facts("digests", ((digest, model) for model, digest in digests))
    show_facts(f"{len(reports):,} models", _totals(reports))
    readable = [one for one in reports if one.is_readable]  # of the others stderr tells
    errors = [one for report in readable for one in report.findings if one.severity == "error"]
    _show_findings(errors)


def _facts(report: ModelReport) -> Iterator[tuple[str, str]]:
    external, inline = report.external, report.inline
    files = f" in {_count(len(report.files), 'file')}" if report.files else ""
    yield "external", f"{_amount(external)}{files}, {_count(report.mappings, 'mapping')}"
    yield "inline", _amount(inline)
    yield "dtypes", ", ".join(f"{name} {_amount(one)}" for name, one in _largest(report)) or "none"
    if report.alignment:
        page = PRESETS[DEFAULT_PRESET].layout.alignment
        yield "alignment", "  ".join(_starts(*one) for one in report.alignment.items())
        yield (
            "page",
            f"{report.misaligned(page):,} of {sum(report.alignment.values()):,} external tensors "
            f"do not start on {page:,}",
        )
    if report.tied:
        count = sum(map(len, report.tied))
        yield "tied", f"{_count(count, 'tensor')} share {_count(len(report.tied), 'range')}"
    if report.duplicates:
        wasted = sum(one.wasted_bytes for one in report.duplicates)
        groups = _count(len(report.duplicates), "group")
        yield "duplicate", f"{groups} of equal tensors: {format_bytes(wasted)} could be saved"
    if report.digest is not None:
        yield "digest", report.digest
    for note in report.notes:
        yield "note", printable(note)


def _starts(alignment: int, count: int) -> str:
    more = "+" if alignment >= MAX_ALIGNMENT else ""
    return f"{alignment}{more}: {count:,}"


def _largest(report: ModelReport) -> list[tuple[str, Amount]]:
    """The element types, those of most bytes first."""
    return sorted(report.dtypes.items(), key=lambda one: -one[1].nbytes)[:_MOST_FILES]


def _show_files(files: Sequence[DataFileReport]) -> None:
    columns = [
        Column("data file"),
        Column("size", right=True),
        Column("tensors", right=True),
        Column("padding", right=True),
        Column("dead", right=True),
        Column("links", right=True),
        Column("shared with"),
    ]
    show_table("", columns, map(_file_row, files[:_MOST_FILES]))
    if len(files) > _MOST_FILES:
        show_pieces([(f"{_INDENT}and {len(files) - _MOST_FILES:,} more: --json", "dim")])
    width = min(screen_width() - len(_INDENT), _WIDEST_MAP)
    for file in files[:_MOST_FILES]:
        if file.nbytes:
            show_pieces([(f"{printable(file.name)}  ", "bold"), *legend(file)])
            show_pieces([(_INDENT, ""), *map_of(file, width)])


def _file_row(file: DataFileReport) -> tuple[str, ...]:
    known = file.nbytes is not None
    return (
        printable(file.name),
        "not read" if file.nbytes is None else format_bytes(file.nbytes),
        f"{file.tensors:,}",
        format_bytes(file.padding_bytes) if known else "",
        format_bytes(file.dead_bytes) if known else "",
        "" if file.links is None else f"{file.links:,}",
        printable(", ".join(file.shared_with)),
    )


def _presets(report: ModelReport) -> Iterator[tuple[str, str]]:
    """Those that the model satisfies, and those that it almost does."""
    satisfied = [one.name for one in report.presets if one.satisfied]
    yield "satisfied", ", ".join(satisfied) or "none"
    missed = [one for one in report.presets if not one.satisfied]
    if len(missed) > 1 and len({one.why_not for one in missed}) == 1:
        yield "not", f"any {'other' if satisfied else 'of them'}: {missed[0].why_not}"
        return
    for one in sorted(missed, key=lambda one: (one.breaches, one.experimental))[:_NEAREST]:
        more = f" (and {one.breaches - 1:,} more)" if one.breaches > 1 else ""
        yield "not", f"{one.name}: {one.why_not}{more}"
    others = sorted(missed, key=lambda one: (one.breaches, one.experimental))[_NEAREST:]
    if others:
        yield "nor", ", ".join(one.name for one in others)


def _headline(findings: Sequence[Finding]) -> str:
    errors = sum(one.severity == "error" for one in findings)
    if not findings:
        return "nothing was found that may hurt"
    return f"{_count(errors, 'error')}, {_count(len(findings) - errors, 'warning')}"


def _show_findings(findings: Sequence[Finding]) -> None:
    ordered = sorted(findings, key=lambda one: one.severity != "error")
    for one in ordered[:_MOST_FINDINGS]:
        style = _STYLES[one.severity]
        show_pieces([(f"{_INDENT}{one.code}: ", style), (one.error.sentence, "")])
        if one.error.hint:
            show_pieces([(f"{_INDENT * 2}{printable(one.error.hint)}", "dim")])
    if len(ordered) > _MOST_FINDINGS:
        more = len(ordered) - _MOST_FINDINGS
        show_pieces([(f"{_INDENT}and {more:,} more: --json", "dim")])


def _row(tensor: TensorReport, tensors: Sequence[TensorReport]) -> tuple[str, ...]:
    where = "inline"
    if tensor.file is not None:
        where = tensor.file if tensor.offset is None else f"{tensor.file} @ {tensor.offset}"
    notes = [f"{len(tensor.findings)} found"] if tensor.findings else []
    notes += [f"tied to {tensors[tensor.tied_to].name}"] if tensor.tied_to is not None else []
    notes += [f"equal to {tensors[tensor.same_as].name}"] if tensor.same_as is not None else []
    cells = (
        tensor.name,
        tensor.dtype,
        "x".join(map(str, tensor.shape)) or "scalar",
        "" if tensor.nbytes is None else f"{tensor.nbytes:,}",
        where,
        "" if tensor.alignment is None else f"{tensor.alignment:,}",
        ", ".join(notes),
    )
    return tuple(map(printable, cells))


def _summary(report: ModelReport) -> tuple[str, ...]:
    name = printable(str(report.model))
    if not report.is_readable:
        return name, "", "", "", "", "", "", "not readable"
    errors = sum(one.severity == "error" for one in report.findings)
    warnings = len(report.findings) - errors
    found = [_count(errors, "error")] if errors else []
    found += [_count(warnings, "warning")] if warnings else []
    return (
        name,
        f"{report.external.tensors + report.inline.tensors:,}",
        format_bytes(report.external.nbytes),
        format_bytes(report.inline.nbytes),
        format_bytes(sum(file.padding_bytes for file in report.files)),
        format_bytes(sum(file.dead_bytes for file in report.files)),
        ", ".join(one.name for one in report.presets if one.satisfied and not one.experimental),
        ", ".join(found),
    )


def _totals(reports: Sequence[ModelReport]) -> Iterator[tuple[str, str]]:
    external = [one.external for one in reports]
    inline = [one.inline for one in reports]
    yield "external", _amount(_sum(external))
    yield "inline", _amount(_sum(inline))
    unreadable = sum(not one.is_readable for one in reports)
    if unreadable:
        yield "refused", f"{_count(unreadable, 'model')} could not be read"


def _sum(amounts: Sequence[Amount]) -> Amount:
    return Amount(sum(one.tensors for one in amounts), sum(one.nbytes for one in amounts))


def _amount(amount: Amount) -> str:
    return f"{_count(amount.tensors, 'tensor')} ({format_bytes(amount.nbytes)})"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

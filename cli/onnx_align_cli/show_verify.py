"""How the report of `onnx-align verify` looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from onnx_align_cli.show import show_facts
from onnx_align_pass.findings import Finding
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes
from onnx_align_pass.verify_report import ModelVerification, VerifyReport

__all__ = ["show_report"]

_MOST_ALIKE: Final = 20
"""Findings of one kind that are shown for a model."""


def show_report(report: VerifyReport, *, preset: str | None, folder: bool, strict: bool) -> None:
    """Print what was found.

    Args:
        report: What was found.
        preset: Name of the preset that was checked, if any.
        folder: A line and its findings for each model, then a summary; else all of the one model.
        strict: Whether warnings count as errors.
    """
    if not folder:
        (only,) = report.models
        facts = [*_findings(only), *_facts(only, preset)]
        show_facts(f"{_verdict(only, strict)}  {printable(str(only.model))}", facts)
        return
    for model in report.models:
        digest = [] if model.digest is None else [("digest", model.digest)]
        facts = [*_findings(model), *digest]
        show_facts(f"{_verdict(model, strict)}  {printable(str(model.model))}", facts)
    show_facts(_summary(report, strict), _totals(report, preset))


def _verdict(model: ModelVerification, strict: bool) -> str:
    if not model.errors and not (strict and model.warnings):
        return "ok     "
    return "FAILED "


def _findings(model: ModelVerification) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    for finding in model.findings:
        seen[finding.code] += 1
        if seen[finding.code] <= _MOST_ALIKE:
            yield from _lines(finding)
    for code, count in seen.items():
        if count > _MOST_ALIKE:
            yield "", f"{code}: {count - _MOST_ALIKE:,} more (all of them with --json)"


def _lines(finding: Finding) -> Iterator[tuple[str, str]]:
    yield finding.severity, f"{finding.code}: {finding.error.sentence}"
    if finding.error.hint:
        yield "", printable(finding.error.hint)


def _facts(model: ModelVerification, preset: str | None) -> Iterator[tuple[str, str]]:
    yield "checked", _checked(model.checked, preset)
    yield "tensors", f"{model.tensors:,}"
    if "against" in model.checked:
        yield "compared", _compared(model.bytes_compared, model.bytes_shared)
    if model.digest is not None:
        yield "digest", model.digest
    yield "time", f"{model.seconds:.2f} s"


def _checked(checked: tuple[str, ...], preset: str | None) -> str:
    """What was looked at; a preset stands for the layout and the storage policy that it is."""
    if preset is None:
        return ", ".join(checked)
    names = [f"preset {preset}" if one == "layout" else one for one in checked if one != "storage"]
    return ", ".join(names)


def _compared(nbytes: int, shared: int) -> str:
    if not shared:
        return f"{format_bytes(nbytes)} in each model"
    return f"{format_bytes(nbytes)} in each model; {format_bytes(shared)} are one range of one file"


def _summary(report: VerifyReport, strict: bool) -> str:
    failed = sum(_verdict(model, strict) != "ok     " for model in report.models)
    count = len(report.models)
    return f"checked {_many(count, 'model')}: {count - failed:,} ok, {failed:,} failed"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _totals(report: VerifyReport, preset: str | None) -> Iterator[tuple[str, str]]:
    # A model that could not be read was not looked into.
    checked = dict.fromkeys(one for model in report.models for one in model.checked)
    yield "checked", _checked(tuple(checked), preset) or "nothing"
    yield "findings", f"{_many(report.errors, 'error')}, {_many(report.warnings, 'warning')}"
    if "against" in checked:
        yield "compared", _compared(report.bytes_compared, report.bytes_shared)
    yield "time", f"{report.seconds:.2f} s"

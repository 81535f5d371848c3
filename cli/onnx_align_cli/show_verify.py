"""How the report of `onnx-align verify` looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from onnx_align_cli.show import show_facts
from onnx_align_pass.findings import Finding, Severity
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes
from onnx_align_pass.verify_report import ModelVerification, VerifyReport

__all__ = ["show_report"]

_MOST: Final = {"error": 12, "warning": 6}
"""Findings of a severity that are shown for a model by itself."""
_MOST_IN_FOLDER: Final = 3
"""Findings of a severity that are shown for a model among others."""
_ALL: Final = "all of them with --json"


def show_report(report: VerifyReport, *, preset: str | None, folder: bool, strict: bool) -> None:
    """Print what was found: errors first, and at most a screenful for a model.

    Args:
        report: What was found.
        preset: Name of the preset that was checked, if any.
        folder: A line for each model with its errors and the number of its warnings, then a
            summary; else all of the one model.
        strict: Whether warnings count as errors.
    """
    if not folder:
        (only,) = report.models
        facts = [*_findings(only, "error"), *_findings(only, "warning"), *_facts(only, preset)]
        show_facts(f"{_verdict(only, strict)}  {printable(str(only.model))}", facts)
        return
    for model in report.models:
        show_facts(
            f"{_verdict(model, strict)}  {printable(str(model.model))}", _in_folder(model, strict)
        )
    show_facts(_summary(report, strict), _totals(report, preset, strict))


def _verdict(model: ModelVerification, strict: bool) -> str:
    if not model.errors and not (strict and model.warnings):
        return "ok     "
    return "FAILED "


def _in_folder(model: ModelVerification, strict: bool) -> Iterator[tuple[str, str]]:
    yield from _findings(model, "error", _MOST_IN_FOLDER)
    if strict:
        yield from _findings(model, "warning", _MOST_IN_FOLDER)
    elif model.warnings:
        yield "warnings", _counts(_by_code(model.findings, "warning").values())
    if model.digest is not None:
        yield "digest", model.digest


def _findings(
    model: ModelVerification, severity: Severity, most: int | None = None
) -> Iterator[tuple[str, str]]:
    """Show some of each kind, so that many of one kind do not hide another."""
    kinds = list(_by_code(model.findings, severity).values())
    most = _MOST[severity] if most is None else most
    each = max(1, most // len(kinds)) if kinds else 0
    for kind in kinds[:most]:
        yield from _kind(kind, each)
    if kinds[most:]:
        yield "", f"and {_counts(kinds[most:])} ({_ALL})"


def _kind(alike: Sequence[Finding], most: int) -> Iterator[tuple[str, str]]:
    """Show findings of one code; what to do is said where it changes."""
    shown = alike[:most]
    for one, after in zip(shown, [*shown[1:], None], strict=True):
        yield one.severity, f"{one.code}: {one.error.sentence}"
        hint = one.error.hint
        if hint and (after is None or after.error.hint != hint):
            yield "", printable(hint)
    if len(alike) > most:
        yield "", f"{alike[0].code}: {len(alike) - most:,} more ({_ALL})"


def _by_code(findings: Iterable[Finding], severity: Severity) -> dict[str, list[Finding]]:
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        if one.severity == severity:
            kinds.setdefault(one.code, []).append(one)
    return kinds


def _counts(kinds: Iterable[Sequence[Finding]]) -> str:
    """What was found, in as few words as there are: `dead-bytes, wide-gap (3)`."""
    return ", ".join(
        f"{one[0].code} ({len(one):,})" if len(one) > 1 else one[0].code for one in kinds
    )


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


def _totals(report: VerifyReport, preset: str | None, strict: bool) -> Iterator[tuple[str, str]]:
    # A model that could not be read was not looked into.
    checked = dict.fromkeys(one for model in report.models for one in model.checked)
    yield "checked", _checked(tuple(checked), preset) or "nothing"
    yield "findings", f"{_many(report.errors, 'error')}, {_many(report.warnings, 'warning')}"
    if report.warnings and not strict:
        yield "", "Verify a model by itself, or with --json, to see what its warnings say."
    if "against" in checked:
        yield "compared", _compared(report.bytes_compared, report.bytes_shared)
    yield "time", f"{report.seconds:.2f} s"

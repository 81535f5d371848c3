"""What was found, by severity."""

from __future__ import annotations

from collections.abc import Iterable

from onnx_align_pass.findings import Finding
from tests.inspection.code_page import SEVERITY

__all__ = ["codes_of", "errors_in", "warned_in"]


def errors_in(findings: Iterable[Finding]) -> list[Finding]:
    """The errors."""
    return [one for one in _documented(findings) if one.severity == "error"]


def codes_of(findings: Iterable[Finding]) -> list[str]:
    """The codes of the errors."""
    return [one.code for one in errors_in(findings)]


def warned_in(findings: Iterable[Finding]) -> set[str]:
    """The codes of the warnings."""
    return {one.code for one in _documented(findings) if one.severity == "warning"}


def _documented(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; each has its own code, and the severity that the documents give it."""
    found = list(findings)
    for one in found:
        assert one.code == one.error.code
        assert SEVERITY[one.code] == one.severity
    return found

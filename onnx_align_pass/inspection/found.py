"""A finding, and the tensors that it is about; many that are alike make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnx_align_pass.errors import AlignError, ExternalDataError
from onnx_align_pass.findings import Finding, Severity

__all__ = ["Found", "found", "found_together"]


class Found(NamedTuple):
    """A finding, and the indices of the tensors that it is about."""

    finding: Finding
    tensors: tuple[int, ...] = ()


def found(severity: Severity, error: AlignError, *tensors: int) -> Found:
    """Make a finding of an error that carries its code."""
    return Found(Finding.of(severity, error), tensors)


def found_together(
    severity: Severity, first: AlignError, tensors: Sequence[int], *, where: str = ""
) -> Found:
    """Make one finding of what is wrong with several tensors.

    Args:
        severity: Of the finding.
        first: What is wrong with the first of them.
        tensors: Their indices.
        where: What is to be said of where they all are.
    """
    if len(tensors) < 2:
        return found(severity, first, *tensors)
    count = len(tensors)
    if first.found is None:
        found_in_all = f"{count:,} tensors{where}"
    else:
        others = "1 more tensor" if count == 2 else f"{count - 1:,} more tensors"
        found_in_all = f"{first.found}; and so {others}{where}"
    error = ExternalDataError(
        first.problem,
        tensor=first.tensor,
        file=first.file,
        needed=first.needed,
        found=found_in_all,
        hint=first.hint,
        code=first.code,
    )
    return found(severity, error, *tensors)

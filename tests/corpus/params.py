"""The corpus as parameters of pytest: `@pytest.mark.parametrize("case", cases(runs=True))`."""

from __future__ import annotations

import os
from typing import Any

import pytest

from . import BAD, CASES

__all__ = ["bad_cases", "cases"]


def cases(**flags: bool) -> list[Any]:
    """The cases whose flags are these, such as `runs=True`; each is called by its name."""
    return [
        pytest.param(case, id=name)
        for name, case in CASES.items()
        if all(getattr(case, flag) == value for flag, value in flags.items())
    ]


def bad_cases(**flags: bool) -> list[Any]:
    """The bad cases whose flags are these; what only root can build says so when it is skipped."""
    root = (
        pytest.mark.needs_root,
        pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away"),
    )
    return [
        pytest.param(case, id=name, marks=root if case.needs_root else ())
        for name, case in BAD.items()
        if all(getattr(case, flag) == value for flag, value in flags.items())
    ]

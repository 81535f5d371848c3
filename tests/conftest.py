"""What the machine can, said at the head of each run; what is required may not be skipped."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.capabilities import required, why_not


def pytest_report_header(config: pytest.Config) -> list[str]:
    """One line for each capability that tests are marked with."""
    if hasattr(config, "workerinput"):
        return []
    must = required()
    return [
        f"{name}: {'available' if why is None else why}{', required' * (name in must)}"
        for name, why in why_not().items()
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that skips for want of what is required has failed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        marks = (mark.name for mark in item.iter_markers())
        needs = {name.removeprefix("needs_") for name in marks if name.startswith("needs_")}
        if needs and needs <= required():
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"required here: {', '.join(sorted(needs))}; skipped: {reason}"
    return report

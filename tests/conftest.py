"""What the machine can, said first; how many points were tried, killed at, failed at, said last."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import settings

from tests.capabilities import required, why_not
from tests.commit.kills import Wrongs
from tests.held_up import ends_within
from tests.open_folder import open_folder

__all__ = ["ends_within", "open_folder"]

settings.register_profile("repeatable", derandomize=True, deadline=None)
"""For what decides whether a change lands: it must not draw lots. Elsewhere each run draws anew."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background of a script: children would be deaf to what tests send them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """One line for each capability that tests are marked with, where somebody will look.

    Trying them out mounts file systems, and takes seconds.
    """
    asked = os.environ.get("CI") or os.environ.get("ONNX_ALIGN_REQUIRE")
    if hasattr(config, "workerinput") or not asked:
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


@pytest.fixture(autouse=True)
def _points(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Note how many points a test tried; pytest-xdist hands that on, and JUnit files hold it."""
    before = Wrongs.tried
    yield
    if Wrongs.tried > before:
        record_property("points", Wrongs.tried - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say the numbers at the end: by file, and in all."""
    counts: dict[str, list[int]] = {}
    reports = (one for kind in terminalreporter.stats.values() for one in kind)
    for report in reports:
        if getattr(report, "when", None) == "teardown":
            points = [value for name, value in report.user_properties if name == "points"]
            counts.setdefault(report.nodeid.partition("::")[0], []).extend(points)
    tried = {file: points for file, points in sorted(counts.items()) if points}
    for file, points in tried.items():
        terminalreporter.write_line(f"{file}: {sum(points):,} points in {len(points)} tests")
    if tried:
        total = sum(map(sum, tried.values()))
        terminalreporter.write_line(f"points tried: {total:,}")

"""How many points of how many runs were tried: killed at, failed at, interrupted at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.commit.kills import Wrongs


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

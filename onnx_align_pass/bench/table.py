"""Renders results as markdown. Ratios are ours / peer: below 1 we are faster or smaller."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from onnx_align_pass.bench.peers import OURS
from onnx_align_pass.bench.results import PeerResult, WorkloadResult

__all__ = ["render"]

HEADINGS = (
    "peer",
    "no fsync (s)",
    "ours/peer",
    "with fsync (s)",
    "ours/peer",
    "extra peak (MB)",
    "ours/peer",
)
PEAK_ERROR_MEGABYTES = 0.3
"""The kernel adds resident pages up in batches of 32 or more for each CPU and kind of page."""

NOTE = (
    "Wall times are medians; MB is 1,000,000 bytes; ours/peer is better when smaller. "
    f"The extra peak is over a warm process, exact to about {PEAK_ERROR_MEGABYTES} MB: there is no "
    "ratio where both are below that."
)
NOTHING = "-"

Measure = Callable[[PeerResult], float | None]


def _extra_megabytes(result: PeerResult) -> float | None:
    return None if result.extra_peak_bytes is None else result.extra_peak_bytes / 1e6


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _megabytes(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}"


MEASURES: tuple[tuple[Measure, Callable[[float], str], float], ...] = (
    (lambda result: median(result.buffered_seconds), _seconds, 0),
    (lambda result: median(result.durable_seconds), _seconds, 0),
    (_extra_megabytes, _megabytes, PEAK_ERROR_MEGABYTES),
)
"""How to get a number, how to write it, and the number up to which it may be zero."""


def _ratio(ours: float | None, theirs: float | None, error: float) -> str:
    if ours is None or theirs is None or theirs == 0 or max(ours, theirs) <= error:
        return NOTHING
    return f"{ours / theirs:.3f}" if ours < theirs / 10 else f"{ours / theirs:.2f}"


def _row(result: PeerResult, ours: PeerResult | None) -> list[str]:
    if result.problem is not None:
        problem = " ".join(result.problem.replace("|", "/").split())
        return [result.peer, problem, *[""] * (len(HEADINGS) - 2)]
    cells = [result.peer]
    for measure, text, error in MEASURES:
        value = measure(result)
        cells.append(NOTHING if value is None else text(value))
        cells.append(_ratio(None if ours in (None, result) else measure(ours), value, error))
    return cells


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _section(result: WorkloadResult) -> list[str]:
    measured = (peer for peer in result.peers if peer.problem is None)
    ours = next((peer for peer in measured if peer.peer == OURS), None)
    megabytes = _megabytes(result.source_bytes / 1e6)
    return [
        f"### {result.workload}: {result.description} ({megabytes} MB here)",
        "",
        _line(HEADINGS),
        _line(["---", *["---:"] * (len(HEADINGS) - 1)]),
        *(_line(_row(peer, ours)) for peer in result.peers),
        "",
    ]


def render(environment: Mapping[str, str], results: Sequence[WorkloadResult]) -> str:
    """The whole report: what it was measured on, then a table for each workload."""
    facts = [f"- {label}: {value}" for label, value in environment.items()]
    sections = [line for result in results for line in _section(result)]
    return "\n".join(["## onnx-align-pass bench", "", *facts, "", NOTE, "", *sections])

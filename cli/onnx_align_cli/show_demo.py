"""How the result of `onnx-align demo` looks."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from onnx_align_cli.proof import ALIGNMENT, Proof
from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.bench.results import PeerResult
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

__all__ = ["demo_values", "show_demo"]

NEXT: Final = "onnx-align plan model.onnx, then: onnx-align align model.onnx aligned/ --verify"


def demo_values(proof: Proof, results: list[PeerResult]) -> dict[str, Any]:
    """Return plain values for `json.dumps`."""
    model = proof.model
    return {
        "alignment": ALIGNMENT,
        "tensors": proof.tensors,
        "tensor_bytes": model.tensor_bytes,
        "padding_bytes": model.padding_bytes,
        "unaligned_before": proof.unaligned_before,
        "proven": {"aligned": proof.tensors, "equal": proof.tensors},
        "measured": [
            {
                "way": one.peer,
                "seconds": [round(value, 6) for value in one.durable_seconds],
                "extra_peak_bytes": one.extra_peak_bytes,
                "problem": None if one.problem is None else printable(one.problem),
            }
            for one in results
        ],
        "next": NEXT,
    }


def show_demo(proof: Proof, ours: PeerResult, theirs: PeerResult) -> None:
    """Print what was done, what was proven, what was measured, and what to type next."""
    show_facts("onnx-align demo", _facts(proof))
    columns = [
        Column("way"),
        Column("wall time", right=True),
        Column("extra peak memory", right=True),
    ]
    rows = [_row(ours), _row(theirs), *_ratio(ours, theirs)]
    show_table("", columns, rows)
    runs = len(ours.durable_seconds)
    show_facts(
        f"median of {runs} runs with fsync; memory over that of a warm process, in a child process",
        [("removed", printable(proof.folder)), ("next", NEXT)],
    )


def _facts(proof: Proof) -> Iterator[tuple[str, str]]:
    model, count = proof.model, proof.tensors
    yield (
        "built",
        f"{count} tensors, {format_bytes(model.tensor_bytes)}; "
        f"{proof.unaligned_before} of them at no multiple of {ALIGNMENT}",
    )
    yield (
        "repacked",
        f"at alignment {ALIGNMENT}, verified, in {model.seconds:.2f} s; "
        f"padding {format_bytes(model.padding_bytes)}",
    )
    yield (
        "proven",
        f"with onnx alone: {count} of {count} tensors aligned, {count} of {count} equal",
    )


def _row(result: PeerResult) -> tuple[str, ...]:
    if result.problem is not None:
        return result.peer, printable(result.problem), ""
    peak = result.extra_peak_bytes
    return (
        result.peer,
        f"{median(result.durable_seconds):.3f} s",
        "not measured here" if peak is None else format_bytes(peak),
    )


def _ratio(ours: PeerResult, theirs: PeerResult) -> Iterator[tuple[str, ...]]:
    if ours.problem is not None or theirs.problem is not None:
        return
    time = median(ours.durable_seconds) / median(theirs.durable_seconds)
    peaks = ours.extra_peak_bytes, theirs.extra_peak_bytes
    memory = f"{peaks[0] / peaks[1]:.3f}" if peaks[0] is not None and peaks[1] else ""
    yield "ours / in memory", f"{time:.2f}", memory

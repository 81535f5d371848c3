"""Runs one workload: builds it, measures every peer on it, removes it."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.bench.files import data_file_of
from onnx_align_pass.bench.memory import extra_peak_bytes
from onnx_align_pass.bench.peers import Peer
from onnx_align_pass.bench.results import PeerResult, WorkloadResult
from onnx_align_pass.bench.sources import FORMS
from onnx_align_pass.bench.timing import time_peers
from onnx_align_pass.bench.workloads import Workload

__all__ = ["measure_workload"]

WARM_UP_SCALE = 0.001


def measure_workload(
    workload: Workload,
    peers: Sequence[Peer],
    folder: Path,
    *,
    scale: float,
    repeat: int,
    say: Callable[[str], None],
) -> WorkloadResult:
    """Measure `peers` on a model that exists only during the call.

    Args:
        workload: What to repack.
        peers: All peers asked for; one that cannot run is in the result with its reason.
        folder: An existing folder for everything that is written.
        scale: Share of the workload's full size in bytes.
        repeat: Number of timed runs that are kept.
        say: Told what is going on, a line at a time.
    """
    reasons = {peer.name: _reason_to_skip(peer, workload) for peer in peers}
    able = [peer for peer in peers if reasons[peer.name] is None]
    with tempfile.TemporaryDirectory(prefix=f"{workload.name}-", dir=folder) as name:
        here = Path(name)
        say(f"{workload.name}: building")
        source = _build(workload, here / "source", scale)
        tiny = _build(workload, here / "tiny", min(scale, WARM_UP_SCALE))
        source_bytes = _stored_bytes(source)
        timed = time_peers(
            able,
            FORMS[workload.form](source),
            here / "timed",
            repeat=repeat,
            say=lambda text: say(f"{workload.name}: {text}"),
        )
        measured = {}
        for result in timed:
            say(f"{workload.name}: memory of {result.peer}")
            measured[result.peer] = _with_memory(result, source, tiny, here, form=workload.form)
    absent = {name: PeerResult(name, absent=why) for name, why in reasons.items() if why}
    found = {**measured, **absent}
    ordered = tuple(found[peer.name] for peer in peers)
    return WorkloadResult(workload.name, workload.description, source_bytes, ordered)


def _reason_to_skip(peer: Peer, workload: Workload) -> str | None:
    if workload.name not in peer.workloads:
        return "not for this workload"
    return peer.absence()


def _build(workload: Workload, folder: Path, scale: float) -> Path:
    folder.mkdir()
    return workload.build(folder, scale)


def _stored_bytes(model: Path) -> int:
    files = [model, data_file_of(model)]
    return sum(os.stat(file).st_size for file in files if file.exists())


def _with_memory(
    result: PeerResult, source: Path, tiny: Path, folder: Path, *, form: str
) -> PeerResult:
    if result.failed is not None:
        return result
    with tempfile.TemporaryDirectory(prefix="memory-", dir=folder) as name:
        try:
            extra = extra_peak_bytes(result.peer, source, tiny, Path(name), form=form)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:] or [str(error)]
            return PeerResult(result.peer, failed=last[0])
    return replace(result, extra_peak_bytes=extra)

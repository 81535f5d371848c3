"""Wall times of several peers, interleaved, each into a fresh folder."""

import gc
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from onnx_align_pass.bench.peers import Peer
from onnx_align_pass.bench.results import PeerResult
from onnx_align_pass.bench.sources import Source

__all__ = ["time_peers"]


def _timed_run(peer: Peer, source: Source, folder: Path, *, durable: bool) -> float:
    """Seconds that one run takes; its destination is removed afterwards.

    Garbage and dirty pages of the run before are dealt with first: else they are billed here.
    """
    folder.mkdir()
    gc.collect()
    os.sync()
    try:
        start = time.perf_counter()
        peer.run(source, folder, durable)
        return time.perf_counter() - start
    finally:
        shutil.rmtree(folder)


class _Record:
    """The times of one peer while they are being taken."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.seconds: dict[bool, list[float]] = {False: [], True: []}
        self.failed: str | None = None

    def run(self, source: Source, folder: Path, *, durable: bool, keep: bool) -> None:
        try:
            seconds = _timed_run(self.peer, source, folder, durable=durable)
        except Exception as error:  # noqa: BLE001  a peer that breaks is a result; the others go on
            self.failed = f"{type(error).__name__}: {error}"
            return
        if keep:
            self.seconds[durable].append(seconds)

    def result(self) -> PeerResult:
        if self.failed is not None:
            return PeerResult(self.peer.name, failed=self.failed)
        buffered, durable = tuple(self.seconds[False]), tuple(self.seconds[True])
        return PeerResult(self.peer.name, buffered, durable)


def time_peers(
    peers: Sequence[Peer],
    source: Source,
    folder: Path,
    *,
    repeat: int,
    say: Callable[[str], None],
) -> list[PeerResult]:
    """Run every peer `repeat` times, without and with fsync, after one round that is not kept.

    The rounds are interleaved and each starts with another peer, so that a drift of the machine
    meets all of them.

    Args:
        peers: The peers that can run, in the order of the result.
        source: The same for all; they leave it as it is.
        folder: A path that does not exist; each run makes and removes it.
        repeat: Number of runs that are kept, for each of the two ways.
        say: Told about each round.
    """
    records = [_Record(peer) for peer in peers]
    for number in range(repeat + 1):
        say(f"round {number} of {repeat}" if number else "warm-up round")
        first = number % max(1, len(records))
        for durable in (False, True):
            for record in records[first:] + records[:first]:
                if record.failed is None:
                    record.run(source, folder, durable=durable, keep=number > 0)
    return [record.result() for record in records]

"""What a measurement is, before anyone renders it."""

from dataclasses import dataclass

__all__ = ["PeerResult", "WorkloadResult"]


@dataclass(frozen=True, slots=True)
class PeerResult:
    """Numbers of one peer on one workload, or why there are none."""

    peer: str
    buffered_seconds: tuple[float, ...] = ()
    """Wall time of each run without fsync, in the order of the runs."""
    durable_seconds: tuple[float, ...] = ()
    """Wall time of each run with fsync."""
    extra_peak_bytes: int | None = None
    """Peak resident memory over that of a warm process; None when it is not measured."""
    absent: str | None = None
    """Why the peer was not run."""
    failed: str | None = None
    """The error that stopped it."""

    @property
    def problem(self) -> str | None:
        """Why there are no numbers, in words; None when there are."""
        if self.failed is not None:
            return f"failed: {self.failed}"
        return None if self.absent is None else f"absent: {self.absent}"


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """All peers on one workload; a peer that could not run is in it too."""

    workload: str
    description: str
    source_bytes: int
    """Size of the `.onnx` and its data file as built, which `--scale` changes."""
    peers: tuple[PeerResult, ...]

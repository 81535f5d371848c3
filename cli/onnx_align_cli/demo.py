"""`onnx-align demo`: the whole thing on a model of its own, proven and measured."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from onnx_align_cli import options
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import hint, say_json
from onnx_align_pass.errors import UsageError, VerifyError
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

if TYPE_CHECKING:
    from onnx_align_pass.bench.results import PeerResult
    from onnx_align_pass.report import ModelAlignment

__all__ = ["demo"]

ALIGNMENT: Final = 4096
SMALLEST_SIDE: Final = 16
IN_MEMORY: Final = "in memory, aligned"
"""The bench's name for the way that ours is compared with."""
NEXT: Final = "onnx-align plan model.onnx, then: onnx-align align model.onnx aligned/ --verify"

Say = Callable[[str], None]
Range = tuple[Path, int, int]
"""File, offset and length of a tensor."""


def demo(
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="Where to write.", show_default="the temporary folder"
        ),
    ] = None,
    as_json: options.AsJson = False,
    side: Annotated[int, typer.Option("--side", min=SMALLEST_SIDE, hidden=True)] = 1024,
    repeat: Annotated[int, typer.Option("--repeat", min=1, hidden=True)] = 3,
) -> None:
    """Build a model of 96 MiB, repack it, prove the result, and measure time and memory.

    Needs about 400 MB of disk and some ten seconds. What it writes is removed at the end.
    """
    if directory is not None and not directory.is_dir():
        raise UsageError("--dir is not a folder", file=directory)
    with SIGNALS.held():
        for module in ("onnx_align_pass.align", "onnx_align_pass.bench.session", "onnx_ir"):
            import_module(module)
    say: Say = (lambda text: None) if as_json else hint
    with tempfile.TemporaryDirectory(prefix="onnx-align-demo-", dir=directory) as name:
        folder = Path(name)
        try:
            proof = _prove(folder, side, say)
            ours, theirs = _measure(folder, side, repeat, say)
        finally:
            SIGNALS.hold()  # what was written is removed, come what may
    SIGNALS.release()
    if as_json:
        say_json(_values(proof, [ours, theirs]))
    else:
        _show(proof, ours, theirs)


@dataclass(frozen=True, slots=True)
class _Proof:
    """A repack whose result was checked with onnx alone."""

    folder: str
    model: ModelAlignment
    tensors: int
    unaligned_before: int


def _prove(folder: Path, side: int, say: Say) -> _Proof:
    """Build, repack, and check every tensor's offset and bytes.

    Raises:
        VerifyError: A tensor is off its boundary, or has other bytes than its source.
    """
    from onnx_align_pass.align import align_file
    from onnx_align_pass.bench.workloads import build_gallery
    from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

    here = folder / "proof"
    here.mkdir()
    say(f"building a model in {printable(str(folder))}")
    source = build_gallery(here, side=side, odd=True)
    say(f"repacking it at alignment {ALIGNMENT}, with --verify")
    report = align_file(
        source,
        here / "aligned" / source.name,
        storage=StoragePolicy(size_threshold_bytes=None),
        layout=LayoutPolicy(alignment=ALIGNMENT),
        verify=True,
    )
    say("proving alignment and equality")
    model = report.models[0]
    before, after = _ranges(source), _ranges(model.destination)
    if before.keys() != after.keys():
        raise VerifyError("a tensor is missing", file=model.destination)
    for name, found in after.items():
        if found[1] % ALIGNMENT:
            raise VerifyError("it is off its boundary", tensor=name, found=f"offset {found[1]}")
        if _read(found) != _read(before[name]):
            raise VerifyError("its bytes are not its source's", tensor=name)
    unaligned = sum(offset % ALIGNMENT != 0 for _, offset, _ in before.values())
    return _Proof(str(folder), model, len(after), unaligned)


def _ranges(model: Path) -> dict[str, Range]:
    """Where each initializer's bytes are, as onnx reads the model."""
    import onnx

    ranges = {}
    for tensor in onnx.load(model, load_external_data=False).graph.initializer:
        entry = {pair.key: pair.value for pair in tensor.external_data}
        file = model.parent / entry["location"]
        ranges[tensor.name] = (file, int(entry["offset"]), int(entry["length"]))
    return ranges


def _read(where: Range) -> bytes:
    file, offset, length = where
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(length)


def _measure(folder: Path, side: int, repeat: int, say: Say) -> tuple[PeerResult, PeerResult]:
    """Measure ours and the in-memory way on the same model, as the bench does."""
    from onnx_align_pass.bench.peers import OURS, PEERS
    from onnx_align_pass.bench.session import measure_workload
    from onnx_align_pass.bench.workloads import Workload, build_gallery

    def build(place: Path, scale: float) -> Path:
        scaled = max(SMALLEST_SIDE, round(side * math.sqrt(scale)))
        return build_gallery(place, side=scaled, odd=True)

    # The bench knows by this name which peers can do it.
    workload = Workload("gallery", "the model of the demo", build)
    peers = [PEERS[OURS], PEERS[IN_MEMORY]]
    result = measure_workload(
        workload,
        peers,
        folder,
        scale=1.0,
        repeat=repeat,
        say=lambda text: say(text.removeprefix(f"{workload.name}: ")),
    )
    ours, theirs = result.peers
    return ours, theirs


def _values(proof: _Proof, results: list[PeerResult]) -> dict[str, Any]:
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


def _show(proof: _Proof, ours: PeerResult, theirs: PeerResult) -> None:
    from onnx_align_cli.show import Column, show_facts, show_table

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


def _facts(proof: _Proof) -> Iterator[tuple[str, str]]:
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

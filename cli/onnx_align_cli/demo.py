"""`onnx-align demo`: the whole thing on a model of its own, proven and measured."""

from __future__ import annotations

import math
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onnx_align_cli import options
from onnx_align_cli.proof import Say, prove
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import hint, say_json
from onnx_align_pass.errors import UsageError

if TYPE_CHECKING:
    from onnx_align_pass.bench.results import PeerResult

__all__ = ["demo"]

SMALLEST_SIDE: Final = 16
IN_MEMORY: Final = "in memory, aligned"
"""The bench's name for the way that ours is compared with."""
HEAVY: Final = ("onnx_align_pass.align", "onnx_align_pass.bench.session", "onnx_ir")


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
    Example: onnx-align demo --dir /mnt/disk
    """
    if directory is not None and not directory.is_dir():
        raise UsageError(
            "--dir is not a folder", file=directory, hint="Make it first, or leave --dir out."
        )
    with SIGNALS.held():
        for module in HEAVY:
            import_module(module)
        from onnx_align_cli.show_demo import demo_values, show_demo
    say: Say = (lambda text: None) if as_json else hint
    with tempfile.TemporaryDirectory(prefix="onnx-align-demo-", dir=directory) as name:
        folder = Path(name)
        try:
            proof = prove(folder, side, say)
            ours, theirs = _measure(folder, side, repeat, say)
        finally:
            SIGNALS.hold()  # what was written is removed, come what may
    SIGNALS.release()
    if as_json:
        say_json(demo_values(proof, [ours, theirs]))
    else:
        show_demo(proof, ours, theirs)


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

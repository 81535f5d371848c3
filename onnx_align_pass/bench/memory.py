"""Extra peak memory of one peer, in a process of its own: `python -m onnx_align_pass.bench.memory`.

The child first does the same work on a tiny model, so that imports and allocator pools are not
counted, then makes what it is to be given, resets its high-water mark (`clear_refs` in proc(5)) and
does the real work: what it was given is not counted either.
"""

import contextlib
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

from onnx_align_pass.bench.peers import PEERS
from onnx_align_pass.bench.sources import FILE, FORMS

__all__ = ["extra_peak_bytes"]

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")


def extra_peak_bytes(
    peer: str, source: Path, tiny: Path, folder: Path, *, form: str = FILE
) -> int | None:
    """Bytes by which the peak of a child rises over its warm state while it does the work.

    Args:
        peer: Name of a peer that can run.
        source: The `.onnx` that the work starts from.
        tiny: The same kind of model, small, for the warm-up.
        folder: An existing folder that the child may write to.
        form: What both are made into before; a name in `FORMS`.

    Returns:
        The bytes; None where the system has no VmHWM, or the peer's work is in another process.

    Raises:
        subprocess.CalledProcessError: The peer failed; its standard error is in the exception.
    """
    if peer == "cp" or not STATUS.exists():
        return None
    module_path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-m", __name__, peer, form, source, tiny, folder],
        env={**os.environ, "PYTHONPATH": module_path},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(json.loads(done.stdout))


def _high_water_bytes() -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no VmHWM in {STATUS}")


def _reset_high_water() -> None:
    gc.collect()
    with contextlib.suppress(OSError):  # refused in some sandboxes: the mark then starts higher
        CLEAR_REFS.write_text("5")


def _measure(peer: str, form: str, source: Path, tiny: Path, folder: Path) -> int:
    run, make = PEERS[peer].run, FORMS[form]
    warm, real = folder / "warm", folder / "real"
    warm.mkdir()
    real.mkdir()
    run(make(tiny), warm, True)
    given = make(source)
    _reset_high_water()
    before = _high_water_bytes()
    run(given, real, True)
    return _high_water_bytes() - before


if __name__ == "__main__":
    peer_name, form_name, *paths = sys.argv[1:]
    print(json.dumps(_measure(peer_name, form_name, *map(Path, paths))))

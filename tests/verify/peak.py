"""Extra peak memory of a comparison and a digest: `python -m tests.verify.peak ONE OTHER TINY`.

Prints the bytes by which the peak rose over the warm process, for each; then whether 32 MiB more in
memory would have been seen.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from onnx_align_pass.digesting import digest_of
from onnx_align_pass.verifying import verify_file

SEEN = 32 << 20


def high_water_bytes() -> int:
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in one]
    return int(line.split()[1]) * 1024


def reset() -> int:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark: proc(5)
    return high_water_bytes()


def main(one: Path, other: Path, tiny: Path) -> None:
    verify_file(tiny, against=tiny.with_name("copy.onnx"), with_digest=True)
    before = reset()
    (model,) = verify_file(one, against=other).models
    compared = high_water_bytes() - before
    before = reset()
    digest_of(one)
    hashed = high_water_bytes() - before
    before = reset()
    held = b"x" * SEEN
    seen = high_water_bytes() - before >= len(held) // 2
    sys.stdout.write(json.dumps([model.ok, model.bytes_compared, compared, hashed, seen]))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

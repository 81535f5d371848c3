"""Extra peak memory of one save of a torch program: `python -m tests.integration.peak FOLDER`.

Prints the bytes of one weight, of all, and those by which the peak rose over the warm process that
holds the program; then whether two weights more in memory would have been seen.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from onnx_align_pass.hooks.torch import save_program
from onnx_align_pass.policy import StoragePolicy

WIDTH, LAYERS = 2048, 12
WEIGHT_BYTES = WIDTH * WIDTH * 4


def exported(width: int, layers: int) -> Any:
    model = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(layers))).eval()
    return torch.onnx.export(
        model, (torch.zeros(1, width),), dynamo=True, optimize=False, verbose=False
    )


def high_water_bytes() -> int:
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in one]
    return int(line.split()[1]) * 1024


def main(folder: Path) -> None:
    program = exported(WIDTH, LAYERS)
    save_program(exported(64, 2), folder / "warm.onnx", storage=StoragePolicy(0))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark: proc(5)
    before = high_water_bytes()
    save_program(program, folder / "model.onnx")
    extra = high_water_bytes() - before
    held = b"x" * (2 * WEIGHT_BYTES)
    seen = high_water_bytes() - before >= len(held) - WEIGHT_BYTES // 4
    sys.stdout.write(json.dumps([WEIGHT_BYTES, WEIGHT_BYTES * LAYERS, extra, seen]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

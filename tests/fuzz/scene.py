"""What `align_file` is let loose on: a model of any bytes, data beside it, traps around it."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path

from tests.corpus.build import external, showing, tensor, write

__all__ = ["DATA_BYTES", "MODEL", "NAMES", "build", "disarm"]

MODEL = "model.onnx"
NAMES = ("model.onnx.data", "second.data", "below/third.data")
"""Data files that a model may point at."""
DATA_BYTES = 20_000


@cache
def data(name: str) -> bytes:
    """Random bytes, in which some blocks come again and some are zero, in all files alike."""
    block = random.Random(0).randbytes(4096)
    rest = random.Random(name).randbytes(DATA_BYTES - 3 * 4096)
    return block + bytes(4096) + rest[:100] + block + rest[100:]


def build(root: Path, model: bytes, *, neighbour: bool) -> Path:
    """Write the scene into an empty folder.

    Args:
        root: The folder.
        model: Bytes of the model file.
        neighbour: Whether another model points at `second.data` too.

    Returns:
        Path of the model.
    """
    folder, outside = root / "folder", root / "outside"
    for one in (folder / "below", folder / "folder", outside, root / "result"):
        one.mkdir(parents=True)
    (outside / "secret").write_bytes(data("secret"))
    for name in NAMES:
        (folder / name).write_bytes(data(name))
    (folder / "link.data").symlink_to("../outside/secret")
    os.mkfifo(folder / "pipe.data")
    (folder / "README.md").write_text("not a model\n")
    if neighbour:
        write(folder, showing([external(tensor("z", [60]), folder, "second.data")]), "other.onnx")
    path = folder / MODEL
    path.write_bytes(model)
    return path


def disarm(root: Path) -> None:
    """Take out what would hold a plain reader up."""
    (root / "folder" / "pipe.data").unlink()

"""The ways in which a caller may spell a model's path."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["SPELLINGS", "spelled"]

SPELLINGS = ("absolute", "bare", "dot", "relative", "up", "double")
"""`/tmp/x/m.onnx`, `m.onnx`, `./m.onnx`, `x/m.onnx`, `../x/m.onnx`, `/tmp//x/m.onnx`."""


@contextlib.contextmanager
def spelled(path: Path, how: str) -> Iterator[str]:
    """The path as a text, in a working directory for which it is right."""
    path = path.absolute()
    folder, name = path.parent, path.name
    texts = {
        "absolute": (Path.cwd(), str(path)),
        "bare": (folder, name),
        "dot": (folder, f"./{name}"),
        "relative": (folder.parent, f"{folder.name}/{name}"),
        "up": (folder, f"../{folder.name}/{name}"),
        "double": (Path.cwd(), f"{folder.parent}//{folder.name}/{name}"),
    }
    where, text = texts[how]
    with contextlib.chdir(where):
        yield text

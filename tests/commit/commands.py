"""What people type, on a folder with a model in it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["READING", "WRITING", "commands"]

READING = {
    "inspect": ["inspect", "source/model.onnx"],
    "inspect_folder": ["inspect", "source", "--json"],
    "plan": ["plan", "source/model.onnx"],
    "verify": ["verify", "source/model.onnx"],
    "verify_against": ["verify", "source/model.onnx", "--against", "source/model.onnx"],
    "prune": ["prune", "source/model.onnx", "--dry-run"],
}
WRITING = {
    "align": ["align", "source/model.onnx", "new.onnx", "--verify"],
    "in_place": ["align", "source/model.onnx", "--in-place"],
    "folder": ["align", "source", "copy"],
    "repair": ["repair", "source/model.onnx", "mended.onnx"],
    "rename": ["rename", "source/model.onnx", "source/other.onnx"],
    "inline": ["inline", "source/other.onnx", "--in-place"],
    "recover": ["recover", "source"],
}


def commands(root: Path) -> list[list[str]]:
    """Every command, on paths below a folder; those later in the list go on from those before."""
    return [absolute(one, root) for one in (*READING.values(), *WRITING.values())]


def absolute(arguments: list[str], root: Path) -> list[str]:
    """The same with paths below a folder."""
    return [
        str(root / one) if "/" in one or one.endswith(".onnx") or one in ("source", "copy") else one
        for one in arguments
    ]

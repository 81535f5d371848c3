"""What the model of a workload is made into before a peer gets it, outside of what is measured.

Imports are inside the functions: a process pays only for what it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["FILE", "FORMS", "Source"]

Source: TypeAlias = "Path | ir.Model"
"""A `.onnx` to repack, or a model to save."""

FILE = "file"


def _file(path: Path) -> Source:
    return path


def _model_in_memory(path: Path) -> Source:
    """The model with each weight in an array of its own."""
    import onnx_ir as ir

    return ir.external_data.load_to_model(ir.load(path))


def _model_external(path: Path) -> Source:
    """The model with its weights left on the disk."""
    import onnx_ir as ir

    return ir.load(path)


FORMS: dict[str, Callable[[Path], Source]] = {
    FILE: _file,
    "model in memory": _model_in_memory,
    "model external": _model_external,
}
"""By name, since a process of its own is told which."""

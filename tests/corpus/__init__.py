"""The corpus: models that are valid however odd, models that are bad, and an oracle.

Depends on onnx and numpy (and onnxruntime to run models), never on the project itself.
"""

from __future__ import annotations

from . import (
    attributes,
    bad_entries,
    bad_files,
    bad_paths,
    dtypes,
    entries,
    naming,
    places,
    places_on_disk,
    ranges,
    sparse,
    unknown,
    values,
    wire_models,
    wire_tensors,
)
from .case import BadCase, Case

__all__ = ["BAD", "CASES", "BadCase", "Case"]

_ROOMS = (
    places,
    attributes,
    values,
    dtypes,
    sparse,
    ranges,
    entries,
    naming,
    places_on_disk,
    unknown,
    wire_tensors,
    wire_models,
)

CASES: dict[str, Case] = {name: case for room in _ROOMS for name, case in room.CASES.items()}
"""Every valid model, by name."""

_BAD_ROOMS = (bad_files, bad_entries, bad_paths)

BAD: dict[str, BadCase] = {name: case for room in _BAD_ROOMS for name, case in room.BAD.items()}
"""Every model that must be refused, by name."""

assert len(BAD) == sum(len(room.BAD) for room in _BAD_ROOMS), "two bad cases have one name"
assert len(CASES) == sum(len(room.CASES) for room in _ROOMS), "two cases have one name"

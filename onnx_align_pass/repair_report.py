"""What a repair found and did, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass.findings import Finding
from onnx_align_pass.printable import printable
from onnx_align_pass.report import SCHEMA_VERSION, ModelAlignment

__all__ = ["Repair", "RepairReport"]


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that is put right."""

    code: str
    """What kind it is, in small letters and hyphens: `length-too-long`, `data-named` ..."""
    problem: str
    """What is wrong, in a few words."""
    tensor: str
    before: str
    after: str

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "code": self.code,
            "problem": self.problem,
            "tensor": printable(self.tensor),
            "before": printable(self.before),
            "after": printable(self.after),
        }


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What is wrong with a model, and what was done about it."""

    source: Path
    repairs: tuple[Repair, ...]
    """What was put right; where nothing was written, what would be."""
    remaining: tuple[Finding, ...] = ()
    """What cannot be put right: while there is any, nothing is written."""
    written: ModelAlignment | None = None
    """The new model; None where nothing was written."""
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong with the model as it is."""
        return not (self.repairs or self.remaining)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "source": printable(str(self.source)),
            "repairs": [one.to_json() for one in self.repairs],
            "remaining": [one.to_json() for one in self.remaining],
            "written": None if self.written is None else self.written.to_json(),
            "notes": [printable(note) for note in self.notes],
        }

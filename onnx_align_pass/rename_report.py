"""What a rename did, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onnx_align_pass.printable import printable
from onnx_align_pass.report import SCHEMA_VERSION

__all__ = ["How", "RenameReport", "RenamedFile"]

How = Literal["renamed", "cloned", "copied", "rewritten", "kept"]
"""What became of a file: another name for the same bytes on the disk; blocks that are shared until
one of them changes; a copy; a model with other locations; nothing."""


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """A data file of the model."""

    before: str
    """Relative to the old model's folder."""
    after: str
    """Relative to the new model's folder."""
    nbytes: int
    how: How

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "before": printable(self.before),
            "after": printable(self.after),
            "bytes": self.nbytes,
            "how": self.how,
        }


@dataclass(frozen=True, slots=True)
class RenameReport:
    """What was done to a model and its data. Sizes are bytes."""

    source: Path
    destination: Path
    how: How
    """What became of the model file itself."""
    model_bytes: int
    data_files: tuple[RenamedFile, ...]
    removed: tuple[str, ...] = ()
    """Data files of a model that was replaced, which nothing uses any more."""
    resumed: bool = False
    """A run that was killed had done a part of it; what it left to do was done."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "source": printable(str(self.source)),
            "destination": printable(str(self.destination)),
            "how": self.how,
            "model_bytes": self.model_bytes,
            "data_files": [one.to_json() for one in self.data_files],
            "removed": [printable(name) for name in self.removed],
            "resumed": self.resumed,
            "notes": [printable(note) for note in self.notes],
            "seconds": round(self.seconds, 6),
        }

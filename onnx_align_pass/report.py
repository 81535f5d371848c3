"""What a run did, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.printable import printable

__all__ = ["SCHEMA_VERSION", "AlignReport", "DataFile", "ModelAlignment"]

SCHEMA_VERSION: Final = 1
"""Of every object that a report, a plan or `--json` is given out as."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that a run wrote."""

    name: str
    """Relative to the model's folder."""
    nbytes: int


@dataclass(frozen=True, slots=True)
class ModelAlignment:
    """What a run did to one model. Sizes are bytes."""

    source: Path
    destination: Path
    data_files: tuple[DataFile, ...]
    external_tensors: int
    inline_tensors: int
    tensor_bytes: int
    """Bytes of external tensors; a range that several share counts once."""
    padding_bytes: int
    model_bytes: int
    """Size of the .onnx file."""
    header_bytes: int = 0
    """Bytes of the headers of safetensors files."""
    referenced_tensors: int = 0
    """External tensors of data files that were left as they are: those that a variant shares."""
    unchanged: bool = False
    """The model lay as asked already: nothing was written."""
    removed: tuple[str, ...] = ()
    """Data files of the old model that nothing uses any more."""
    verified: bool = False
    """Every byte that was written was read back and compared with its source."""
    moved: dict[str, int] = field(default_factory=dict)
    """Bytes by the way they were copied."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def data_bytes(self) -> int:
        """Bytes of all data files."""
        return sum(file.nbytes for file in self.data_files)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "source": printable(str(self.source)),
            "destination": printable(str(self.destination)),
            "data_files": [
                {"name": printable(file.name), "bytes": file.nbytes} for file in self.data_files
            ],
            "external_tensors": self.external_tensors,
            "inline_tensors": self.inline_tensors,
            "referenced_tensors": self.referenced_tensors,
            "tensor_bytes": self.tensor_bytes,
            "padding_bytes": self.padding_bytes,
            "header_bytes": self.header_bytes,
            "model_bytes": self.model_bytes,
            "unchanged": self.unchanged,
            "removed": [printable(name) for name in self.removed],
            "verified": self.verified,
            "moved": self.moved,
            "notes": [printable(note) for note in self.notes],
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True)
class AlignReport:
    """What a run did: one entry a model."""

    models: tuple[ModelAlignment, ...]
    carried: tuple[str, ...] = ()
    """Other files of a folder that were copied as they are, relative to it."""

    @property
    def data_bytes(self) -> int:
        """Bytes of all data files of all models."""
        return sum(model.data_bytes for model in self.models)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of external tensors of all models."""
        return sum(model.tensor_bytes for model in self.models)

    @property
    def padding_bytes(self) -> int:
        """Bytes of padding of all models."""
        return sum(model.padding_bytes for model in self.models)

    @property
    def seconds(self) -> float:
        """Wall time."""
        return sum(model.seconds for model in self.models)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "models": [model.to_json() for model in self.models],
            "carried": [printable(name) for name in self.carried],
            "totals": {
                "models": len(self.models),
                "data_bytes": self.data_bytes,
                "tensor_bytes": self.tensor_bytes,
                "padding_bytes": self.padding_bytes,
                "seconds": round(self.seconds, 6),
            },
        }

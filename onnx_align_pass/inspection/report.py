"""What a look at a model found, as values: its files, its tensors, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from onnx_align_pass.findings import Finding
from onnx_align_pass.printable import printable

__all__ = [
    "MAX_ALIGNMENT",
    "Amount",
    "DataFileReport",
    "Duplicate",
    "ModelReport",
    "PresetReport",
    "Range",
    "RangeKind",
    "TensorReport",
]

MAX_ALIGNMENT: Final = 1 << 16
"""Larger alignments are counted as this one: no consumer asks for more."""
RangeKind = Literal["tensor", "padding", "dead", "header"]


class Amount(NamedTuple):
    """So many tensors, of so many bytes."""

    tensors: int = 0
    nbytes: int = 0

    def to_json(self) -> dict[str, int]:
        """Return plain values for `json.dumps`."""
        return {"tensors": self.tensors, "bytes": self.nbytes}


_NONE: Final = Amount()


class Range(NamedTuple):
    """Bytes of a data file, and what they are."""

    offset: int
    length: int
    kind: RangeKind
    tensor: int | None = None
    """Index of the tensor whose they are; of tied ones the first."""


@dataclass(frozen=True, slots=True)
class DataFileReport:
    """A data file as the model's tensors divide it. All sizes are bytes."""

    name: str
    """Relative to the model's folder."""
    nbytes: int | None
    """None where the file is missing, or may not be read."""
    format: Literal["raw", "safetensors"]
    live_bytes: int
    """Bytes of tensors, each once."""
    padding_bytes: int
    """Zeros in front of a boundary, and what a safetensors header declares to be padding."""
    dead_bytes: int
    """Bytes of no tensor of this model, and no padding."""
    header_bytes: int
    """The header of a safetensors file; what a model is besides, where it is its own data file."""
    tensors: int
    links: int | None
    """Names that the file has on the disk."""
    shared_with: tuple[str, ...]
    """Other models that point at it."""
    alignment: Mapping[int, int]
    """Tensors by the largest power of two that their offset is a multiple of, up to 64 KiB."""
    ranges: tuple[Range, ...]
    """In order, all of the file; those of tensors that overlap do so here."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "name": printable(self.name),
            "bytes": self.nbytes,
            "format": self.format,
            "live_bytes": self.live_bytes,
            "padding_bytes": self.padding_bytes,
            "dead_bytes": self.dead_bytes,
            "header_bytes": self.header_bytes,
            "tensors": self.tensors,
            "links": self.links,
            "shared_with": [printable(one) for one in self.shared_with],
            "alignment": _histogram(self.alignment),
            "ranges": [list(one) for one in self.ranges],
        }


class TensorReport(NamedTuple):
    """One tensor; what cannot be known of it is None."""

    name: str
    place: str
    kind: str
    """What it hangs on: `initializer`, `attribute`, `sparse` or `training`."""
    dtype: str
    shape: tuple[int, ...]
    nbytes: int | None
    file: str | None
    """Its data file, as far as the model names one; None where it is inline."""
    offset: int | None = None
    length: int | None = None
    alignment: int | None = None
    """The largest power of two that its offset is a multiple of, up to 64 KiB."""
    tied_to: int | None = None
    """Index of the first tensor of the same range."""
    same_as: int | None = None
    """Index of the first tensor of the same bytes in another range."""
    findings: tuple[int, ...] = ()
    """Indices into the model's findings."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "name": printable(self.name),
            "place": self.place,
            "kind": self.kind,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "bytes": self.nbytes,
            "file": None if self.file is None else printable(self.file),
            "offset": self.offset,
            "length": self.length,
            "alignment": self.alignment,
            "tied_to": self.tied_to,
            "same_as": self.same_as,
            "findings": list(self.findings),
        }


class Duplicate(NamedTuple):
    """Tensors of equal dtype, size and bytes in ranges of their own."""

    nbytes: int
    """Of each of them."""
    tensors: tuple[int, ...]
    """Their indices; of tied ones the first."""

    @property
    def wasted_bytes(self) -> int:
        """Bytes that would be saved if they were stored once."""
        return self.nbytes * (len(self.tensors) - 1)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {"bytes": self.nbytes, "tensors": list(self.tensors)}


class PresetReport(NamedTuple):
    """Whether a model lies already as a preset asks."""

    name: str
    why_not: str | None
    """The first thing that does not, in words; None where all does."""
    breaches: int
    """How many such things there are."""
    experimental: bool

    @property
    def satisfied(self) -> bool:
        """Whether nothing is left to do."""
        return self.why_not is None

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "name": self.name,
            "satisfied": self.satisfied,
            "why_not": self.why_not,
            "breaches": self.breaches,
            "experimental": self.experimental,
        }


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model and its data files as they are. Nothing was written, and nothing refused."""

    model: Path
    model_bytes: int
    """Size of the .onnx file."""
    findings: tuple[Finding, ...] = ()
    inline: Amount = _NONE
    """Weights inside the .onnx file."""
    external: Amount = _NONE
    """Weights in data files; its bytes are each range once."""
    mappings: int = 0
    """Ranges that onnxruntime maps: one for each external tensor that has bytes."""
    dtypes: Mapping[str, Amount] = field(default_factory=dict)
    alignment: Mapping[int, int] = field(default_factory=dict)
    """External tensors by the largest power of two that their offset is a multiple of, up to
    64 KiB."""
    files: tuple[DataFileReport, ...] = ()
    tensors: tuple[TensorReport, ...] = ()
    """In declaration order."""
    tied: tuple[tuple[int, ...], ...] = ()
    """Indices of tensors that have one range together."""
    duplicates: tuple[Duplicate, ...] = ()
    presets: tuple[PresetReport, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str | None = None
    """Of all that the model means, where it was asked for: see `digest_of`."""
    is_readable: bool = True
    """False for what is no model: `findings` says why, and all else is empty."""

    def misaligned(self, alignment: int) -> int:
        """External tensors that do not start on a boundary of up to 64 KiB."""
        return sum(count for known, count in self.alignment.items() if known < alignment)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "model": printable(str(self.model)),
            "readable": self.is_readable,
            "model_bytes": self.model_bytes,
            "digest": self.digest,
            "inline": self.inline.to_json(),
            "external": {**self.external.to_json(), "mappings": self.mappings},
            "dtypes": {name: amount.to_json() for name, amount in self.dtypes.items()},
            "alignment": _histogram(self.alignment),
            "files": [one.to_json() for one in self.files],
            "tensors": [one.to_json() for one in self.tensors],
            "tied": [list(one) for one in self.tied],
            "duplicates": [one.to_json() for one in self.duplicates],
            "presets": [one.to_json() for one in self.presets],
            "findings": [one.to_json() for one in self.findings],
            "notes": [printable(one) for one in self.notes],
        }


def _histogram(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(alignment): counts[alignment] for alignment in sorted(counts)}

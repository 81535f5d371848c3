"""The plan: for each tensor, the bytes that it will have. A frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from onnx_align_pass.tensors import TensorRequest

__all__ = ["LayoutPlan", "Placement", "PlannedFile", "with_names"]


class Placement(NamedTuple):
    """The range that one tensor will have in a data file. All numbers are bytes."""

    request: TensorRequest
    file: str
    """Name of the data file, relative to the model's folder."""
    offset: int
    length: int
    alignment: int
    padding: int
    """Bytes of the gap before it; a file's header is none."""
    tied_to: str | None = None
    """Place of the tensor that this one shares its range with."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One data file of the result."""

    name: str
    size: int
    """Bytes, with the header, and the padding at its end where the policy asks for it."""
    header: bytes = field(default=b"", repr=False)
    """What the file begins with, if it is a safetensors file."""


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """What a run will do, before it does anything."""

    files: tuple[PlannedFile, ...]
    placements: tuple[Placement, ...]
    """External tensors, in declaration order."""
    inline: tuple[TensorRequest, ...]
    """Tensors that are inline in the result, in declaration order."""
    notes: tuple[str, ...] = ()
    """What a person should know of the source: derived lengths, dropped keys, hazards."""
    tensor_bytes: int = field(init=False)
    """Bytes of tensors in the data files, each range once."""

    def __post_init__(self) -> None:
        written = sum([one.length for one in self.placements if one.tied_to is None])
        object.__setattr__(self, "tensor_bytes", written)

    @property
    def total_bytes(self) -> int:
        """Bytes of all data files."""
        return sum(file.size for file in self.files)

    @property
    def header_bytes(self) -> int:
        """Bytes of the headers of safetensors files."""
        return sum(len(file.header) for file in self.files)

    @property
    def padding_bytes(self) -> int:
        """Bytes of the data files that belong to no tensor and no header."""
        return self.total_bytes - self.tensor_bytes - self.header_bytes

    def renamed(self, names: Mapping[str, str]) -> LayoutPlan:
        """The same with other names for the data files."""
        files = tuple(replace(one, name=names[one.name]) for one in self.files)
        return replace(self, files=files, placements=with_names(self.placements, names))


def with_names(placements: Iterable[Placement], names: Mapping[str, str]) -> tuple[Placement, ...]:
    """The same placements, in data files of other names."""
    return tuple(one._replace(file=names[one.file]) for one in placements)

"""The data files of a model: found where it says, or where the user says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import onnx

from onnx_align_pass.errors import ExternalDataError, ModelError, UnsafeDataFileError
from onnx_align_pass.findings import Finding
from onnx_align_pass.mending.entries import entry_of
from onnx_align_pass.mending.named import Given, Location, assigned
from onnx_align_pass.mending.near import advice, near
from onnx_align_pass.model.skeleton import Skeleton
from onnx_align_pass.model.sources import location_of
from onnx_align_pass.repair_report import Repair
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["DataFiles"]

Tensors = Iterable[tuple[TensorFacts, onnx.TensorProto]]


class DataFiles:
    """Every location of a model, with the file that it stands for.

    Args:
        skeleton: The model. A location that the user has named a file for leads there from then on.
        files: Opens the data files; one that was named is trusted, wherever it is.
        outside: The model's external tensors.
    """

    def __init__(self, skeleton: Skeleton, files: SourceFiles, outside: Tensors) -> None:
        self._skeleton = skeleton
        self._files = files
        self._tensors: dict[Location, list[TensorFacts]] = {}
        self._wrong: dict[Location, ModelError] = {}
        for facts, tensor in outside:
            location = _location(tensor)
            if not facts.nbytes or not (location or entry_of(tensor, "offset")):
                continue  # nothing is to be found, or nothing says where in the file it would be
            if location not in self._tensors:
                self._look(location, facts, tensor)
            self._tensors.setdefault(location, []).append(facts)

    def _look(self, location: Location, facts: TensorFacts, tensor: onnx.TensorProto) -> None:
        try:
            name = location_of(facts.slot, tensor, self._skeleton.path)[1]
            self._files.size(self._skeleton.data_path(name), tensor=facts.slot.name)
        except ModelError as error:
            self._wrong[location] = error.as_value()

    def name(self, given: Given) -> list[Repair]:
        """Take the data files that the user named.

        Raises:
            UsageError: One may stand for several locations, or for none.
            ExternalDataError: One is missing, or is no regular file.
        """
        named = assigned(given, list(self._tensors), list(self._wrong))
        return [self._take(location, path) for location, path in named.items()]

    def _take(self, location: Location, path: Path) -> Repair:
        first = self._tensors[location][0].slot.name
        self._files.trust(path)
        self._files.size(path, tensor=first)
        self._skeleton.homes[cast(str, location)] = (str(path), path)
        wrong = self._wrong.pop(location, None)
        problem = "another file was named" if wrong is None else wrong.problem
        return Repair("data-named", problem, first, _shown(location), str(path))

    def has(self, tensor: onnx.TensorProto) -> bool:
        """Whether a tensor's location leads to a file, or is not one that could be named."""
        return _location(tensor) not in self._wrong

    def faults(self) -> list[Finding]:
        """The locations that lead to no file, each once, with what the user may do."""
        alone = len(self._wrong) == 1
        return [self._fault(location, error, alone) for location, error in self._wrong.items()]

    def _fault(self, location: Location, error: ModelError, alone: bool) -> Finding:
        tensors = self._tensors[location]
        found = near(location, self._skeleton.path.parent)
        count = "" if len(tensors) == 1 else f"; {len(tensors):,} tensors lie in it"
        kind = UnsafeDataFileError if isinstance(error, UnsafeDataFileError) else ExternalDataError
        told = kind(
            f"{error.problem}{count}",
            tensor=tensors[0].slot.name,
            file=error.file,
            needed=error.needed,
            found=error.found if found is None or str(found) == error.file else self._beside(found),
            hint=advice(location, found, alone=alone),
            code=error.code,
        )
        return Finding(told.code, "error", told)

    def _beside(self, found: Path) -> str:
        return f"{found.relative_to(self._skeleton.path.parent)} in the model's folder"


def _location(tensor: onnx.TensorProto) -> Location:
    return entry_of(tensor, "location") or ""


def _shown(location: Location) -> str:
    return location if isinstance(location, str) else repr(location)

"""Where the bytes of an ir.Model's tensors are: ranges of files, or made when they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx_ir as ir

from onnx_align_pass.errors import ExternalDataError, TensorError, UnsafeDataFileError
from onnx_align_pass.ir.collected import Collected
from onnx_align_pass.ir.stored import NumbersInFile, StoredTensor, external_part
from onnx_align_pass.ir.tensor_bytes import TensorBytes
from onnx_align_pass.spans import MAX_FILE_BYTES, FileSpan, Source
from onnx_align_pass.tensors import TensorFacts, TensorRequest
from onnx_align_pass.transfer.ahead import Ahead
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["ModelSources", "open_model_sources", "span_of"]


@contextmanager
def open_model_sources(collected: tuple[Collected, ...]) -> Iterator[SourceFiles]:
    """Open the files that a model's external tensors lie in; each must stay in its base folder."""
    tensors = [one.held.tensor for one in collected]
    external = [one for one in map(external_part, tensors) if one is not None]
    numbers = [one.raw for one in tensors if isinstance(one, ir.LazyTensor)]
    lazies = [one for one in numbers if isinstance(one, NumbersInFile)]
    stored = [one for one in external if isinstance(one, StoredTensor)]
    origins = {one.origin for one in stored}
    models = {one.model for one in origins} | {one.decoded.file for one in lazies}
    roots = {Path.cwd() / base for base in {os.fspath(one.base_dir) for one in external}}
    roots |= {root for one in origins for root in one.roots}
    owners = {one.owner_uid for one in origins}
    owner = owners.pop() if len(owners) == 1 else None
    allowed = bool(origins) and all(one.allow_hard_links for one in origins)
    with SourceFiles(
        roots=tuple(sorted(roots)), owner_uid=owner, allow_hard_links=allowed
    ) as files:
        for model in models:
            files.trust(model)
        for one in stored:
            one.expect_in(files)
        for lazy in lazies:
            files.expect(lazy.decoded.file, lazy.identity)
        yield files


class ModelSources:
    """Where tensors' bytes are; the very same source for the same bytes, which ties tensors.

    Args:
        files: The files of the model's external tensors.
        folder: Of the model to be: data files in it have a name there.
        ahead: Makes tensors that are not in files ahead of their writing.
    """

    def __init__(self, files: SourceFiles, folder: Path, ahead: Ahead | None) -> None:
        self._files = files
        self._folder = folder
        self._ahead = ahead
        self._paths: dict[tuple[str, str], Path] = {}
        """By base folder and location: thousands of tensors lie in one file."""
        self._homes: dict[Path, str | None] = {}
        self._spans: dict[tuple[str, str, int, int], FileSpan] = {}
        self._of: dict[int, Source] = {}

    @property
    def read(self) -> frozenset[Path]:
        """Files that the tensors are read from."""
        return frozenset(self._paths.values())

    def span(self, one: Collected) -> FileSpan:
        """The range of a file that a tensor is, checked against the file.

        Raises:
            ModelError: It cannot be followed.
        """
        tensor = external_part(one.held.tensor)
        assert tensor is not None, "only external tensors are spans"
        named = os.fspath(tensor.base_dir), os.fspath(tensor.location)
        path = self._paths.get(named)
        if path is None:
            path = self._paths[named] = span_of(one.facts, tensor).path
            _check_base(one.facts, tensor, path)
        span = span_of(one.facts, tensor, path)
        self._files.check(span, one.facts.slot.name)
        return self._spans.setdefault((*named, span.offset, span.length), span)

    def request(self, one: Collected) -> TensorRequest:
        """A tensor with its bytes. Raises what `span` raises."""
        tensor = one.held.tensor
        assert tensor is not None, "its facts are known"
        if one.facts.nbytes == 0:
            return TensorRequest(one.facts, None, one.decision)
        source = self._of.get(id(tensor))
        if source is None:
            source = self._source(one, tensor)
            self._of[id(tensor)] = source
        home = None
        if isinstance(source, FileSpan) and one.facts.is_external:
            home = self._home(source.path)
        return TensorRequest(one.facts, source, one.decision, "in memory", home)

    def _home(self, path: Path) -> str | None:
        """The name that a data file of the destination's folder has there."""
        if path not in self._homes:
            inside = path.is_relative_to(self._folder)
            self._homes[path] = path.relative_to(self._folder).as_posix() if inside else None
        return self._homes[path]

    def _source(self, one: Collected, tensor: ir.TensorProtocol) -> Source:
        if external_part(tensor) is not None:
            return self.span(one)
        made = TensorBytes(tensor, one.facts)
        return made if self._ahead is None else self._ahead.wrap(made)


def _check_base(facts: TensorFacts, tensor: ir.ExternalTensor, path: Path) -> None:
    """Prove that a file is inside the tensor's own base folder, whatever other tensors have."""
    bases = tensor.origin.roots if isinstance(tensor, StoredTensor) else (Path(tensor.base_dir),)
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(os.path.realpath(base)) for base in bases):
        raise UnsafeDataFileError(
            "the data file leads out of its base folder",
            tensor=facts.slot.name,
            file=path,
            found=str(real),
            hint="Put the file itself into the folder.",
        )


def span_of(facts: TensorFacts, tensor: ir.ExternalTensor, path: Path | None = None) -> FileSpan:
    """The range of a file that an external tensor is.

    Args:
        facts: The tensor's.
        tensor: Its location is relative to its base folder, and must stay in it.
        path: Of the file, where that is known and was checked.

    Raises:
        TensorError: The range is not as long as element type and shape need.
        ExternalDataError: It was invalidated, or its location leaves the base folder.
    """
    location = os.fspath(tensor.location)
    if not tensor.valid():
        raise ExternalDataError(
            "the external tensor was invalidated: its file has been overwritten",
            tensor=facts.slot.name,
            file=str(tensor.path),
            hint="Load the model again.",
        )
    if path is None and _leads_out(location):
        raise UnsafeDataFileError(
            "its location is not a relative path inside its base folder",
            tensor=facts.slot.name,
            found=repr(location),
            hint="Give the folder as `base_dir`, and the file's name in it as location.",
        )
    offset, length = tensor.offset or 0, tensor.length or facts.nbytes
    if length != facts.nbytes:
        raise TensorError(
            "its bytes contradict its element type and shape",
            tensor=facts.slot.name,
            file=str(tensor.path),
            needed=f"{facts.nbytes:,} bytes for {facts.dtype} {list(facts.shape)}",
            found=f"length {length:,}",
        )
    if offset < 0 or offset + length > MAX_FILE_BYTES:
        raise ExternalDataError(
            "its range is past what a file can hold",
            tensor=facts.slot.name,
            file=str(tensor.path),
            found=f"offset {offset}",
        )
    return FileSpan(Path.cwd() / tensor.path if path is None else path, offset, length)


def _leads_out(location: str) -> bool:
    return not location or Path(location).is_absolute() or ".." in Path(location).parts

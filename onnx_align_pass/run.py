"""What every run does around its own work: heal the folder, write or leave be, report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from onnx_align_pass.destination import Destination, Replacement
from onnx_align_pass.errors import DestinationError, SourceChangedError
from onnx_align_pass.explaining import explained
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.recovering import Leftover, recover_folder
from onnx_align_pass.references import References
from onnx_align_pass.report import DataFile, ModelAlignment
from onnx_align_pass.transfer.commit import folder_lock
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.kernel import sync_folder, sync_path
from onnx_align_pass.transfer.ladder import CHUNK_BYTES, Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.write import Written, write

__all__ = ["Options", "Run", "begin"]

_SOON_WRITTEN = 1 << 30
"""Bytes; a longer copy does not keep the garbage collector waiting."""
_NO_REPLACEMENT = Replacement(None, {}, {}, ())


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for; see `align_file`."""

    storage: StoragePolicy = field(default_factory=StoragePolicy)
    layout: LayoutPolicy = field(default_factory=LayoutPolicy)
    progress: Progress = SILENT
    verify: bool = False
    overwrite: bool = False
    durable: bool = True
    chunk_size: int = CHUNK_BYTES
    """Most bytes that one transfer moves."""
    keep_old_data: bool = False
    """Leave the data of a model that is replaced, and give the new data a name of its own."""
    max_model_bytes: int | None = None
    """A larger model file is refused; None: what no protobuf library reads, unless it was so."""
    allow_hard_links: bool = False
    """Read data files with several links whoever owns them."""


@contextmanager
def begin(destination: Destination, options: Options, references: References) -> Iterator[Run]:
    """Begin a run: what a killed one left in the folder is finished or removed first."""
    started = time.perf_counter()
    leftovers = tuple(recover_folder(destination.folder, destination.model.name))
    with explained(destination.model, 0, reads=False):
        found = FileState.of(destination.model)
    with (
        collector_paused() as resume_collector,
        Ladder(chunk_size=options.chunk_size) as ladder,
    ):
        yield Run(
            destination, options, references, ladder, leftovers, found, started, resume_collector
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has begun; it ends with `publish` or `leave`."""

    destination: Destination
    options: Options
    references: References
    ladder: Ladder
    leftovers: tuple[Leftover, ...]
    found: FileState | None
    """The model at the destination, when the run began."""
    started: float
    resume_collector: Callable[[], None]

    def publish(self, prepared: Prepared, files: SourceFiles) -> ModelAlignment:
        """Stage and publish. Raises what `publish_data` raises."""
        return self.publish_data(prepared, files)[0]

    def publish_data(
        self, prepared: Prepared, files: SourceFiles
    ) -> tuple[ModelAlignment, Mapping[str, FileState]]:
        """Stage and publish; also say what the data files were then, by name.

        Raises:
            ModelError: The destination is refused, or a source cannot be read; all is as it was.
            WriteError: Writing failed; all is as it was.
        """
        try:
            replacement = self.destination.examine(prepared, self.references)
        except DestinationError:
            self._let_others_finish()
            raise
        if replacement.model_before != self.found:
            raise self._changed()
        if prepared.plan.total_bytes > _SOON_WRITTEN:
            self.resume_collector()
        written = write(
            prepared,
            self.destination,
            replacement,
            references=self.references,
            files=files,
            ladder=self.ladder,
            progress=self.options.progress,
            durable=self.options.durable,
            verify=self.options.verify,
        )
        return self._report(prepared, replacement, written), written.data

    def leave(self, prepared: Prepared, model_bytes: int) -> ModelAlignment:
        """Report that the model lies as planned already; nothing is written.

        Raises:
            SourceChangedError: Another run has replaced it since.
            WriteError: What is there cannot be brought to the disk.
        """
        self._let_others_finish()
        if self.options.durable:
            self._sync([file.name for file in prepared.plan.files])
        return self._report(prepared, _NO_REPLACEMENT, Written(model_bytes, {}), unchanged=True)

    def _let_others_finish(self) -> None:
        """Wait for a run that publishes here: what this one saw may have been half of its work.

        Raises:
            SourceChangedError: It has replaced the model.
        """
        with suppress(OSError), folder_lock(self.destination.folder):
            pass
        with explained(self.destination.model, 0, reads=False):
            found = FileState.of(self.destination.model)
        if found != self.found:
            raise self._changed()

    def _changed(self) -> SourceChangedError:
        return SourceChangedError(
            "another run has written it meanwhile",
            file=self.destination.model,
            hint="Nothing was written; run again.",
        )

    def _sync(self, names: Sequence[str]) -> None:
        """Bring to the disk what an earlier run may have left to the kernel."""
        model, folder = self.destination.model, self.destination.folder
        paths = [*(folder / name for name in names), model]
        with explained(model, 0):
            for path in paths:
                sync_path(path)
            for parent in {path.parent for path in paths}:
                sync_folder(parent)

    def _report(
        self,
        prepared: Prepared,
        replacement: Replacement,
        written: Written,
        *,
        unchanged: bool = False,
    ) -> ModelAlignment:
        plan, there = prepared.plan, self.destination.folder
        left = [name for name in replacement.superseded if os.path.lexists(there / name)]
        return ModelAlignment(
            source=prepared.skeleton.path,
            destination=self.destination.model,
            data_files=tuple(DataFile(file.name, file.size) for file in plan.files),
            external_tensors=len(plan.placements),
            inline_tensors=len(plan.inline),
            referenced_tensors=prepared.kept_tensors,
            tensor_bytes=plan.tensor_bytes,
            padding_bytes=plan.padding_bytes,
            header_bytes=plan.header_bytes,
            model_bytes=written.model_bytes,
            unchanged=unchanged,
            removed=tuple(name for name in replacement.superseded if name not in left),
            verified=not unchanged and self.options.verify,
            moved=written.moved,
            notes=(
                *plan.notes,
                *replacement.notes,
                *(f"{name} is left: it could not be removed" for name in left),
                *(f"{one.path.name}: {one.outcome}: {one.reason}" for one in self.leftovers),
            ),
            seconds=time.perf_counter() - self.started,
        )

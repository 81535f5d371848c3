"""Publish a model at its new place: its data by second links, by copies where there are none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from onnx_align_pass.destination import Destination, Replacement
from onnx_align_pass.errors import SourceChangedError
from onnx_align_pass.explaining import explained
from onnx_align_pass.layout.plan import LayoutPlan, PlannedFile
from onnx_align_pass.model.emit import PROTOBUF_MAX_BYTES, assemble
from onnx_align_pass.pieces import check_model_size
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.progress import PUBLISHING, Progress
from onnx_align_pass.references import References
from onnx_align_pass.relocation import Relocation
from onnx_align_pass.rename_report import How
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.commit import commit
from onnx_align_pass.transfer.engine import Piece
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.links import keep_link
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.staging import BRIDGE, MODEL, Stage
from onnx_align_pass.write import Job, journal_of, model_job, stage_job

__all__ = ["Moved", "move", "state_of"]


@dataclass(frozen=True, slots=True)
class Moved:
    """What stands at the new place."""

    model: How
    data: tuple[How, ...]
    """Of each data file that moved."""
    states: Mapping[Path, FileState]
    """The files that stand there."""
    superseded: tuple[str, ...] = ()
    """Data files of a model that was replaced, relative to the folder; some may be left."""
    notes: tuple[str, ...] = ()
    resumed: bool = False
    """It stood there before."""

    @classmethod
    def before(cls, plan: Relocation, states: Mapping[Path, FileState]) -> Moved:
        """What a run that was killed has done."""
        data = tuple(_how(old, new) for old, new in plan.paths)
        model = "rewritten" if plan.renames else _how(plan.source, plan.model)
        return cls(model, data, states, resumed=True)

    def verify_standing(self) -> None:
        """Prove that it stands there still.

        Raises:
            SourceChangedError: It does not.
        """
        for path, state in self.states.items():
            if FileState.of(path) != state:
                raise SourceChangedError(
                    "another run has changed or moved the new model since it was published",
                    file=path,
                    hint="The old model is whole, and stays. Look where the new one is; run again.",
                )


def move(
    plan: Relocation,
    destination: Destination,
    *,
    references: References,
    files: SourceFiles,
    progress: Progress,
    durable: bool,
) -> Moved:
    """Stage and publish; the old model and its data are as they were, and have second names.

    Raises:
        ModelError: The destination is refused, or a source cannot be read; all is as it was.
        WriteError: Writing failed; all is as it was.
    """
    prepared = _prepared(plan)
    replacement = destination.examine(prepared, references)
    too_large_already = plan.skeleton.size > PROTOBUF_MAX_BYTES
    check_model_size(prepared, None if too_large_already else PROTOBUF_MAX_BYTES)
    with (
        Stage(destination.folder, destination.model.name) as stage,
        closing(files),
        Ladder() as ladder,
    ):
        staging = _Staging(plan, stage, files, ladder, progress, durable=durable)
        with explained(destination.model, staging.needed, stage=stage):
            done = staging.fill(bridged=_replaces(replacement))

        def recheck() -> None:
            destination.recheck(replacement, references)
            files.verify_unchanged()

        files.verify_unchanged()
        files.close()  # as in `write`
        progress.phase(PUBLISHING)
        with explained(destination.model, staging.needed, reads=False, stage=stage):
            journal = journal_of(stage, destination, replacement)
            commit(
                stage,
                journal,
                durable=durable,
                recheck=recheck,
                also_lock=[(destination.folder / one.after).parent for one in plan.kept],
            )
    states = {destination.folder / name: state for name, state in journal.data_after.items()}
    if journal.model_after is not None:
        states[destination.model] = journal.model_after
    return Moved(
        done[0],
        done[1:],
        states,
        tuple(replacement.superseded),
        (*files.notes, *replacement.notes),
    )


def _how(old: Path, new: Path) -> How:
    return "renamed" if old.samefile(new) else "copied"


def _prepared(plan: Relocation) -> Prepared:
    """The move as a plan: files with their names, and nothing in them that has to be placed."""
    files = tuple(PlannedFile(one.after, one.size) for one in plan.moves)
    return Prepared(
        skeleton=plan.skeleton,
        placed=(),
        returned=(),
        requests=(),
        plan=LayoutPlan(files, (), ()),
        read=frozenset(plan.skeleton.data_path(one.before) for one in (*plan.moves, *plan.kept)),
        kept=frozenset(one.after for one in plan.kept),
    )


def _replaces(replacement: Replacement) -> bool:
    return any(state is not None for state in replacement.data_before.values())


def state_of(files: SourceFiles, path: Path) -> FileState:
    """State of a source file when it was first seen."""
    seen = files.identity(path)
    return FileState(seen.inode, seen.size, seen.mtime_ns)


class _Staging:
    """The staged files of a move."""

    def __init__(
        self,
        plan: Relocation,
        stage: Stage,
        files: SourceFiles,
        ladder: Ladder,
        progress: Progress,
        *,
        durable: bool,
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._files = files
        self._ladder = ladder
        self._progress = progress
        self._durable = durable

    @property
    def needed(self) -> int:
        """Most bytes that may have to be written."""
        return self._plan.skeleton.size + sum(one.size for one in self._plan.moves)

    def fill(self, *, bridged: bool) -> tuple[How, ...]:
        """Stage every file; say what became of the model, then of each data file."""
        plan, data_path = self._plan, self._stage.data_path
        pairs = [] if plan.renames else [(plan.source, self._stage.path / MODEL)]
        for one, (before, _) in zip(plan.moves, plan.paths, strict=True):
            pairs.append((before, data_path(one.after)))
        copied = {staged: path for path, staged in pairs if not self._link(path, staged)}
        to_write = sum(state_of(self._files, path).size for path in copied.values())
        self._progress.begin(plan.model.name, to_write + plan.renames * plan.skeleton.size)
        done: list[How] = [
            self._copy(path, staged) if staged in copied else "renamed" for path, staged in pairs
        ]
        if plan.renames:
            self._write_model(MODEL)
            done.insert(0, "rewritten")
        if bridged:
            self._write_bridge()
        return tuple(done)

    def _link(self, path: Path, staged: Path) -> bool:
        try:
            linked = keep_link(path, staged)
        except OSError as error:
            self._files.verify_unchanged()
            error.filename = str(staged)  # it, and not the source, is what failed
            raise
        if not linked:
            return False
        if FileState.of(staged) != state_of(self._files, path):
            raise SourceChangedError(
                "the file was changed or replaced while it was read", file=path
            )
        if self._durable:
            kernel.sync_path(staged)
        return True

    def _copy(self, path: Path, copy: Path) -> How:
        state, found = state_of(self._files, path), path.stat()
        pieces = [Piece(FileSpan(path, 0, state.size), 0, path.name)]
        cloned = self._ladder.moved["clone"]
        self._write(Job(copy, self._plan.model, pieces, state.size, found))
        os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
        if self._durable:
            kernel.sync_path(copy)
        return "cloned" if self._ladder.moved["clone"] > cloned else "copied"

    def _write_model(self, name: str) -> None:
        source = self._plan.source.stat()
        parts = assemble(self._plan.skeleton)
        self._write(model_job(self._stage.path / name, self._plan.model, parts, source))

    def _write_bridge(self) -> None:
        """Write the model once more, with locations of the staged data files."""
        bridge_name = self._stage.bridge_name
        moved = {one.after for one in self._plan.moves}
        locations = self._plan.locations.items()
        self._plan.relocate({here: bridge_name(name) for here, name in locations if name in moved})
        self._write_model(BRIDGE)

    def _write(self, job: Job) -> None:
        stage_job(
            self._stage, job, self._files, self._ladder, self._progress, durable=self._durable
        )

"""Publish models that share their data files: at every instant each points at data that is its own.

The data files are published with one model; the others follow, and point at what is there then. So
a run that was cut off is completed by the next. Where several models point at data files that are
to be replaced, all are first published with data files of other names, and nobody needs the old
ones any more when these are replaced.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnx_align_pass.aside import clear_aside, free_name
from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import SourceChangedError
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.references import References
from onnx_align_pass.report import ModelAlignment
from onnx_align_pass.run import Options, begin
from onnx_align_pass.shared_plan import Group, Member
from onnx_align_pass.standing import data_holds, model_holds
from onnx_align_pass.transfer.journal import FileState
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import FileIdentity

__all__ = ["publish_group"]

Done = dict[Path, ModelAlignment]
"""What was done, by the model that was written."""


def publish_group(group: Group, options: Options) -> Done:
    """Publish what does not stand yet; every destination is looked at before the first is written.

    Raises:
        ModelError: The destination is refused, or a source cannot be read.
        WriteError: Writing failed; models published before stay.
    """
    with collector_paused():
        stands = _standing(group, options)
    run = _Run(options, References(), stands, _first_stat(group.data))
    done = _publish(group, run)
    left = clear_aside(group.folder, [file.name for file in group.plan.files])
    if left:
        model, alignment = next(iter(done.items()))
        done[model] = replace(alignment, notes=(*alignment.notes, *left))
    return done


def _publish(group: Group, run: _Run) -> Done:
    holding = [one for one in group.members if one.placements]
    standing = [one for one in holding if one.model in run.stands]
    if standing:
        return run.publish(group, standing[0])
    pointing = _pointing(group, run.references)
    if len(pointing) > 1:
        return _publish_twice(group, pointing[0], run)
    return run.publish(group, [*pointing, *holding, *group.members][0])


@dataclass(frozen=True, slots=True)
class _Run:
    """What the models of one run have in common."""

    options: Options
    references: References
    stands: frozenset[Path]
    """Models that are there exactly as they would be written."""
    data_like: os.stat_result | None
    """A data file that will be replaced."""

    def publish(self, group: Group, first: Member) -> Done:
        """Publish the data files with one member, then the others."""
        self.examine(group, first, self.references)
        done: Done = {}
        for member in sorted(group.members, key=lambda one: one.model != first.model):
            with begin(self._destination(member), self.options, self.references) as run:
                prepared = _prepared(group, member, first)
                if member.model in self.stands:
                    done[member.model] = run.leave(prepared, member.model.stat().st_size)
                    continue
                done[member.model], data = run.publish_data(prepared, group.files)
            _expect(group, data)
        tensors = len(first.placements)
        done[first.model] = replace(done[first.model], external_tensors=tensors)
        return done

    def examine(self, group: Group, first: Member, references: References) -> None:
        """Look at everything that would be replaced. Raises what `Destination.examine` does."""
        with collector_paused():
            for member in group.members:
                destination = self._destination(member)
                if member.model not in self.stands:
                    destination.examine(_prepared(group, member, first), references)

    def _destination(self, member: Member) -> Destination:
        overwrite = self.options.overwrite or member.model in self.stands
        found = Destination.of(member.source, member.model, overwrite=overwrite)
        return replace(found, data_like=self.data_like)


def _prepared(group: Group, member: Member, first: Member) -> Prepared:
    with_data = member.model == first.model
    return group.with_data(member) if with_data else group.without_data(member)


def _standing(group: Group, options: Options) -> frozenset[Path]:
    """Find the models that are there exactly as they would be written, and their data is too."""
    with Ladder(chunk_size=options.chunk_size) as ladder:
        found = [
            one
            for one in group.members
            if os.path.lexists(one.model)
            and model_holds(group.without_data(one), one.model, group.files, ladder.buffer)
        ]
        if any(one.placements for one in found):
            names = [file.name for file in group.plan.files]
            states = {name: FileState.of(group.folder / name) for name in names}
            if data_holds(group.plan, group.folder, group.files, ladder.buffer):
                _expect(group, states)
            else:
                found = [one for one in found if not one.placements]
    return frozenset(one.model for one in found)


def _expect(group: Group, data: Mapping[str, FileState | None]) -> None:
    """Let no model be published that points at data files which are not these any more."""
    for name, state in data.items():
        path = group.folder / name
        identity = _identity(path, state)
        if identity is None:
            raise SourceChangedError(
                "the shared data file was replaced by somebody else during the run",
                file=path,
                hint="Each model that is there is whole. Run again when nothing else writes there.",
            )
        group.files.expect(path, identity)


def _identity(path: Path, state: FileState | None) -> FileIdentity | None:
    """What a file is, if it is the one of this state."""
    try:
        found = path.lstat()
    except OSError:
        return None
    same = state == FileState(found.st_ino, found.st_size, found.st_mtime_ns)
    return FileIdentity.of(found) if same else None


def _pointing(group: Group, references: References) -> list[Member]:
    """The members whose models, as they are there, point at data files that will be replaced."""
    around = references.around(None)
    users = {user for path in group.data for user in around.others(path).users}
    return [one for one in group.members if _resolved(one.model) in users]


def _publish_twice(group: Group, first: Member, run: _Run) -> Done:
    """Replace data files that several members point at: meanwhile all point at others."""
    members = [_resolved(one.model) for one in group.members]
    run.examine(group, first, References(besides=members))
    aside = {file.name: free_name(group.folder, file.name) for file in group.plan.files}
    once = run.publish(group.renamed(aside), first)
    for name in aside.values():
        group.files.forget(group.folder / name)
    twice = run.publish(group, first)
    done = {model: _together(once[model], twice[model], aside) for model in twice}
    note = f"{len(members)} models pointed at data that was replaced: it was written twice"
    done[first.model] = replace(done[first.model], notes=(*done[first.model].notes, note))
    return done


def _together(
    once: ModelAlignment, twice: ModelAlignment, aside: Mapping[str, str]
) -> ModelAlignment:
    folder, gone = twice.destination.parent, dict.fromkeys([*once.removed, *twice.removed])
    return replace(
        twice,
        removed=tuple(
            name
            for name in gone
            if name not in aside.values() and not os.path.lexists(folder / name)
        ),
        moved=dict(Counter(once.moved) + Counter(twice.moved)),
        seconds=once.seconds + twice.seconds,
    )


def _first_stat(paths: Sequence[Path]) -> os.stat_result | None:
    return next((path.stat() for path in paths if os.path.isfile(path)), None)


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path.parent)) / path.name

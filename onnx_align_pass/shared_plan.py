"""Several models read and planned as one: their external tensors lie in the same data files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from onnx_align_pass.layout.names import filled
from onnx_align_pass.layout.plan import LayoutPlan, Placement, with_names
from onnx_align_pass.origin import Origin
from onnx_align_pass.planning import proven_plan
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.prepare import Prepared, Reading, open_sources, read_tensors
from onnx_align_pass.rules_text import rule_notes
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorRequest
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Group", "Member", "opened_group"]


@dataclass(frozen=True, slots=True)
class Member:
    """One model of a group."""

    model: Path
    """The model file to be."""
    reading: Reading
    placements: tuple[Placement, ...]
    """Where its external tensors will lie, in declaration order."""

    @property
    def source(self) -> Path:
        """The model as it is."""
        return self.reading.skeleton.path

    @property
    def data(self) -> frozenset[str]:
        """Data files that it will point at, relative to its folder."""
        return frozenset(one.file for one in self.placements)

    @property
    def own_plan(self) -> LayoutPlan:
        """What is planned of it besides data files."""
        inline = (one for one in self.reading.requests if not one.decision.external)
        return LayoutPlan((), (), tuple(inline), self.reading.notes)


@dataclass(frozen=True, slots=True)
class Group:
    """Models that share their data files."""

    members: tuple[Member, ...]
    plan: LayoutPlan
    """The data files with the tensors of all members, one member after the other."""
    files: SourceFiles
    """The files of all sources."""
    folder: Path
    """Where all will be."""
    read: frozenset[Path]
    """All that the sources are made of."""

    @property
    def data(self) -> list[Path]:
        """The data files to be."""
        return [self.folder / file.name for file in self.plan.files]

    def with_data(self, member: Member) -> Prepared:
        """A member that the data files are written with."""
        own = member.own_plan
        return replace(
            self._prepared(member),
            placed=tuple(tensor for one in self.members for tensor in one.reading.placed),
            plan=replace(self.plan, inline=own.inline, notes=(*own.notes, *self.plan.notes)),
        )

    def without_data(self, member: Member) -> Prepared:
        """A member that points at data files that are there."""
        return replace(
            self._prepared(member),
            kept=member.data,
            kept_tensors=len(member.placements),
            pointing=tuple(zip(member.placements, member.reading.placed, strict=True)),
        )

    def renamed(self, name: Mapping[str, str]) -> Group:
        """The same with other names for the data files."""
        members = tuple(
            replace(one, placements=with_names(one.placements, name)) for one in self.members
        )
        return replace(self, members=members, plan=self.plan.renamed(name))

    def _prepared(self, member: Member) -> Prepared:
        reading = member.reading
        return Prepared(
            reading.skeleton,
            (),
            reading.returned,
            reading.requests,
            member.own_plan,
            read=self.read,
        )


@contextmanager
def opened_group(
    sources: Sequence[Path],
    folder: Path,
    storage: StoragePolicy,
    layout: LayoutPolicy,
    *,
    allow_hard_links: bool = False,
    allow_expansion: bool = False,
) -> Iterator[Group]:
    """Read all models, each by its own rules, and make one plan for their tensors.

    Args:
        sources: The models; their names differ.
        folder: Where all will be.
        storage: Which tensors are external data.
        layout: How they lie.
        allow_hard_links: See `open_sources`.
        allow_expansion: See `proven_plan`.

    Yields:
        The group, its files open until the end of the context.

    Raises:
        UsageError: Two files would have one name.
        ModelError: A model is broken, or names bytes that cannot be read.
        PlanError: A defect of the planner.
    """
    roots = {root for source in sources for root in Origin.of(source).roots}
    # Each file is looked at under the rules of its model; here it has only to be the same one.
    with SourceFiles(roots=tuple(roots), owner_uid=None, allow_hard_links=True) as files:
        readings = []
        for source in sources:
            with open_sources(source, allow_hard_links=allow_hard_links) as own:
                readings.append(read_tensors(source, own, storage))
                files.adopt(own)
        requests = [one for reading in readings for one in _told_apart(reading)]
        rules = rule_notes(storage.rules, [one.facts for one in requests])
        plan = proven_plan(
            requests,
            layout,
            files,
            model_name=sources[0].name,
            notes=[*files.notes, *rules],
            allow_expansion=allow_expansion,
        )
        placements = iter(plan.placements)
        members = [
            Member(folder / one.skeleton.path.name, one, tuple(islice(placements, len(one.placed))))
            for one in readings
        ]
        yield Group(tuple(members), plan, files, folder, files.seen)


def _told_apart(reading: Reading) -> Iterator[TensorRequest]:
    """Requests such that no place, tie or name is taken for one of another model."""
    model = reading.skeleton.path.name
    for one in reading.requests:
        slot, decision = one.facts.slot, one.decision
        if decision.group is not None:
            decision = replace(decision, group=filled(decision.group, model))
        yield one._replace(
            facts=one.facts._replace(slot=slot._replace(place=f"{model}: {slot.place}")),
            decision=decision,
            tie=one.source if isinstance(one.source, FileSpan) else None,
        )

"""From a model file to a proven plan: everything a run knows before it writes. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx

from onnx_align_pass.errors import ExternalDataError
from onnx_align_pass.layout.plan import LayoutPlan, Placement
from onnx_align_pass.model.feeds import feeds_of
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.model.sources import DROPPED, facts_of, locate, location_of
from onnx_align_pass.model.walk import walk
from onnx_align_pass.origin import Origin
from onnx_align_pass.planning import proven_plan
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.rules_text import rule_notes
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import Slot, TensorRequest
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Prepared", "Reading", "open_sources", "prepare", "read_tensors"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A model that was read, with what is decided for each of its tensors."""

    skeleton: Skeleton
    placed: tuple[onnx.TensorProto, ...]
    """The skeleton's tensors that will be external, in declaration order."""
    returned: tuple[tuple[TensorRequest, onnx.TensorProto], ...]
    """The tensors that are external now and will be inline."""
    requests: tuple[TensorRequest, ...]
    notes: tuple[str, ...]
    """What a person should know of the external data entries."""
    drops_entries: bool
    """Whether some tensor has external data entries that the result will not have."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model that was read, with the plan for it."""

    skeleton: Skeleton
    placed: tuple[onnx.TensorProto, ...]
    """The skeleton's tensors of `plan.placements`, in its order."""
    returned: tuple[tuple[TensorRequest, onnx.TensorProto], ...]
    """The tensors that are external now and will be inline."""
    requests: tuple[TensorRequest, ...]
    plan: LayoutPlan
    drops_entries: bool = False
    """Whether some tensor has external data entries that the result will not have."""
    read: frozenset[Path] = frozenset()
    """Files that tensors are read from, where the model's own entries do not name them."""
    kept: frozenset[str] = frozenset()
    """Data files that the result points at besides those of the plan, relative to its folder."""
    kept_tensors: int = 0
    """How many tensors lie there."""
    pointing: tuple[tuple[Placement, onnx.TensorProto], ...] = ()
    """Those of them that do not lie there yet as the model has it, with where they will."""

    @property
    def homes(self) -> frozenset[str]:
        """Data files that the model points at, relative to its folder."""
        return frozenset(one.home for one in self.requests if one.home is not None)


@contextmanager
def open_sources(source: Path, *, allow_hard_links: bool = False) -> Iterator[SourceFiles]:
    """Open the files of a model: its own, and those that it may name.

    Args:
        source: The model.
        allow_hard_links: Read data files with several links whoever owns them.

    Raises:
        ModelNotFoundError: There is no such model, or it is not a file.
        SourceChangedError: Reading failed, and a file is not what it was.
    """
    with Origin.of(source, allow_hard_links=allow_hard_links).open() as files:
        # Its identity is noted before it is read, so that a change since is found out.
        files.size(source)
        try:
            yield files
        except (ExternalDataError, OSError):
            files.verify_unchanged()  # if that is what was wrong, it is what is to be said
            raise


def prepare(
    source: Path,
    files: SourceFiles,
    storage: StoragePolicy,
    layout: LayoutPolicy,
    *,
    model_name: str,
    in_place: bool,
    skeleton: Skeleton | None = None,
    allow_expansion: bool = False,
) -> Prepared:
    """Read a model, decide for each tensor, make the plan and prove it.

    Args:
        source: The model.
        files: Opens its data files.
        storage: Which tensors are external data.
        layout: How they lie in their files.
        model_name: Of the result: data files are named after it.
        in_place: Whether data files keep their names.
        skeleton: The model, where it was read already.
        allow_expansion: See `proven_plan`.

    Raises:
        ModelError: The model is broken, or names bytes that cannot be read.
        PlanError: A defect of the planner.
    """
    found = read_tensors(source, files, storage, skeleton)
    plan = proven_plan(
        found.requests,
        layout,
        files,
        model_name=model_name,
        keep_homes=in_place and layout.keeps_homes,
        notes=[
            *found.notes,
            *files.notes,
            *rule_notes(storage.rules, [one.facts for one in found.requests]),
        ],
        allow_expansion=allow_expansion,
    )
    return Prepared(
        found.skeleton,
        found.placed,
        found.returned,
        found.requests,
        plan,
        drops_entries=found.drops_entries,
    )


def read_tensors(
    source: Path, files: SourceFiles, storage: StoragePolicy, skeleton: Skeleton | None = None
) -> Reading:
    """Read a model, unless its skeleton was read, find its tensors' bytes and decide for each.

    Raises:
        ModelError: The model is broken, or names bytes that cannot be read.
    """
    skeleton = skeleton or read_skeleton(source)
    placed: list[onnx.TensorProto] = []
    returned: list[tuple[TensorRequest, onnx.TensorProto]] = []
    requests: list[TensorRequest] = []
    notes: Counter[str] = Counter()
    feeds = feeds_of(skeleton.proto) if storage.asks_inputs else {}
    for slot, tensor in walk(skeleton.proto, file=source):
        facts = facts_of(slot, tensor, source)
        if feeds:
            facts = facts._replace(feeds=feeds.get(slot.place, ()))
        decision = storage.decide(facts)
        external = facts.is_external
        if decision.external or (external and (facts.nbytes or not facts.element_bits)):
            span, field, home, said = locate(facts, tensor, skeleton)
            if isinstance(span, FileSpan):
                files.check(span, slot.name)
            if said:
                notes.update(said)
            request = TensorRequest(facts, span, decision, field, home)
        else:
            home = _named_home(slot, tensor, source) if external else None
            request = TensorRequest(facts, None, decision, home=home)
        requests.append(request)
        if decision.external:
            placed.append(tensor)
        elif external:
            returned.append((request, tensor))
    return Reading(
        skeleton,
        tuple(placed),
        tuple(returned),
        tuple(requests),
        notes=tuple(f"{_tensors(count)} {note}" for note, count in notes.items()),
        drops_entries=not DROPPED.isdisjoint(notes),
    )


def _named_home(slot: Slot, tensor: onnx.TensorProto, source: Path) -> str | None:
    """The data file that an empty tensor names, though it has nothing there; None for no name."""
    try:
        return location_of(slot, tensor, source)[1]
    except ExternalDataError:
        return None


def _tensors(count: int) -> str:
    return "1 tensor has" if count == 1 else f"{count:,} tensors have"

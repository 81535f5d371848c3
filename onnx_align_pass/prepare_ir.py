"""From an ir.Model to a proven plan, as `prepare` does from a file. Reads only.

onnx-ir serialises the model with stand-ins for all large tensors; what comes out is a skeleton like
one that was read from a file, and the plan, the copying and the commit are the same from here on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import onnx
import onnx_ir as ir

from onnx_align_pass.errors import ModelError, PlanError, TensorError
from onnx_align_pass.layout.check import check_plan
from onnx_align_pass.layout.names import default_data_name
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.model.skeleton import CUT_BYTES, Skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.passes.bind import stand_in, stood_in
from onnx_align_pass.passes.collect import Held, facts_of_tensor, tensors_of
from onnx_align_pass.passes.sources import TensorBytes, span_of
from onnx_align_pass.policy import LayoutPolicy, StorageDecision
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.stored import NumbersInFile, StoredTensor, external_part
from onnx_align_pass.tensors import TensorFacts, TensorRequest
from onnx_align_pass.transfer.ahead import Ahead
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Collected", "Decide", "collect", "open_model_sources", "prepare_model"]

_PLAIN = (ir.Tensor, ir.PackedTensor, ir.serde.TensorProtoTensor)
Decide: TypeAlias = Callable[[Held, TensorFacts], StorageDecision]


class Collected(NamedTuple):
    """A tensor of the model with the decision about it."""

    held: Held
    facts: TensorFacts
    decision: StorageDecision


def collect(model: ir.Model, decide: Decide) -> tuple[Collected, ...]:
    """Find every tensor and decide about it.

    Raises:
        TensorError: An initializer has no value, or a shape that is not made of numbers.
    """
    found = []
    for held in tensors_of(model):
        facts = facts_of_tensor(held)
        found.append(Collected(held, facts, decide(held, facts)))
    return tuple(found)


@contextmanager
def open_model_sources(collected: tuple[Collected, ...]) -> Iterator[SourceFiles]:
    """Open the files that a model's external tensors lie in; each must stay in its base folder."""
    tensors = [one.held.tensor for one in collected]
    external = [one for one in map(external_part, tensors) if one is not None]
    numbers = [one.raw for one in tensors if isinstance(one, ir.LazyTensor)]
    lazies = [one for one in numbers if isinstance(one, NumbersInFile)]
    origins = {one.origin for one in external if isinstance(one, StoredTensor)}
    models = {one.model for one in origins} | {one.decoded.file for one in lazies}
    roots = {Path.cwd() / os.fspath(one.base_dir) for one in external}
    roots |= {root for one in origins for root in one.roots}
    owners = {one.owner_uid for one in origins}
    owner = owners.pop() if len(owners) == 1 else None
    with SourceFiles(roots=tuple(sorted(roots)), owner_uid=owner) as files:
        for model in models:
            files.trust(model)
        for one in external:
            if isinstance(one, StoredTensor):
                one.expect_in(files)
        for lazy in lazies:
            files.expect(lazy.decoded.file, lazy.identity)
        yield files


def _keeps_none(one: Collected) -> None:
    """Every external tensor is written anew."""


def prepare_model(
    collected: tuple[Collected, ...],
    model: ir.Model,
    files: SourceFiles,
    layout: LayoutPolicy,
    *,
    destination: Path,
    keep_homes: bool = False,
    keeps: Callable[[Collected], str | None] = _keeps_none,
    ahead: Ahead | None = None,
) -> Prepared:
    """Serialise a model without its weights, make the plan and prove it.

    Args:
        collected: Its tensors.
        model: The model; unchanged afterwards.
        files: The files of its external tensors.
        layout: How they will lie.
        destination: The model file to be.
        keep_homes: Each tensor stays in the data file it is in now, by name.
        keeps: Gives the location at which an external tensor goes on being referenced, relative to
            the destination's folder; None where it does not.
        ahead: Makes tensors that are not in files ahead of their writing.

    Raises:
        ModelError: A tensor contradicts itself or names bytes that cannot be read, or onnx-ir
            cannot serialise the model.
        PlanError: A defect of the planner.
    """
    mark = os.urandom(16)
    skeleton = Skeleton(path=destination, size=0, proto=onnx.ModelProto(), mark=mark)
    kept: dict[str, str] = {}
    stand_ins: list[tuple[Held, ir.ExternalTensor]] = []
    by_place: dict[str, TensorRequest] = {}
    sources = _Sources(files, destination.parent, ahead)
    for one in collected:
        place = one.facts.slot.place
        location = keeps(one)
        if location is not None:
            span = sources.span(one)
            kept[place] = location
            stand_ins.append((one.held, stand_in(one.held, one.facts, location, span.offset)))
        elif one.decision.external or _leaves(one):
            by_place[place] = sources.request(one)
            stand_ins.append((one.held, stand_in(one.held, one.facts, mark.hex())))
    with stood_in(stand_ins):
        skeleton.proto = _serialized(model, destination)
    decisions = {one.facts.slot.place: one.decision for one in collected}
    placed, returned, requests = _found_again(skeleton, by_place, kept, decisions)
    layout = _beside(layout, frozenset(kept.values()), destination.name)
    plan = make_plan(
        requests, layout, model_name=destination.name, keep_homes=keep_homes, notes=files.notes
    )
    check_plan(plan, layout)
    return Prepared(
        skeleton,
        tuple(placed),
        tuple(returned),
        tuple(requests),
        plan,
        read=sources.read,
        kept=frozenset(kept.values()),
        kept_tensors=len(kept),
    )


def _beside(layout: LayoutPolicy, kept: frozenset[str], model_name: str) -> LayoutPolicy:
    """Choose a data file name by default that is none of those that stay."""
    if layout.data_name is not None:
        return layout
    number = 1
    while default_data_name(layout, model_name) in kept:
        number += 1
        layout = replace(layout, data_name=f"{{model}}.{number}.data")
    return layout


def _leaves(one: Collected) -> bool:
    """Whether an inline tensor's bytes are put into the proto by us, and not by onnx-ir.

    Those that are large or in a file, so that they are streamed; those of tensors that may give
    other bytes than they promise, so that they are checked.
    """
    if one.facts.element_bits == 0:
        _check_unsized(one)
        return False
    return one.facts.nbytes > CUT_BYTES or not isinstance(one.held.tensor, _PLAIN)


def _check_unsized(one: Collected) -> None:
    if isinstance(one.held.tensor, ir.ExternalTensor):
        raise TensorError(
            f"external data of type {one.facts.dtype} cannot be sized",
            tensor=one.facts.slot.name,
            file=str(one.held.tensor.path),
            hint="Strings must be inline: make it an ir.StringTensor.",
        )


class _Sources:
    """Where tensors' bytes are; the very same source for the same bytes, which ties tensors."""

    def __init__(self, files: SourceFiles, folder: Path, ahead: Ahead | None) -> None:
        self._files = files
        self._folder = folder
        self._ahead = ahead
        self._paths: dict[Path, Path] = {}
        self._spans: dict[FileSpan, FileSpan] = {}
        self._of: dict[int, Source] = {}

    @property
    def read(self) -> frozenset[Path]:
        """Files that the tensors are read from."""
        return frozenset(self._paths)

    def span(self, one: Collected) -> FileSpan:
        tensor = external_part(one.held.tensor)
        assert tensor is not None, "only external tensors are spans"
        span = span_of(one.facts, tensor)
        span = span._replace(path=self._paths.setdefault(span.path, span.path))
        self._files.check(span, one.facts.slot.name)
        return self._spans.setdefault(span, span)

    def request(self, one: Collected) -> TensorRequest:
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
        inside = path.is_relative_to(self._folder)
        return path.relative_to(self._folder).as_posix() if inside else None

    def _source(self, one: Collected, tensor: ir.TensorProtocol) -> Source:
        if external_part(tensor) is not None:
            return self.span(one)
        made = TensorBytes(tensor, one.facts)
        return made if self._ahead is None else self._ahead.wrap(made)


def _serialized(model: ir.Model, destination: Path) -> onnx.ModelProto:
    try:
        return ir.serde.serialize_model(model)
    except Exception as error:  # whatever onnx-ir raises on what it does not serialise
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise ModelError(
            "onnx-ir cannot serialise the model",
            file=destination,
            found=f"{type(cause).__name__}: {cause}",
            hint="Mend the model; nothing was written.",
        ) from error


def _found_again(
    skeleton: Skeleton,
    by_place: dict[str, TensorRequest],
    kept: dict[str, str],
    decisions: dict[str, StorageDecision],
) -> tuple[
    list[onnx.TensorProto], list[tuple[TensorRequest, onnx.TensorProto]], list[TensorRequest]
]:
    """Find the stand-ins in the proto again, by their places.

    Returns:
        Tensors that will be external; those that will be inline, with their bytes; all requests.
    """
    placed: list[onnx.TensorProto] = []
    returned: list[tuple[TensorRequest, onnx.TensorProto]] = []
    requests: list[TensorRequest] = []
    for slot, tensor in walk(skeleton.proto):
        if slot.place in kept:
            continue
        request = by_place.pop(slot.place, None)
        if request is None:
            facts = facts_of(slot, tensor, skeleton.path)
            _say_once(tensor)
            if facts.nbytes:
                locate(facts, tensor, skeleton)  # to check that there are as many bytes
            request = TensorRequest(facts, None, decisions[slot.place])
        elif request.decision.external:
            placed.append(tensor)
        else:
            returned.append((request, tensor))
        requests.append(request)
    if by_place:
        raise PlanError("a tensor was not serialised", tensor=next(iter(by_place)))
    return placed, returned, requests


def _say_once(tensor: onnx.TensorProto) -> None:
    """Take back that onnx-ir writes the metadata of a tensor from a file twice."""
    said = {entry.key: entry.value for entry in tensor.metadata_props}
    if len(said) < len(tensor.metadata_props):
        del tensor.metadata_props[:]
        for key, value in said.items():
            tensor.metadata_props.add(key=key, value=value)

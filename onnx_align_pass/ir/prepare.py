"""From an ir.Model to a proven plan, as `prepare` does from a file. Reads only.

onnx-ir serialises the model with stand-ins for all large tensors; what comes out is a skeleton like
one that was read from a file, and the plan, the copying and the commit are the same from here on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
import onnx_ir as ir

from onnx_align_pass.errors import ModelError, PlanError, TensorError, cause_of
from onnx_align_pass.ir.collected import Collected
from onnx_align_pass.ir.sources import ModelSources
from onnx_align_pass.layout.names import default_data_name, is_shard_of
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.model.skeleton import CUT_BYTES, Skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.passes.bind import stand_in, stood_in
from onnx_align_pass.passes.collect import Held
from onnx_align_pass.planning import proven_plan
from onnx_align_pass.policy import LayoutPolicy, StorageDecision
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.rules import Rule
from onnx_align_pass.rules_text import rule_notes
from onnx_align_pass.tensors import TensorRequest
from onnx_align_pass.transfer.ahead import Ahead
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["prepare_model"]

_PLAIN = (ir.Tensor, ir.PackedTensor, ir.serde.TensorProtoTensor)


def _keeps_none(one: Collected) -> None:
    """Every external tensor is written anew."""


def prepare_model(
    collected: tuple[Collected, ...],
    model: ir.Model,
    files: SourceFiles,
    layout: LayoutPolicy,
    *,
    destination: Path,
    rules: Sequence[Rule] = (),
    keep_homes: bool = False,
    keeps: Callable[[Collected], str | None] = _keeps_none,
    ahead: Ahead | None = None,
    allow_expansion: bool = False,
) -> Prepared:
    """Serialise a model without its weights, make the plan and prove it.

    Args:
        collected: Its tensors.
        model: The model; unchanged afterwards.
        files: The files of its external tensors.
        layout: How they will lie.
        destination: The model file to be.
        rules: Those that were asked; of one that matches no tensor there is a note.
        keep_homes: Each tensor stays in the data file it is in now, by name.
        keeps: Gives the location at which an external tensor goes on being referenced, relative to
            the destination's folder; None where it does not.
        ahead: Makes tensors that are not in files ahead of their writing.
        allow_expansion: See `proven_plan`.

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
    sources = ModelSources(files, destination.parent, ahead)
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
    with stood_in(stand_ins, [one.held for one in collected]):
        skeleton.proto = _serialized(model, destination)
    decisions = {one.facts.slot.place: one.decision for one in collected}
    placed, returned, requests = _found_again(skeleton, by_place, kept, decisions)
    layout = _beside(layout, frozenset(kept.values()), destination.name)
    plan = proven_plan(
        requests,
        layout,
        files,
        model_name=destination.name,
        keep_homes=keep_homes,
        notes=[*files.notes, *rule_notes(rules, [one.facts for one in collected])],
        allow_expansion=allow_expansion,
    )
    if ahead is not None:
        _skip_unwritten(plan, ahead)
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


def _skip_unwritten(plan: LayoutPlan, ahead: Ahead) -> None:
    """Let no tensor be made ahead that shares the bytes of another."""
    written = {id(one.request.source) for one in plan.placements if one.tied_to is None}
    for one in plan.placements:
        if one.request.source is not None and id(one.request.source) not in written:
            ahead.skip(one.request.source)


def _beside(layout: LayoutPolicy, kept: frozenset[str], model_name: str) -> LayoutPolicy:
    """Choose a data file name by default that is none of those that stay."""
    if layout.data_name is not None:
        return layout
    number = 1
    while any(is_shard_of(name, default_data_name(layout, model_name)) for name in kept):
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


def _serialized(model: ir.Model, destination: Path) -> onnx.ModelProto:
    try:
        return ir.serde.serialize_model(model)
    except Exception as error:  # whatever onnx-ir raises on what it does not serialise
        raise ModelError(
            "onnx-ir cannot serialise the model",
            file=destination,
            found=cause_of(error),
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

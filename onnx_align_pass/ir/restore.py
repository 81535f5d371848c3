"""After a commit: the tensors that stand for those of a model in the files that were written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx_ir as ir

from onnx_align_pass.ir.collected import Collected
from onnx_align_pass.ir.sources import span_of
from onnx_align_pass.ir.stored import NumbersInFile, StoredTensor, external_part, for_slot
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.walk import walk
from onnx_align_pass.origin import Origin
from onnx_align_pass.passes.bind import description_of, values_made
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import FileIdentity

__all__ = ["invalidate_plain", "restored"]


def restored(
    collected: Sequence[Collected],
    prepared: Prepared,
    path: Path,
    stale: frozenset[Path],
    *,
    everything: bool,
) -> dict[int, ir.TensorProtocol]:
    """Make new tensors for those whose files were replaced, or for all external ones.

    Args:
        collected: The model's tensors.
        prepared: What was written.
        path: The model file; absolute.
        stale: Files that are not what they were when they were read.
        everything: Whether tensors whose bytes are where they were, or in memory, move too.

    Returns:
        The new tensors by the `id` of the old ones.
    """
    if not (stale or everything):
        return {}
    spans = dict(_spans(prepared, path))
    origin = Origin.of(path)
    moved: dict[int, ir.TensorProtocol] = {}
    inline: dict[str, ir.TensorProtocol] | None = None
    for one in collected:
        tensor, place = one.held.tensor, one.facts.slot.place
        assert tensor is not None, "it was written"
        is_stale = _backing(tensor) in stale
        span = spans.get(place)
        if span is not None and (is_stale or (everything and _span(one) != span)):
            moved[id(tensor)] = _stored(tensor, one.facts.shape, span, origin)
        elif span is None and is_stale and id(tensor) not in moved:
            inline = inline or _inline(origin)
            moved[id(tensor)] = inline[place]
    return moved


def invalidate_plain(
    model: ir.Model, collected: Sequence[Collected], stale: frozenset[Path]
) -> None:
    """Make onnx-ir's own tensors in replaced files refuse to read, wherever they hang.

    Ours know the file that they were made for, and refuse by themselves.
    """
    if not stale:
        return
    folds = (value.const_value for value in values_made(model))
    for tensor in (*(one.held.tensor for one in collected), *folds):
        if (
            isinstance(tensor, ir.ExternalTensor)
            and not isinstance(tensor, StoredTensor)
            and _backing(tensor) in stale
        ):
            tensor.invalidate()


def _spans(prepared: Prepared, path: Path) -> Iterator[tuple[str, FileSpan]]:
    files = {file.name: path.parent / file.name for file in prepared.plan.files}
    for one in prepared.plan.placements:
        yield one.request.facts.slot.place, FileSpan(files[one.file], one.offset, one.length)


def _backing(tensor: ir.TensorProtocol) -> Path | None:
    """The file that a tensor's bytes are read from."""
    external = external_part(tensor)
    if external is not None:
        return Path.cwd() / external.path
    if isinstance(tensor, ir.LazyTensor) and isinstance(tensor.raw, NumbersInFile):
        return tensor.raw.decoded.file
    return None


def _span(one: Collected) -> FileSpan | None:
    tensor = one.held.tensor
    return span_of(one.facts, tensor) if isinstance(tensor, ir.ExternalTensor) else None


def _stored(
    tensor: ir.TensorProtocol, shape: tuple[int, ...], span: FileSpan, origin: Origin
) -> StoredTensor:
    stored = StoredTensor(
        span,
        origin=origin,
        identity=FileIdentity.of(os.stat(span.path)),
        dtype=tensor.dtype,
        shape=ir.Shape(shape),
        name=tensor.name or "",
        **description_of(tensor),
    )
    stored.meta.update(getattr(tensor, "meta", {}))
    return stored


def _inline(origin: Origin) -> dict[str, ir.TensorProtocol]:
    """The tensors that are inline in a model file, by place; large ones stay in it."""
    skeleton = read_skeleton(origin.model)
    found: dict[str, ir.TensorProtocol] = {}
    for slot, proto in walk(skeleton.proto):
        cut = skeleton.cut_of(proto)
        tensor = ir.serde.deserialize_tensor(proto)
        if cut is None:
            found[slot.place] = tensor
        elif cut.payload is not None:
            stored = _stored(tensor, tuple(proto.dims), cut.payload, origin)
            found[slot.place] = for_slot(stored, slot)
    return found

"""From a model file to an ir.Model whose weights stay on disk until they are asked for."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir

from onnx_align_pass.errors import LossyLoadError, cause_of
from onnx_align_pass.explaining import reads_explained
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.ir.stored import NumbersInFile, StoredTensor, for_slot
from onnx_align_pass.model.decode import DecodedTensor
from onnx_align_pass.model.losses import losses
from onnx_align_pass.model.park import Parked, park
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.origin import Origin
from onnx_align_pass.passes.bind import description_of
from onnx_align_pass.passes.collect import Held, tensors_of
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.prepare import open_sources
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["load"]


def load(path: StrPath, *, allow_loss: bool = False, allow_hard_links: bool = False) -> ir.Model:
    """Read a model for passes to work on; memory is the metadata.

    Weights over 1 KiB stay where they are, external and inline ones alike, also in subgraphs and
    functions: they are `ir.ExternalTensor` with an absolute base folder; inline initializers of the
    main graph point into the `.onnx` itself. Other inline tensors (Constant, subgraphs), and those
    in typed fields that are not plain bytes, are `ir.LazyTensor`. A tensor reads only from the file
    that it was made for: when that was replaced it refuses.

    Save the model with `save`, or with `onnx_ir.save` and its `external_data`. Without that,
    `onnx_ir.save` and `onnx_ir.to_proto` write references, not weights: over the model's own file,
    they would overwrite what they refer to.

    Args:
        path: The model.
        allow_loss: Load also what onnx-ir cannot hold in full; what it drops is gone when the model
            is saved.
        allow_hard_links: See `align_file`; what is read later is read so, too.

    Raises:
        ModelError: The model is missing or broken, or its data is.
        LossyLoadError: It holds what an `ir.Model` cannot: sparse initializers, training
            information, unknown fields ... The error lists it.
    """
    file = Path.cwd() / given_path(path)
    origin = Origin.of(file, allow_hard_links=allow_hard_links)
    opened = open_sources(file, allow_hard_links=allow_hard_links)
    with reads_explained(file), collector_paused(), opened as files:
        skeleton = read_skeleton(file)
        parked = park(skeleton)
        for one in parked.values():
            if isinstance(one.source, FileSpan):
                files.check(one.source, one.facts.slot.name)
        model = _deserialized(file, skeleton.proto)
        if not allow_loss:
            _check_losses(file, skeleton.proto, model)
        for held in list(tensors_of(model)):
            mine = parked.get(_location(held))
            if mine is not None:
                held.holder.put(_stored(held, mine, origin, files))
    return model


def _location(held: Held) -> str:
    tensor = held.tensor
    return str(tensor.location) if isinstance(tensor, ir.ExternalTensor) else ""


def _deserialized(file: Path, proto: onnx.ModelProto) -> ir.Model:
    try:
        return ir.serde.deserialize_model(proto)
    except Exception as error:  # whatever onnx-ir raises on what it does not know
        raise LossyLoadError("onnx-ir cannot read it", file=file, found=cause_of(error)) from error


def _check_losses(file: Path, before: onnx.ModelProto, model: ir.Model) -> None:
    try:
        after = ir.serde.serialize_model(model)
    except Exception as error:
        raise LossyLoadError(
            "onnx-ir cannot write it again", file=file, found=cause_of(error)
        ) from error
    lost = losses(before, after)
    if lost:
        raise LossyLoadError("onnx-ir would lose a part of it", file=file, found="; ".join(lost))


def _stored(held: Held, parked: Parked, origin: Origin, files: SourceFiles) -> ir.TensorProtocol:
    """The tensor that stands for a parked one."""
    tensor, source, shape = held.tensor, parked.source, ir.Shape(parked.facts.shape)
    assert tensor is not None, "it was found by its location"
    if isinstance(source, FileSpan):
        stored = StoredTensor(
            source,
            origin=origin,
            identity=files.identity(source.path, tensor=parked.facts.slot.name),
            dtype=tensor.dtype,
            shape=shape,
            name=tensor.name or "",
            **description_of(tensor),
        )
        return for_slot(stored, parked.facts.slot)
    assert isinstance(source, DecodedTensor), "all that is parked lies in files"
    return ir.LazyTensor(
        NumbersInFile(source, origin, files.identity(origin.model), tensor.dtype, shape),
        dtype=tensor.dtype,
        shape=shape,
        name=tensor.name,
        **description_of(tensor),
    )

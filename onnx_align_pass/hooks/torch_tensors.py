"""What torch knows of the tensors in a model: which have no bytes, and which share theirs."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import onnx_ir as ir

from onnx_align_pass.errors import UninitializedTensorError
from onnx_align_pass.passes.collect import tensors_of

if TYPE_CHECKING:
    import torch

__all__ = ["one_tensor_a_storage", "require_data", "require_parameters"]

_HINT: Final = (
    "Give it data (ONNXProgram.apply_weights), "
    "or save without initializers (include_initializers=False)."
)


def require_data(model: ir.Model) -> None:
    """Check that every tensor of a model has bytes; none is read.

    Raises:
        UninitializedTensorError: One has none.
    """
    for held in tensors_of(model):
        found = "no value" if held.tensor is None else _missing(held.tensor)
        if found is not None:
            raise UninitializedTensorError(
                "the tensor has no data", tensor=held.slot.name, found=found, hint=_HINT
            )


def require_parameters(module: Any, args: Any) -> None:
    """Check that what is about to be exported has data: the exporter itself fails deep inside.

    Raises:
        UninitializedTensorError: A parameter, a buffer or an example input has none.
    """
    found = [(f"input {index}", one) for index, one in enumerate(args)]
    for listed in ("named_parameters", "named_buffers"):
        found += list(getattr(module, listed, tuple)())
    for name, tensor in found:
        if isinstance(tensor, _torch().Tensor):
            missing = _without_bytes(tensor)
            if missing is not None:
                raise UninitializedTensorError(
                    "the tensor has no data",
                    tensor=name,
                    found=missing,
                    hint="Give it data, as by module.to_empty and load_state_dict.",
                )


def _missing(tensor: ir.TensorProtocol) -> str | None:
    """Say what is there in place of bytes; None where the bytes are there, as far as is known."""
    raw = _wrapped(tensor)
    return None if raw is None else _without_bytes(raw)


def _without_bytes(raw: torch.Tensor) -> str | None:
    if raw.is_meta:
        return "a tensor on the meta device"
    if raw.layout is not _torch().strided:
        return f"a tensor of layout {raw.layout}; make it dense"
    storage = raw.untyped_storage()
    if storage.device.type == "meta":  # it claims another device: the mark of a fake tensor
        return f"a {type(raw).__name__}, exported under fake mode"
    # Freed by resize_(0), as FSDP does: its address is null, and reading there ends the process.
    # One of a subclass that has none may make its bytes; one that has some shows what is there.
    if raw.numel() and (type(raw) in _plain() or len(storage)):
        last = raw.storage_offset() + sum(
            (size - 1) * stride for size, stride in zip(raw.shape, raw.stride(), strict=True)
        )
        if len(storage) < (last + 1) * raw.element_size():
            return "freed or cut storage"
    return None


@contextmanager
def one_tensor_a_storage(model: ir.Model) -> Iterator[None]:
    """Let initializers whose torch tensors are the same memory hold one tensor object.

    torch's exporter makes one initializer of a Parameter that several modules share, but one for
    each of several Parameters or buffers over one storage (`detach()`, `.data`, a buffer that is
    a parameter's tensor). Such a tensor object is written once, all of them point at its range.
    At the end each initializer has its own tensor again.
    """
    held = [
        (one.holder.owner, one.tensor)
        for one in tensors_of(model)
        if isinstance(one.holder.owner, ir.Value) and one.tensor is not None
    ]
    first_of: dict[Hashable, ir.TensorProtocol] = {}
    replaced: list[tuple[ir.Value, ir.TensorProtocol]] = []
    try:
        for value, tensor in held:
            memory = _memory_of(tensor)
            first = tensor if memory is None else first_of.setdefault(memory, tensor)
            if first is not tensor:
                replaced.append((value, tensor))
                value.const_value = first
        yield
    finally:
        # Only these: a save may point tensors that lie in files at the files that it wrote.
        for value, tensor in replaced:
            value.const_value = tensor


def _memory_of(tensor: ir.TensorProtocol) -> Hashable | None:
    """A key that two tensors share only if they show the same bytes in the same way.

    Strides are a part of it, so that a transposed view is not its base. None where that cannot be
    known: subclasses, which may compute their bytes, lazily negated or conjugated views, and
    tensors without elements.
    """
    raw = _wrapped(tensor)
    if raw is None or type(raw) not in _plain() or not raw.numel():
        return None
    if (
        raw.is_meta
        or raw.layout is not _torch().strided
        or raw.is_neg()
        or raw.is_conj()
        or raw.is_quantized
    ):
        return None
    where = (str(raw.device), raw.data_ptr(), raw.dtype, tuple(raw.shape), raw.stride())
    return type(tensor), tensor.dtype, tuple(tensor.shape), where


def _wrapped(tensor: ir.TensorProtocol) -> torch.Tensor | None:
    """The torch tensor that a tensor of the model wraps, where it is one."""
    if sys.modules.get("torch") is None or not isinstance(tensor, ir.Tensor):
        return None  # nothing can be a torch tensor; the `raw` of a lazy one would load it
    return tensor.raw if isinstance(tensor.raw, _torch().Tensor) else None


def _plain() -> tuple[type, ...]:
    return _torch().Tensor, _torch().nn.Parameter


def _torch() -> Any:
    """torch, which somebody else has imported."""
    return sys.modules["torch"]

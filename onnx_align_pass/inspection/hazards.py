"""What works, and may hurt: who refuses the model, what a next step would do to it.

These are warnings, but for `model-over-2gib`, which is an error:

- `shape-input-external`: onnxruntime and shape inference fail where a shape is external
- `model-over-2gib`, `model-near-2gib`: protobuf reads no more
- `many-mappings`, `mappings-over-limit`: one a tensor in onnxruntime; Linux allows 65,530
- `expansion`: tensors overlap, so that a repack would write far more than there is: it is refused
- `many-tiny-external`: each costs a mapping and its padding, for fewer bytes than that

Those of single tensors are in `odd_tensors`, those of data files in `file_hazards`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onnx_align_pass.errors import ExpansionError, ModelError, TensorError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.file_hazards import find_file_hazards
from onnx_align_pass.inspection.files import LookedAt
from onnx_align_pass.inspection.found import Found, found, found_together
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.inspection.odd_tensors import find_odd_tensors
from onnx_align_pass.inspection.shape_inputs import shape_inputs
from onnx_align_pass.model.emit import PROTOBUF_MAX_BYTES

__all__ = ["find_hazards", "hazards_of"]

NEAR_LIMIT: Final = PROTOBUF_MAX_BYTES // 10 * 9
MAX_MAP_COUNT: Final = 65_530
"""Linux's default for vm.max_map_count, of which a process needs some for itself."""
MANY_MAPPINGS: Final = 10_000
TINY_BYTES: Final = 1024
MANY_TINY: Final = 1000
_KEEP_INLINE: Final = "Keep small tensors inline: repack it with a larger --size-threshold."


def hazards_of(inventory: Inventory, looked: Sequence[LookedAt]) -> Iterator[Finding]:
    """List what may hurt; the codes are those of this module's docstring, and of those it names."""
    return (one.finding for one in find_hazards(inventory, looked))


def find_hazards(inventory: Inventory, looked: Sequence[LookedAt]) -> Iterator[Found]:
    """List what may hurt, with the tensors that it is about."""
    yield from _shapes(inventory)
    yield from _model_size(inventory)
    yield from _numbers(inventory)
    yield from _expansion(inventory)
    yield from find_odd_tensors(inventory)
    for one in looked:
        yield from find_file_hazards(one, inventory)


def _expansion(inventory: Inventory) -> Iterator[Found]:
    try:
        inventory.expansion.check("that a repack would write")
    except ExpansionError as error:
        yield found("warning", error)


def _shapes(inventory: Inventory) -> Iterator[Found]:
    fed = list(shape_inputs(inventory))
    if not fed:
        return
    first = fed[0]
    error = TensorError(
        "it feeds a shape, and is external",
        tensor=inventory.entries[first.tensor].slot.name,
        file=inventory.skeleton.path,
        needed="inline, where onnxruntime and shape inference read it",
        found=f"input {first.input} of {first.op_type}",
        hint="Repack it: by default tensors of rank 0 or 1 and up to 1 KiB come inline.",
        code="shape-input-external",
    )
    yield found_together("warning", error, [one.tensor for one in fed])


def _model_size(inventory: Inventory) -> Iterator[Found]:
    size = inventory.skeleton.size
    if size <= NEAR_LIMIT:
        return
    over = size > PROTOBUF_MAX_BYTES
    error = ModelError(
        "it is more than protobuf reads" if over else "it is near the most that protobuf reads",
        file=inventory.skeleton.path,
        needed=f"at most {PROTOBUF_MAX_BYTES:,} bytes",
        found=f"{size:,} bytes",
        hint="Move its weights to a data file: `onnx-align align`.",
        code="model-over-2gib" if over else "model-near-2gib",
    )
    yield found("error" if over else "warning", error)


def _numbers(inventory: Inventory) -> Iterator[Found]:
    """Too many mappings, too many of too little."""
    external = [one.source.length for one in inventory.entries if one.home and one.source]
    mappings = sum(length > 0 for length in external)
    tiny = sum(0 < length < TINY_BYTES for length in external)
    if mappings > MANY_MAPPINGS:
        over = mappings > MAX_MAP_COUNT
        error = ModelError(
            "onnxruntime maps each external tensor by itself, and these are many",
            file=inventory.skeleton.path,
            needed=f"at most {MAX_MAP_COUNT:,} mappings in a process (vm.max_map_count of Linux)",
            found=f"{mappings:,}",
            hint=_KEEP_INLINE,
            code="mappings-over-limit" if over else "many-mappings",
        )
        yield found("warning", error)
    if tiny > MANY_TINY:
        error = ModelError(
            "many tiny tensors are external: each costs a mapping and its padding",
            file=inventory.skeleton.path,
            found=f"{tiny:,} of less than {TINY_BYTES:,} bytes",
            hint=_KEEP_INLINE,
            code="many-tiny-external",
        )
        yield found("warning", error)

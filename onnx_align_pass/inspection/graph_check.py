"""onnx's own checker on a model whose weights stay in their files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import onnx
from onnx import checker

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.model.contents import strip
from onnx_align_pass.model.walk import walk
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["can_be_checked", "checker_findings"]

_ELSEWHERE: Final = onnx.TensorProto(
    data_location=onnx.TensorProto.EXTERNAL,
    external_data=[onnx.StringStringEntryProto(key="location", value="#elsewhere")],
)
"""Where tensors are said to be: for this location, of a container of models, the checker looks into
no file."""
_MOST_INDICES: Final = 1 << 30
"""Bytes of sparse indices that are read: the checker looks at each, and protobuf holds no more."""
_PART_BYTES: Final = 1 << 20


def can_be_checked(inventory: Inventory) -> bool:
    """Whether the checker can look at the model: it reads sparse indices, and trusts their size."""
    indices = [one for one in inventory.entries if _is_index(one)]
    whole = not any(one.fault for one in indices)
    size = sum(one.facts.nbytes for one in indices if one.facts is not None)
    return whole and size <= _MOST_INDICES


def checker_findings(inventory: Inventory) -> Iterator[Finding]:
    """Give the checker's complaint, if it has one; it stops at its first.

    Large and external tensors look to it as if they were elsewhere, and so do those with faults:
    what is to be said of them is said by others.

    Raises:
        ModelError: Sparse indices cannot be read.
        OSError: `filename` is the file where reading it failed.
    """
    light = onnx.ModelProto()
    light.CopyFrom(inventory.skeleton.proto)
    found = walk(light, thorough=inventory.thorough)
    for entry, (_, tensor) in zip(inventory.entries, found, strict=True):
        _lighten(entry, tensor, inventory)
    try:
        checker.check_model(light)
    except (checker.ValidationError, ValueError, RuntimeError, TypeError) as error:
        yield Finding.of("error", _complaint(error, inventory))


def _lighten(entry: Entry, tensor: onnx.TensorProto, inventory: Inventory) -> None:
    """Make a tensor small, and such that the checker has nothing to say of its bytes."""
    skeleton, facts = inventory.skeleton, entry.facts
    faulty, away = entry.fault is not None, entry.home is not None
    sized = facts is None or facts.element_bits > 0
    if not faulty and not away and not (sized and skeleton.cut_of(tensor) is not None):
        return
    strip(tensor, skeleton, sized=True)
    if faulty:
        tensor.ClearField("string_data")
    if _is_index(entry):
        tensor.raw_data = _read(entry, inventory)
    elif faulty or facts is None or facts.nbytes:
        tensor.MergeFrom(_ELSEWHERE)


def _is_index(entry: Entry) -> bool:
    return entry.slot.place.endswith(".indices")


def _read(entry: Entry, inventory: Inventory) -> bytes:
    if entry.source is None:
        return b""
    view = memoryview(bytearray(_PART_BYTES))
    parts = parts_of(entry.source, entry.slot.name, inventory.files, view)
    return b"".join(bytes(part) for _, part in parts)


def _complaint(error: Exception, inventory: Inventory) -> BrokenModelError:
    if isinstance(error, UnicodeDecodeError):
        text = "it holds names that are not UTF-8"
    else:
        text = " ".join(str(error).split())
    return BrokenModelError(
        f"onnx's checker refuses it: {text}",
        file=inventory.skeleton.path,
        hint="Runtimes that check models refuse it too; mend the exporter, or export it again.",
        code="checker",
    )

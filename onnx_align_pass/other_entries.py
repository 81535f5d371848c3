"""What a safetensors file holds beside a model's tensors: readers that know no ONNX may need it.

An entry is a model's when it has the tensor's range, type and name: under another name, as what the
model was exported from calls it, it is somebody else's, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.errors import ModelError
from onnx_align_pass.layout.safetensors import entry_type
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.paths import same_file
from onnx_align_pass.spans import FileSpan

__all__ = ["other_entries"]

_METADATA: Final = "__metadata__"
_HEADER_MAX: Final = 100_000_000


def other_entries(data: Path, model: Path) -> list[str]:
    """Names of what a data file holds and a model does not point at, its metadata among them.

    Args:
        data: The file; of one that is no safetensors file nothing is known.
        model: The model; of one that cannot be read no tensor is known.

    Raises:
        OSError: The file cannot be read.
    """
    if not data.name.lower().endswith(".safetensors") or not data.is_file():
        return []
    try:
        header, start = _header(data)
        known = set(_entries_of(model, data))
        return [
            key
            for key, entry in header.items()
            if (key == _METADATA and entry)
            or (
                (key != _METADATA and not key.startswith("__pad_"))
                and (key, *_told(entry, start)) not in known
            )
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def _header(data: Path) -> tuple[dict[str, Any], int]:
    """The entries of a header, and where the bytes behind it begin."""
    with data.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _HEADER_MAX:
            raise ValueError("a header has at most 100 MB")
        return json.loads(file.read(length).decode()), 8 + length


def _told(entry: dict[str, Any], start: int) -> tuple[int, int, str]:
    """Offset and length in the file, and dtype."""
    first, last = entry["data_offsets"]
    return start + first, last - first, str(entry["dtype"])


def _entries_of(model: Path, data: Path) -> Iterator[tuple[str, int, int, str]]:
    """What the entries of a model's tensors in a file would say; a key is a name or a place."""
    try:
        skeleton = read_skeleton(model)
    except ModelError:
        return
    is_data: dict[Path, bool] = {}
    for slot, tensor in walk(skeleton.proto):
        try:
            facts = facts_of(slot, tensor, model)
            span = locate(facts, tensor, skeleton)[0]
        except ModelError:
            continue
        if not isinstance(span, FileSpan):
            continue
        if span.path not in is_data:
            is_data[span.path] = same_file(span.path, data)
        if is_data[span.path]:
            for key in (slot.name, slot.place):
                yield key, span.offset, span.length, entry_type(facts)[0]

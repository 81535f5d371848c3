"""What a safetensors file holds beside a model's tensors: readers that know no ONNX may need it.

An entry is a model's when it has the tensor's range, type and name: under another name, as what the
model was exported from calls it, it is somebody else's, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onnx_align_pass.errors import ModelError
from onnx_align_pass.layout.names import SAFETENSORS
from onnx_align_pass.layout.safetensors import entry_type
from onnx_align_pass.layout.safetensors_header import read_header
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.paths import same_file
from onnx_align_pass.spans import FileSpan

__all__ = ["other_entries"]


def other_entries(data: Path, model: Path) -> list[str]:
    """Names of what a data file holds and a model does not point at, its metadata among them.

    Args:
        data: The file; of one that is no safetensors file nothing is known.
        model: The model; of one that cannot be read no tensor is known.

    Raises:
        OSError: The file cannot be read.
    """
    if not data.name.lower().endswith(SAFETENSORS) or not data.is_file():
        return []
    with data.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        header = read_header(read, os.fstat(file.fileno()).st_size)
    if header is None or header.problem is not None:
        return []
    known = set(_entries_of(model, data))
    others = [one.name for one in header.entries if not one.is_padding and tuple(one) not in known]
    return ["__metadata__", *others] if header.has_metadata else others


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

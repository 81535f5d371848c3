"""Tensors that hold the same bytes are tied before they are planned, so that they are stored once.

Only those are that would lie in one data file: whoever has several can go on replacing each of them
by itself. In safetensors files none are. A range that tensors share already is shared on, whatever
they ask for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from onnx_align_pass.errors import ModelError
from onnx_align_pass.layout.names import default_data_name, filled, literal
from onnx_align_pass.layout.safetensors import is_safetensors
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest
from onnx_align_pass.transfer.ahead import bare
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.same_bytes import Content, groups_of_equal, identity_of

__all__ = ["tied_by_content"]


def tied_by_content(
    requests: Sequence[TensorRequest],
    layout: LayoutPolicy,
    files: SourceFiles,
    *,
    model_name: str,
    keep_homes: bool,
) -> tuple[list[TensorRequest], list[str]]:
    """Tie external tensors of one element type, size and data file to be, whose bytes are equal.

    Shapes may differ. Ranges that are tied already are read once.

    Args:
        requests: Every tensor, in declaration order.
        layout: Names the data files.
        files: The sources.
        model_name: File name of the model, from which data files are named.
        keep_homes: Each tensor stays in the data file it is in now, by name.

    Returns:
        The requests, and what a person should know of it.

    Raises:
        ModelError: A source cannot be read.
    """
    base = default_data_name(layout, model_name)
    first_of: dict[Hashable, int] = {}
    firsts: list[int] = []
    contents: list[Content] = []
    alone = False
    for index, one in enumerate(requests):
        if one.source is None or not one.decision.external:
            firsts.append(-1)
            continue
        first = first_of.setdefault(identity_of(one.source), index)
        firsts.append(first)
        if first == index:
            file = _file_of(one, base, model_name, keep_homes)
            if is_safetensors(file):
                alone = True
                continue
            name, source = one.facts.slot.name, bare(one.source)
            contents.append(Content(index, (one.facts.dtype, file), name, source))
    groups = _groups(contents, files)
    leader = {index: group[0] for group in groups for index in group}
    tied = [
        one._replace(tie=requests[leader[first]].facts.slot.place) if first in leader else one
        for one, first in zip(requests, firsts, strict=True)
    ]
    others = sum(leader.get(first, first) != first for first in firsts)
    saved = sum(requests[index].facts.nbytes for group in groups for index in group[1:])
    return tied, _notes(others, saved, alone=alone)


def _file_of(request: TensorRequest, base: str, model_name: str, keep_homes: bool) -> str:
    """The data file that a tensor will lie in, whatever its shard, as the planner chooses it."""
    group = request.decision.group
    if group is not None:
        return filled(group, model_name)
    home = request.home if keep_homes else None
    return base if home is None or ".." in home else literal(home)


def _groups(contents: Iterable[Content], files: SourceFiles) -> list[list[int]]:
    try:
        return groups_of_equal(contents, files)
    except OSError as error:
        raise ModelError(
            f"reading failed: {error.strerror or error}",
            file=None if error.filename is None else str(error.filename),
            hint="Check the disk or its connection; copy the model elsewhere and run again.",
        ) from None


def _notes(others: int, saved: int, *, alone: bool) -> list[str]:
    notes = []
    if others:
        what = "1 tensor shares" if others == 1 else f"{others:,} tensors share"
        notes.append(f"dedupe: {what} the bytes of others, {saved:,} bytes saved")
    if alone:
        notes.append(
            "dedupe: nothing is shared in safetensors, where each tensor has its own bytes"
        )
    return notes

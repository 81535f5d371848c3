"""Every tensor of a model with where its bytes lie, whatever is wrong with any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import onnx

from onnx_align_pass.errors import ModelError, SourceChangedError
from onnx_align_pass.inspection.ranges import Claim
from onnx_align_pass.layout.expansion import Expansion, expansion_of
from onnx_align_pass.model.contents import check_empty, check_opaque
from onnx_align_pass.model.decode import DecodedTensor
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.prepare import open_sources
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.spelling import alike
from onnx_align_pass.tensors import Slot, TensorFacts
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Entry", "Inventory", "inventory_of"]


class Entry(NamedTuple):
    """One tensor. What cannot be known of it is None, and `fault` says why."""

    slot: Slot
    tensor: onnx.TensorProto
    facts: TensorFacts | None
    """None where dtype and shape make no size."""
    source: Source | None
    """Its bytes; None where it has none, or they cannot be found. It may end past its file."""
    field: str
    """What holds its bytes when it is inline: `inline` for raw_data, else the field's name."""
    home: str | None
    """Its data file, relative to the model's folder; None when inline."""
    notes: tuple[str, ...]
    """What its external data entries had to say."""
    fault: ModelError | None
    """The first thing that is wrong with it by itself; what it does to others is not looked at."""


@dataclass(frozen=True)
class Inventory:
    """A model that was read, with its files open. Its tensors are in declaration order.

    It has no slots, so that what is asked of it more than once is found once.
    """

    skeleton: Skeleton
    entries: tuple[Entry, ...]
    files: SourceFiles
    thorough: bool
    """Whether it was looked for tensors where no reader looks."""

    @cached_property
    def homes(self) -> dict[str, Path]:
        """Paths of the data files that tensors lie in, by name, in the order of their first use."""
        homes = dict.fromkeys(one.home for one in self.entries if one.home is not None)
        return {name: self.skeleton.data_path(name) for name in homes}

    @cached_property
    def names_alike(self) -> Counter[str]:
        """How many data files have a name that is one on some system, by that name."""
        return Counter(map(alike, self.homes))

    @cached_property
    def claims(self) -> dict[str, list[Claim]]:
        """What tensors have in each data file, in declaration order; empty ones have nothing."""
        claims: dict[str, list[Claim]] = {name: [] for name in self.homes}
        for index, entry in enumerate(self.entries):
            if entry.home is not None and isinstance(entry.source, FileSpan):
                _, offset, length = entry.source
                if length:
                    claims[entry.home].append(Claim(offset, length, index))
        return claims

    @cached_property
    def expansion(self) -> Expansion:
        """What all tensors have in files, and what these hold of it; shared ranges count once."""
        sound = (one.source for one in self.entries if one.fault is None)
        return expansion_of(one for one in sound if isinstance(one, FileSpan))


@contextmanager
def inventory_of(
    model: Path, *, thorough: bool = False, allow_hard_links: bool = False
) -> Iterator[Inventory]:
    """Read a model and find its tensors; its files stay open until the end of the context.

    Args:
        model: The model.
        thorough: Find also tensors where no reader looks (see `walk`), and count the numbers of
            those that hold them in typed fields.
        allow_hard_links: See `open_sources`.

    Raises:
        ModelNotFoundError: There is no such model, or it is not a file.
        BrokenModelError: It is no model at all. All else that is wrong is a fault of an entry.
        SourceChangedError: A file changed meanwhile.
    """
    with open_sources(model, allow_hard_links=allow_hard_links) as files:
        skeleton = read_skeleton(model)
        found = walk(skeleton.proto, thorough=thorough, file=model)
        entries = tuple(
            _entry(slot, one, skeleton, files, thorough=thorough) for slot, one in found
        )
        yield Inventory(skeleton, entries, files, thorough)


def _entry(
    slot: Slot,
    tensor: onnx.TensorProto,
    skeleton: Skeleton,
    files: SourceFiles,
    *,
    thorough: bool,
) -> Entry:
    facts: TensorFacts | None = None
    source: Source | None = None
    field, home = "inline", None
    notes: tuple[str, ...] = ()
    fault: ModelError | None = None
    try:
        facts = facts_of(slot, tensor, skeleton.path)
        if facts.is_external or (facts.nbytes and facts.element_bits):
            source, field, home, notes = locate(facts, tensor, skeleton)
            if isinstance(source, FileSpan) and home is not None:
                files.check(source, slot.name)
            elif thorough and isinstance(source, DecodedTensor):
                source.check()
        elif facts.element_bits:
            check_empty(facts, tensor, skeleton)
        elif thorough:
            check_opaque(facts, tensor, skeleton)
    except SourceChangedError:
        raise
    except ModelError as error:
        fault = error.as_value()
    return Entry(slot, tensor, facts, source, field, home, notes, fault)

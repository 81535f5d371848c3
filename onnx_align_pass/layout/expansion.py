"""How much more a run would write than it reads: a small model may name the same bytes many times.

Ten thousand tensors of 1 GiB, each a byte further on in one file, are a model of 1 GiB that makes
10 TiB. Ranges that are the same are tied: where they are stored once, they count once. Numbers in
typed fields are not counted: no two tensors have the same, and they grow to at most eight times
what they take in the .onnx.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple, TypeAlias

from onnx_align_pass.errors import ExpansionError
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorRequest

__all__ = [
    "DISTRUST",
    "FACTOR",
    "SLACK_BYTES",
    "Expansion",
    "FileRange",
    "check_planned",
    "check_read",
    "check_requests",
    "expansion_of",
    "spans_written",
]

FACTOR: Final = 2
"""What is written may be this often what is read: weights that two tensors share, inline or in
safetensors, where each has its own. Honest models are below: few weights are shared by more."""
SLACK_BYTES: Final = 64 << 20
"""What may be written besides: too little to harm anybody, and small models may be odd."""


DISTRUST: Final = "No exporter makes such a model: get it from somebody you trust."


class Expansion(NamedTuple):
    """What would be written, or read, of ranges of files, and what these files hold of it."""

    nbytes: int
    """Bytes of all ranges."""
    held_bytes: int
    """Bytes of their union: each byte of a file once."""

    @property
    def is_bomb(self) -> bool:
        """Whether it is more than any honest model needs."""
        surplus = self.nbytes - self.held_bytes
        return surplus > SLACK_BYTES and self.nbytes > FACTOR * self.held_bytes

    def check(self, doing: str, *, hint: str | None = None) -> None:
        """Prove that it is none.

        Args:
            doing: What would be done with the bytes.
            hint: What to do, where that is not what is to be done about one model.

        Raises:
            ExpansionError: It is one.
        """
        if self.is_bomb:
            raise ExpansionError(self.nbytes, self.held_bytes, doing, hint=hint)


FileRange: TypeAlias = FileSpan | tuple[Hashable, int, int]
"""A file, by whatever it is known, offset and length."""


def expansion_of(spans: Iterable[FileRange], *, tied: bool = True) -> Expansion:
    """Measure ranges of files.

    Args:
        spans: The ranges.
        tied: Whether those that are the same count once.
    """
    nbytes = held = 0
    for ranges in _by_file(spans):
        ranges.sort()
        reached, last = 0, None
        for one in ranges:
            if tied and one == last:
                continue
            last, (offset, length) = one, one
            nbytes += length
            end = offset + length
            if end > reached:
                held += end - offset if offset > reached else end - reached
                reached = end
    return Expansion(nbytes, held)


def _by_file(spans: Iterable[FileRange]) -> Iterable[list[tuple[int, int]]]:
    found: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    last: Hashable = object()
    ranges: list[tuple[int, int]] = []
    for file, offset, length in spans:
        if file is not last:  # to hash a path takes longer than all else
            last, ranges = file, found[file]
        ranges.append((offset, length))
    return found.values()


def spans_written(requests: Iterable[TensorRequest], plan: LayoutPlan) -> list[FileSpan]:
    """Ranges that a run copies: into data files, where tied ones are one; and into the .onnx."""
    placed = (one.request for one in plan.placements if one.tied_to is None)
    sources = [one.source for one in placed]
    sources += [one.source for one in requests if not one.decision.external]
    return [one for one in sources if isinstance(one, FileSpan)]


def check_requests(requests: Iterable[TensorRequest]) -> None:
    """Prove, before contents are read, that what tensors have in files is no bomb.

    Raises:
        ExpansionError: It is one, even if every range is written once.
    """
    spans = (one.source for one in requests if isinstance(one.source, FileSpan))
    expansion_of(spans).check("to write")


def check_planned(requests: Iterable[TensorRequest], plan: LayoutPlan) -> None:
    """Prove the same of what will be written: shared ranges may have to be written each by itself.

    Raises:
        ExpansionError: Too much would be written.
    """
    expansion_of(spans_written(requests, plan), tied=False).check("to write")


def check_read(spans: Iterable[FileSpan]) -> None:
    """Prove that reading ranges, each once, takes no more than what they hold justifies.

    Raises:
        ExpansionError: It does.
    """
    expansion_of(spans).check("to read", hint=DISTRUST)

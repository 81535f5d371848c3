"""Requests and policies for the planner: made by hand, or at random.

Random ones come from a seed that hypothesis draws: it would take ten times as long to draw each
field. Few values of each, so that tensors are tied, files are full and limits are met.
"""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import strategies as st

from onnx_align_pass.policy import LayoutPolicy, StorageDecision
from onnx_align_pass.spans import FileSpan, MemoryBytes
from onnx_align_pass.tensors import Slot, SlotKind, TensorFacts, TensorRequest

__all__ = ["any_plan", "random_layout", "random_requests", "request"]

BITS = (2, 4, 6, 8, 16, 32, 64, 128)
SIZES = (0, 1, 7, 64, 100, 300, 300, 4095, 4096, 4097, 9000, 70_000, 2**31, 2**40)
ALIGNMENTS = (1, 2, 4, 16, 64, 128)
HOMES = ("a.data", "b.data", "deep/c.data")


def request(
    number: int,
    nbytes: int,
    *,
    bits: int = 8,
    external: bool = True,
    alignment: int | None = None,
    group: str | None = None,
    home: str | None = None,
    offset: int = 0,
) -> TensorRequest:
    """A tensor of `nbytes`; with a home it lies there at `offset`, without one it is inline."""
    slot = Slot(f"graph.initializer[{number}]", f"w{number}", SlotKind.INITIALIZER)
    is_external = home is not None
    facts = TensorFacts(slot, "UINT8", (nbytes,), nbytes, bits, is_external)
    source = MemoryBytes(b"") if home is None else FileSpan(Path(home), offset, nbytes)
    decision = StorageDecision(external, "drawn", alignment=alignment, group=group)
    return TensorRequest(facts, source, decision, home=home)


def random_requests(seed: int, count: int) -> list[TensorRequest]:
    """The tensors of a model."""
    rng = random.Random(seed)
    return [random_request(rng, number) for number in range(count)]


def random_request(rng: random.Random, number: int) -> TensorRequest:
    home = rng.choice((None, *HOMES))
    size = rng.choice((rng.choice(SIZES), rng.randrange(10_000)))
    return request(
        number,
        size if home is None else rng.choice((300, 300, 64, size)),
        bits=rng.choice(BITS),
        external=rng.random() < 0.8,
        alignment=rng.choice((None, None, None, rng.choice(ALIGNMENTS))),
        group=rng.choice((None, None, None, None, "x.bin", "deep/y.bin")),
        home=home,
        offset=rng.choice((0, 0, 300)),
    )


def random_layout(seed: int) -> LayoutPolicy:
    """A policy, its alignments small enough for a loop to search the next multiple."""
    rng = random.Random(seed)
    return LayoutPolicy(
        alignment=rng.choice(ALIGNMENTS),
        small_alignment=rng.choice(ALIGNMENTS),
        align_threshold=rng.choice((0, 100, 4096, 10**6)),
        element_floor=rng.random() < 0.5,
        pad=rng.choice(("none", "file", "tensor")),
        max_shard_size_bytes=rng.choice((None, 1, 500, 5000, 10_000, 100_000, 2**31)),
        data_name=rng.choice((None, "weights.bin", "{stem}_data")),
    )


any_plan: dict[str, st.SearchStrategy[object]] = {
    "requests": st.builds(random_requests, st.integers(0, 2**32), st.integers(0, 14)),
    "layout": st.builds(random_layout, st.integers(0, 2**32)),
    "keep_homes": st.booleans(),
}
"""Arguments of a test for any plan at all."""

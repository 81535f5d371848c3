"""A tensor's place in a model, what is known of it, and what is asked for it.

Named tuples, not dataclasses: a model has up to hundreds of thousands of each, and a frozen
dataclass takes three times as long to make.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from onnx_align_pass.policy import StorageDecision
    from onnx_align_pass.spans import Source

__all__ = [
    "Feed",
    "Slot",
    "SlotKind",
    "TensorFacts",
    "TensorRequest",
    "feed",
    "is_constant",
    "name_of_node",
]

Feed: TypeAlias = tuple[str, str, int]
"""An input of an op: domain (empty for the standard one), type, and which input, from 0."""
_STANDARD: Final = ("", "ai.onnx")


class SlotKind(Enum):
    """What a tensor hangs on."""

    INITIALIZER = "initializer"
    ATTRIBUTE = "attribute"
    SPARSE = "sparse"
    TRAINING = "training"


class Slot(NamedTuple):
    """Where a tensor hangs in the model."""

    place: str
    """Its position, unique in the model: `graph.node[3].attribute[0].t`."""
    name: str
    """The name by which a person finds it; the place where it has none."""
    kind: SlotKind


def name_of_node(op_type: str, name: str, outputs: Sequence[str]) -> str:
    """The name by which a person finds a node: a Constant is known by what it makes."""
    return outputs[0] if outputs and (op_type == "Constant" or not name) else name


def is_constant(domain: str, op_type: str) -> bool:
    """Whether an op is the standard's Constant, whose output is the tensor in its attribute."""
    return op_type == "Constant" and domain in _STANDARD


def feed(domain: str, op_type: str, index: int) -> Feed:
    """An input of an op; the standard domain has two names, of which the empty one is taken."""
    return "" if domain in _STANDARD else domain, op_type, index


class TensorFacts(NamedTuple):
    """What a storage decision may depend on."""

    slot: Slot
    dtype: str
    """The field's name of the element type, such as `FLOAT16`."""
    shape: tuple[int, ...]
    nbytes: int
    """Bytes of the tensor, from dtype and shape; packed types rounded up."""
    element_bits: int
    """Bits of one element; 0 where elements have no fixed size (strings) or an unknown one."""
    is_external: bool
    """Whether its bytes are in a data file now."""
    feeds: tuple[Feed, ...] = ()
    """The op inputs that it goes into, each once, sorted; empty where no rule asks for them."""


class TensorRequest(NamedTuple):
    """A tensor with its bytes and the decision where they shall be: what a plan is made from."""

    facts: TensorFacts
    source: Source | None
    """Its bytes; None where it stays inline as it is."""
    decision: StorageDecision
    field: str = "inline"
    """What holds its bytes when it is inline: `inline` for raw_data, else the field's name."""
    home: str | None = None
    """The data file it lives in now, as the model names it; None when inline."""
    tie: Hashable = None
    """Tensors of one tie share one range; None: those do that share one now."""

    @property
    def origin(self) -> str:
        """Where its bytes are now, for people: `inline`, `float_data`, `model.data @ 4096`."""
        if self.home is None:
            return self.field
        return f"{self.home} @ {getattr(self.source, 'offset', 0)}"

"""Which tensors are external, and how they lie in their files: the knobs, each said once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from onnx_align_pass.checks import at_least, plain_name, power_of_two, regular_expression
from onnx_align_pass.errors import PolicyError
from onnx_align_pass.printable import printable
from onnx_align_pass.rules import Rule, Wishes, wishes_of
from onnx_align_pass.rules_text import rule_text
from onnx_align_pass.tensors import SlotKind, TensorFacts

__all__ = ["LayoutPolicy", "Predicate", "StorageDecision", "StoragePolicy"]

Predicate: TypeAlias = Callable[[TensorFacts], bool]

SHAPE_INPUT_MAX_BYTES = 1024
"""Tensors of rank 0 or 1 up to this size feed shapes (Reshape, Split, Slice, Resize, Range ...).

onnxruntime, shape inference and onnx's full checker fail when such an input is external.
"""


@dataclass(frozen=True, slots=True)
class StorageDecision:
    """Where one tensor's bytes shall be.

    Raises:
        PolicyError: The alignment is not a power of two, or the group is not a plain relative name.
    """

    external: bool
    reason: str
    """Why, in a few words: shown by `plan`."""
    alignment: int | None = None
    """Bytes; overrides the layout's alignment for this tensor."""
    group: str | None = None
    """Name of the data file that this tensor goes into, in place of the default one; a template,
    as `LayoutPolicy.data_name` is."""

    def __post_init__(self) -> None:
        if self.alignment is not None:
            power_of_two("alignment", self.alignment)
        if self.group is not None:
            plain_name(self.group)


# Looked up once: an enum's member costs more than all else that is asked of a tensor.
_INITIALIZER, _ATTRIBUTE = SlotKind.INITIALIZER, SlotKind.ATTRIBUTE
_EMPTY = StorageDecision(False, "empty")
_STRING = StorageDecision(False, "strings are inline by the specification")
_UNKNOWN = StorageDecision(False, "element type of unknown size")
_SHAPE = StorageDecision(False, "rank 0 or 1 and at most 1 KiB: may feed a shape")
_SMALL = StorageDecision(False, "below the size threshold")
_LARGE = StorageDecision(True, "at or above the size threshold")
_KEPT_IN = StorageDecision(False, "kept inline")
_KEPT_OUT = StorageDecision(True, "kept external")
_FORCED_IN = StorageDecision(False, "asked to be inline")
_FORCED_OUT = StorageDecision(True, "asked to be external")


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """Which tensors are external data, and which are inline in the model file.

    Raises:
        PolicyError: A size is negative, a pattern is not a regular expression, or a rule no `Rule`.
    """

    size_threshold_bytes: int | None = 1024
    """Tensors of at least this many bytes are external, smaller ones inline, whatever they were.

    None keeps each tensor where it is.
    """
    convert_attribute: bool = True
    """Whether attribute tensors (Constant, also in subgraphs and functions) count too."""
    external: tuple[str, ...] = ()
    """Regular expressions; a tensor whose whole name matches is external, whatever its size."""
    inline: tuple[str, ...] = ()
    """Regular expressions; a tensor whose whole name matches is inline. Wins over `external`."""
    external_if: Predicate | None = field(default=None, compare=False)
    """A tensor for which this is true is external."""
    inline_if: Predicate | None = field(default=None, compare=False)
    """A tensor for which this is true is inline. Wins over `external_if`."""
    rules: tuple[Rule, ...] = ()
    """Wishes for single tensors: each is taken from the first rule that matches and states it.

    `inline` and `inline_if` win over rules; rules win over all else. One that states an alignment
    or a group alone leaves open whether a tensor is external.
    """

    def __post_init__(self) -> None:
        if self.size_threshold_bytes is not None:
            at_least("size_threshold_bytes", self.size_threshold_bytes, 0)
        _patterns("external", self.external)
        _patterns("inline", self.inline)
        if not isinstance(self.rules, tuple) or not all(
            isinstance(one, Rule) for one in self.rules
        ):
            raise PolicyError("rules", self.rules, "a tuple of rules")

    @property
    def asks_inputs(self) -> bool:
        """Whether a rule asks which op inputs a tensor goes into (`TensorFacts.feeds`)."""
        return any(rule.inputs for rule in self.rules)

    def decide(self, facts: TensorFacts) -> StorageDecision:
        """Decide where a tensor's bytes shall be, and say why."""
        if facts.nbytes == 0 or facts.element_bits == 0:
            return _fixed(facts)
        if self.rules:
            wishes = wishes_of(self.rules, facts)
            if any(wishes):
                return _under_rules(self._without_rules(facts), wishes)
        return self._without_rules(facts)

    def _without_rules(self, facts: TensorFacts) -> StorageDecision:
        if self.inline or self.external or self.inline_if or self.external_if:
            forced = self._forced(facts)
            if forced is not None:
                return forced
        if self.size_threshold_bytes is None or self._is_kept(facts.slot.kind):
            return _KEPT_OUT if facts.is_external else _KEPT_IN
        if facts.nbytes < self.size_threshold_bytes:
            return _SMALL
        if len(facts.shape) <= 1 and facts.nbytes <= SHAPE_INPUT_MAX_BYTES:
            return _SHAPE
        return _LARGE

    def _is_kept(self, kind: SlotKind) -> bool:
        """Whether tensors of this kind stay where they are."""
        if kind is _ATTRIBUTE:
            return not self.convert_attribute
        return kind is not _INITIALIZER

    def _forced(self, facts: TensorFacts) -> StorageDecision | None:
        name = facts.slot.name
        if any(re.fullmatch(pattern, name) for pattern in self.inline):
            return _FORCED_IN
        if self.inline_if is not None and self.inline_if(facts):
            return _FORCED_IN
        if any(re.fullmatch(pattern, name) for pattern in self.external):
            return _FORCED_OUT
        if self.external_if is not None and self.external_if(facts):
            return _FORCED_OUT
        return None


@lru_cache(maxsize=4096)
def _under_rules(decision: StorageDecision, wishes: Wishes) -> StorageDecision:
    """Lay the wishes of rules over a decision; the reason names the rules that count."""
    forced = None if decision == _FORCED_IN else wishes.external
    external = decision.external if forced is None else bool(forced.external)
    counting = (forced, wishes.alignment, wishes.group) if external else (forced,)
    named = dict.fromkeys(f"rule '{printable(rule_text(one))}'" for one in counting if one)
    return StorageDecision(
        external,
        "; ".join([*([] if forced else [decision.reason]), *named]),
        wishes.alignment.alignment if wishes.alignment else None,
        wishes.group.group if wishes.group else None,
    )


def _fixed(facts: TensorFacts) -> StorageDecision:
    """Decisions that no policy changes: there is nothing to move, or nothing to size it by."""
    if facts.dtype == "STRING":
        return _STRING
    return _UNKNOWN if facts.element_bits == 0 else _EMPTY


@dataclass(frozen=True, slots=True)
class LayoutPolicy:
    """How external tensors lie in their data files. All sizes are bytes.

    Raises:
        PolicyError: An alignment is not a power of two, a size is out of range, or a name template
            is not a plain relative name.
    """

    alignment: int = 4096
    """Every tensor starts at a multiple of this; a power of two."""
    align_threshold: int = 0
    """Tensors smaller than this get `small_alignment` in place of `alignment`."""
    small_alignment: int = 64
    """Alignment of the tensors below `align_threshold`; never above `alignment`."""
    element_floor: bool = False
    """Raise an alignment to the element's size, so that packed tensors have safe pointers.

    Always on for tensors below `align_threshold`.
    """
    pad: Literal["none", "file", "tensor"] = "none"
    """What is rounded up to the alignment: nothing, each file's end, or each tensor's end."""
    max_shard_size_bytes: int | None = None
    """A new data file is begun rather than grow one past this; None: no limit.

    A tensor that is larger by itself has a file of its own, and the plan notes it.
    """
    max_file_bytes: int | None = None
    """What the consumer can read: a new data file is begun before one is larger; a tensor for which
    even a file of its own would be is refused. Padding and headers count."""
    max_files: int | None = None
    """How many data files the consumer reads; more are refused."""
    data_name: str | None = None
    """Name of the data file, relative to the model's folder; None: the model's name + `.data`.

    `{model}` is the model file's name, `{stem}` that name without `.onnx`. `{shard}` and `{shards}`
    are a shard's number and how many there are, in five digits; `{_n}` is nothing for the first
    shard, then `_1`, `_2` ... Where there are several shards, a name without any of these gets
    `-{shard}-of-{shards}` before its suffixes.

    A name that ends in `.safetensors` makes a valid safetensors file that the model points into:
    no two tensors share bytes there.
    """
    dedupe: bool = False
    """Whether tensors of equal dtype, size and bytes are stored once, within a data file.

    What looks alike is read when the plan is made. A range that tensors share already stays one,
    with or without this. In a safetensors file each tensor has its own bytes.
    """

    def __post_init__(self) -> None:
        power_of_two("alignment", self.alignment)
        power_of_two("small_alignment", self.small_alignment)
        at_least("align_threshold", self.align_threshold, 0)
        if self.max_shard_size_bytes is not None:
            at_least("max_shard_size_bytes", self.max_shard_size_bytes, 1)
        if self.max_file_bytes is not None:
            at_least("max_file_bytes", self.max_file_bytes, 1)
        if self.max_files is not None:
            at_least("max_files", self.max_files, 1)
        if self.pad not in ("none", "file", "tensor"):
            raise PolicyError("pad", self.pad, "one of none, file, tensor")
        if self.data_name is not None:
            plain_name(self.data_name)

    @property
    def keeps_homes(self) -> bool:
        """Whether in place each tensor stays in the data file it is in: no other is asked for."""
        return self.data_name is None and self.max_shard_size_bytes is None

    @property
    def uniform_alignment(self) -> int | None:
        """Alignment of every tensor that asks for none itself; None where it depends on them."""
        return None if self.align_threshold or self.element_floor else self.alignment

    def alignment_of(self, nbytes: int, element_bits: int, override: int | None) -> int:
        """Alignment of one tensor, in bytes."""
        if override is not None:
            return override
        if nbytes < self.align_threshold:
            return max(min(self.small_alignment, self.alignment), _element_floor(element_bits))
        if self.element_floor:
            return max(self.alignment, _element_floor(element_bits))
        return self.alignment


@cache
def _element_floor(element_bits: int) -> int:
    """Bytes that a pointer to an element is a multiple of: whole, and a power of two."""
    element_bytes = max(1, (element_bits + 7) // 8)
    return 1 << (element_bytes - 1).bit_length()


def _patterns(option: str, patterns: object) -> None:
    # A lone text is a sequence of texts too: of its letters.
    if not isinstance(patterns, tuple) or not all(isinstance(one, str) for one in patterns):
        raise PolicyError(option, patterns, "a tuple of regular expressions")
    for pattern in patterns:
        regular_expression(option, pattern)

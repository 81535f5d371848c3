"""Rules: what is wished for the tensors of a name, type or size, or that feed certain ops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, NamedTuple, TypeAlias

from onnx_align_pass.checks import (
    at_least,
    is_whole,
    plain_name,
    power_of_two,
    regular_expression,
)
from onnx_align_pass.dtypes import BITS_BY_NAME
from onnx_align_pass.errors import PolicyError
from onnx_align_pass.tensors import Feed, TensorFacts

__all__ = ["ANY_NAME", "OP", "OpInput", "Rule", "Wishes", "name_pattern", "unmatched", "wishes_of"]

ANY_NAME: Final = ".*"
"""The pattern that is the same as none."""
OpInput: TypeAlias = tuple[str, int | None]
"""An op, and which of its inputs, from 0; None: any of them.

`MatMul` is an op of any domain, `com.microsoft::MatMulNBits` one of this; the standard's is
`ai.onnx`.
"""
OP: Final = r'(?:[^\s,|:"=]+::)?[^\s,|:"=.]+'
"""A regular expression for the op of an `OpInput`."""
_MOST_INPUTS: Final = 1 << 31
"""More than protobuf can hold."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is wished for the tensors for which every condition holds.

    `StoragePolicy.rules` says how several rules, and the policy's other fields, go together.

    Raises:
        PolicyError: A field has a value that it cannot have, or nothing is wished.
    """

    name: str | None = None
    """Condition: a regular expression that the whole name matches. None, or `.*`: any name."""
    _: KW_ONLY
    dtype: tuple[str, ...] = ()
    """Condition: the element type is one of these, such as `FLOAT16`. Empty: any type."""
    min_bytes: int | None = None
    """Condition: at least this many bytes."""
    max_bytes: int | None = None
    """Condition: at most this many bytes."""
    inputs: tuple[OpInput, ...] = ()
    """Condition: the tensor goes into one of these inputs, such as `("MatMul", 1)`. Empty: any.

    Only what it goes into directly counts, by its name or as the output of its Constant: not what
    comes behind an Identity, nor what a function does with it.
    """
    alignment: int | None = None
    """Wish: bytes, a power of two, in place of the layout's alignment."""
    external: bool | None = None
    """Wish: True is external data, whatever the size; False is inline; None leaves it open."""
    group: str | None = None
    """Wish: name of the data file, in place of the default one; placeholders as in `data_name`."""
    _pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = None if self.name == ANY_NAME else self.name
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_pattern", None if name is None else name_pattern(name))
        owner = f"of the rule for {name or ANY_NAME!r}"
        _check_dtype(f"dtype {owner}", self.dtype)
        _check_inputs(f"inputs {owner}", self.inputs)
        least = 0
        for field_name, size in (("min_bytes", self.min_bytes), ("max_bytes", self.max_bytes)):
            if size is not None:
                at_least(f"{field_name} {owner}", size, least)
                least = size
        if self.alignment is not None:
            power_of_two(f"alignment {owner}", self.alignment)
        if self.group is not None:
            plain_name(self.group, f"group {owner}")
        if self.external not in (None, True, False):
            raise PolicyError(f"external {owner}", self.external, "True, False or None")
        if (self.alignment, self.external, self.group) == (None, None, None):
            raise PolicyError(f"wishes {owner}", (), "at least one of alignment, external, group")

    def matches(self, facts: TensorFacts) -> bool:
        """Whether every condition holds for a tensor."""
        return (
            (not self.dtype or facts.dtype in self.dtype)
            and (self.min_bytes is None or facts.nbytes >= self.min_bytes)
            and (self.max_bytes is None or facts.nbytes <= self.max_bytes)
            and (self._pattern is None or self._pattern.fullmatch(facts.slot.name) is not None)
            and (not self.inputs or any(map(self._takes, facts.feeds)))
        )

    def _takes(self, feed: Feed) -> bool:
        domain, op_type, index = feed
        ops = (op_type, f"{domain or 'ai.onnx'}::{op_type}")
        return any(op in ops and at in (None, index) for op, at in self.inputs)


class Wishes(NamedTuple):
    """For one tensor, the rule that each wish is taken from; None where there is none."""

    alignment: Rule | None
    external: Rule | None
    group: Rule | None


def wishes_of(rules: Iterable[Rule], facts: TensorFacts) -> Wishes:
    """Ask the rules in their order: of those that match, the first that states a wish has it."""
    alignment = external = group = None
    for rule in rules:
        if rule.matches(facts):
            if alignment is None and rule.alignment is not None:
                alignment = rule
            if external is None and rule.external is not None:
                external = rule
            if group is None and rule.group is not None:
                group = rule
    return Wishes(alignment, external, group)


def unmatched(rules: Sequence[Rule], tensors: Iterable[TensorFacts]) -> list[Rule]:
    """List the rules that match none of a model's tensors: their patterns may be misspelt.

    Empty tensors and those of unsized elements are no match: no rule moves them.
    """
    left = list(rules)
    for facts in tensors:
        if not left:
            break
        if facts.nbytes:
            left = [one for one in left if not one.matches(facts)]
    return left


def name_pattern(name: object, option: str = "name of a rule") -> re.Pattern[str]:
    """Compile the pattern of a rule's name.

    Raises:
        PolicyError: It is no regular expression, or one that is meant otherwise for sure.
    """
    if not isinstance(name, str) or not name:
        raise PolicyError(option, name, f"a regular expression; {ANY_NAME} is any name")
    if name.startswith("*"):
        example = repr(f".{name}")
        raise PolicyError(option, name, f"a regular expression: any text is .*, as in {example}")
    if name != name.strip():
        raise PolicyError(option, name, "no blanks around it; a blank itself is written [ ]")
    return regular_expression(option, name)


def _check_dtype(option: str, dtype: object) -> None:
    if not isinstance(dtype, tuple):
        raise PolicyError(option, dtype, "a tuple of types, such as ('FLOAT16',)")
    for one in dtype:
        if not isinstance(one, str) or one not in BITS_BY_NAME:
            raise PolicyError(option, one, f"one of {', '.join(BITS_BY_NAME)}")


def _check_inputs(option: str, inputs: object) -> None:
    if not isinstance(inputs, tuple):
        raise PolicyError(option, inputs, "a tuple of pairs, such as (('MatMul', 1),)")
    for one in inputs:
        op, index = one if isinstance(one, tuple) and len(one) == 2 else (None, None)
        if not isinstance(op, str) or not re.fullmatch(OP, op):
            needed = "an op and one of its inputs or None: ('MatMul', 1), ('domain::Op', None)"
            raise PolicyError(option, one, needed)
        if index is not None and not (is_whole(index) and 0 <= index < _MOST_INPUTS):
            raise PolicyError(option, one, "a number from 0, or None, as the input")

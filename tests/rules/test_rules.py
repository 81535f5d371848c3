"""What rules decide: each wish from the first that matches, under the policy's other fields."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from onnx_align_pass import AlignError, PolicyError, StoragePolicy
from onnx_align_pass.rules import Rule, unmatched
from onnx_align_pass.rules_text import rule_notes
from onnx_align_pass.tensors import Slot, SlotKind, TensorFacts

from .drawn import FACTS, POLICIES


def holds(rule: Rule, facts: TensorFacts) -> bool:
    """Whether all conditions hold, each said in the plainest way."""
    if rule.name is not None and not re.fullmatch(rule.name, facts.slot.name):
        return False
    if rule.dtype and facts.dtype not in rule.dtype:
        return False
    if rule.min_bytes is not None and facts.nbytes < rule.min_bytes:
        return False
    if rule.max_bytes is not None and facts.nbytes > rule.max_bytes:
        return False
    if not rule.inputs:
        return True
    for op, index in rule.inputs:
        for domain, op_type, at in facts.feeds:
            full = f"{domain or 'ai.onnx'}::{op_type}"
            if (op == full if "::" in op else op == op_type) and (index is None or index == at):
                return True
    return False


def first_wish(rules: tuple[Rule, ...], facts: TensorFacts, wish: str) -> Any:
    for rule in rules:
        if holds(rule, facts) and getattr(rule, wish) is not None:
            return getattr(rule, wish)
    return None


@settings(max_examples=500, deadline=None)
@given(policy=POLICIES, facts=FACTS)
def test_each_wish_is_that_of_the_first_rule_that_matches_and_states_it(
    policy: StoragePolicy, facts: TensorFacts
) -> None:
    decision = policy.decide(facts)
    without = replace(policy, rules=()).decide(facts)
    external = first_wish(policy.rules, facts, "external")
    if external is None or any(re.fullmatch(one, facts.slot.name) for one in policy.inline):
        external = without.external
    assert decision.external == external
    assert decision.alignment == first_wish(policy.rules, facts, "alignment")
    assert decision.group == first_wish(policy.rules, facts, "group")
    assert decision.reason


@settings(max_examples=500, deadline=None)
@given(policy=POLICIES, facts=FACTS)
def test_a_rule_is_listed_as_unmatched_just_where_it_matches_nothing(
    policy: StoragePolicy, facts: TensorFacts
) -> None:
    wanted = [rule for rule in policy.rules if not holds(rule, facts)]
    assert unmatched(policy.rules, [facts]) == wanted


def tensor(name: str = "decoder.w", nbytes: int = 5000, **fields: Any) -> TensorFacts:
    facts = TensorFacts(
        Slot("graph.initializer[0]", name, SlotKind.INITIALIZER),
        "FLOAT", (5, nbytes), nbytes, 32, is_external=False,
    )  # fmt: skip
    return facts._replace(**fields)


ALIGNED, OUT, IN = (
    Rule("d.*", alignment=64),
    Rule("d.*", external=True),
    Rule("d.*", external=False),
)
REASONS: list[tuple[str, StoragePolicy, TensorFacts, bool, str]] = [
    (
        "an alignment leaves open whether it is external",
        StoragePolicy(rules=(ALIGNED,)),
        tensor(),
        True,
        "at or above the size threshold; rule 'd.*: alignment=64'",
    ),
    (
        "and says nothing of what stays inline",
        StoragePolicy(rules=(ALIGNED,)),
        tensor(nbytes=5),
        False,
        "below the size threshold",
    ),
    (
        "external wins over the size",
        StoragePolicy(rules=(OUT,)),
        tensor(nbytes=5),
        True,
        "rule 'd.*: external'",
    ),
    ("inline too", StoragePolicy(rules=(IN,)), tensor(), False, "rule 'd.*: inline'"),
    (
        "a rule wins over external=",
        StoragePolicy(external=(".*",), rules=(IN,)),
        tensor(),
        False,
        "rule 'd.*: inline'",
    ),
    (
        "and over external_if=",
        StoragePolicy(external_if=lambda _: True, rules=(IN,)),
        tensor(),
        False,
        "rule 'd.*: inline'",
    ),
    (
        "inline= wins over a rule",
        StoragePolicy(inline=(".*",), rules=(OUT,)),
        tensor(),
        False,
        "asked to be inline",
    ),
    (
        "and inline_if=",
        StoragePolicy(inline_if=lambda _: True, rules=(OUT,)),
        tensor(),
        False,
        "asked to be inline",
    ),
    (
        "external= and an alignment go together",
        StoragePolicy(external=(".*",), rules=(ALIGNED,)),
        tensor(nbytes=5),
        True,
        "asked to be external; rule 'd.*: alignment=64'",
    ),
    (
        "two rules",
        StoragePolicy(rules=(OUT, Rule(alignment=128, external=False))),
        tensor(),
        True,
        "rule 'd.*: external'; rule '.*: alignment=128 inline'",
    ),
    (
        "a rule of two wishes is named once",
        StoragePolicy(rules=(Rule(external=True, alignment=128, group="x"),)),
        tensor(),
        True,
        "rule '.*: alignment=128 external group=x'",
    ),
    (
        "what was not wished for",
        StoragePolicy(rules=(Rule("e.*", external=False),)),
        tensor(),
        True,
        "at or above the size threshold",
    ),
    (
        "a kind that is kept where it is",
        StoragePolicy(convert_attribute=False, rules=(OUT,)),
        tensor(slot=Slot("p", "d", SlotKind.ATTRIBUTE)),
        True,
        "rule 'd.*: external'",
    ),
    ("an empty tensor", StoragePolicy(rules=(OUT,)), tensor(nbytes=0), False, "empty"),
    (
        "a string",
        StoragePolicy(rules=(OUT,)),
        tensor(nbytes=0, element_bits=0, dtype="STRING"),
        False,
        "strings are inline by the specification",
    ),
    (
        "an unsized type",
        StoragePolicy(rules=(OUT,)),
        tensor(nbytes=0, element_bits=0, dtype="99"),
        False,
        "element type of unknown size",
    ),
    (
        "a pattern with a control character",
        StoragePolicy(rules=(Rule("d.*|\x1b", external=True),)),
        tensor(),
        True,
        r"rule 'd.*|\x1b: external'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "facts", "external", "reason"),
    [row[1:] for row in REASONS],
    ids=[row[0] for row in REASONS],
)
def test_the_reason_names_the_rules_that_count(
    policy: StoragePolicy, facts: TensorFacts, external: bool, reason: str
) -> None:
    decision = policy.decide(facts)
    assert (decision.external, decision.reason) == (external, reason)


def test_an_inline_tensor_keeps_its_alignment_for_a_tag_may_make_it_external() -> None:
    decision = StoragePolicy(rules=(ALIGNED, Rule(group="x"))).decide(tensor(nbytes=5))
    assert (decision.external, decision.alignment, decision.group) == (False, 64, "x")


def test_an_empty_tensor_or_a_string_is_no_match() -> None:
    nothing = [tensor(nbytes=0), tensor(nbytes=0, element_bits=0, dtype="STRING")]
    assert unmatched((OUT,), nothing) == [OUT]
    assert unmatched((OUT,), [*nothing, tensor()]) == []
    assert unmatched((), nothing) == []
    assert rule_notes((Rule(r"decodr\..*", alignment=64),), [tensor()]) == [
        r"the rule 'decodr\..*: alignment=64' matches no tensor"
    ]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": "("}, "name of a rule cannot be '('"),
    ({"name": ""}, "name of a rule cannot be ''"),
    ({"name": "*"}, "any text is .*, as in '.*'"),
    ({"name": "*.w"}, "any text is .*, as in '.*.w'"),
    ({"name": " w"}, "no blanks around it"),
    ({"name": b"w"}, "name of a rule cannot be b'w'"),
    ({"name": "a{99999999999999999999}"}, "name of a rule cannot be"),
    ({"alignment": 3}, "alignment of the rule for 'd' cannot be 3"),
    ({"alignment": "64"}, "alignment of the rule for 'd' cannot be '64'"),
    ({"group": "../x"}, "group of the rule for 'd' cannot be '../x'"),
    ({"external": "yes"}, "external of the rule for 'd' cannot be 'yes'"),
    ({"external": None}, "wishes of the rule for 'd' cannot be ()"),
    ({"name": None, "external": None}, "wishes of the rule for '.*' cannot be ()"),
    ({"dtype": "FLOAT"}, "dtype of the rule for 'd' cannot be 'FLOAT'"),
    ({"dtype": ("FP16",)}, "dtype of the rule for 'd' cannot be 'FP16'"),
    ({"dtype": ("STRING",)}, "dtype of the rule for 'd' cannot be 'STRING'"),
    ({"dtype": (1,)}, "dtype of the rule for 'd' cannot be 1"),
    ({"min_bytes": -1}, "min_bytes of the rule for 'd' cannot be -1"),
    ({"max_bytes": 1.5}, "max_bytes of the rule for 'd' cannot be 1.5"),
    ({"min_bytes": 10, "max_bytes": 9}, "max_bytes of the rule for 'd' cannot be 9"),
    ({"inputs": "MatMul"}, "inputs of the rule for 'd' cannot be 'MatMul'"),
    ({"inputs": ("MatMul", 1)}, "inputs of the rule for 'd' cannot be 'MatMul'"),
    ({"inputs": (("MatMul",),)}, "cannot be ('MatMul',)"),
    ({"inputs": (("MatMul", -1),)}, "cannot be ('MatMul', -1)"),
    ({"inputs": (("MatMul", True),)}, "cannot be ('MatMul', True)"),
    ({"inputs": (("MatMul", 1 << 31),)}, "cannot be ('MatMul', 2147483648)"),
    ({"inputs": (("Mat Mul", 1),)}, "cannot be ('Mat Mul', 1)"),
    ({"inputs": (("com.microsoft.MatMulNBits", 1),)}, "cannot be ('com.microsoft.MatMulNBits', 1)"),
    ({"inputs": (("", None),)}, "cannot be ('', None)"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "text"), BAD, ids=ascii)
def test_a_bad_rule_cannot_be_made_and_the_error_names_it(
    fields: dict[str, Any], text: str
) -> None:
    with pytest.raises(PolicyError, match=re.escape(text)) as error:
        Rule(**{"name": "d", "external": True, **fields})
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, AlignError)
    assert error.value.needed


@pytest.mark.parametrize("rules", [[OUT], OUT, ("d.*: external",), None], ids=ascii)
def test_a_policy_takes_a_tuple_of_rules_and_nothing_else(rules: Any) -> None:
    with pytest.raises(PolicyError, match="needed a tuple of rules"):
        StoragePolicy(rules=rules)


def test_a_rule_is_a_frozen_value() -> None:
    rule = Rule(r"decoder\..*", dtype=("FLOAT16",), inputs=(("MatMul", 1),), alignment=64)
    assert rule == replace(rule)
    assert hash(rule) == hash(replace(rule))
    again = pickle.loads(pickle.dumps(rule))
    assert again == rule
    assert again.matches(tensor("decoder.w", dtype="FLOAT16", feeds=(("", "MatMul", 1),)))
    assert Rule(".*", alignment=64) == Rule(alignment=64)
    assert repr(rule).startswith("Rule(name='decoder")
    with pytest.raises(AttributeError):
        rule.alignment = 128  # type: ignore[misc]


def test_a_policy_says_whether_it_asks_for_inputs() -> None:
    assert not StoragePolicy().asks_inputs
    assert not StoragePolicy(rules=(ALIGNED,)).asks_inputs
    assert StoragePolicy(rules=(ALIGNED, Rule(inputs=(("Conv", None),), alignment=64))).asks_inputs

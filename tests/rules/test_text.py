"""The text form of a rule: what is written reads back, and what cannot be read is pointed at."""

from __future__ import annotations

import re

import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onnx_align_pass import AlignError, PolicyError
from onnx_align_pass.dtypes import BITS_BY_NAME
from onnx_align_pass.errors import RuleTextError, UsageError
from onnx_align_pass.rules import Rule
from onnx_align_pass.rules_text import parse_rule, rule_text

from .drawn import RULES

ODD = st.text(alphabet="ab.: =,\"'\\|*()[]{}\n\t", min_size=1, max_size=12) | st.text(max_size=8)


@settings(max_examples=300, deadline=None)
@given(rule=RULES)
def test_a_rule_that_is_written_is_read_back(rule: Rule) -> None:
    assert parse_rule(rule_text(rule)) == rule


@settings(max_examples=500, deadline=None)
@given(name=ODD, group=ODD)
@example(name="a: external", group="b: inline")
@example(name='x="a', group='b": inline')
@example(name="a:", group=" ")
@example(name="(?:a|b)", group="::")
def test_odd_names_and_groups_are_read_back_or_refused_at_birth(name: str, group: str) -> None:
    try:
        rule = Rule(name, alignment=64, group=group)
    except PolicyError:
        return
    assert parse_rule(rule_text(rule)) == rule
    again = Rule(name, alignment=64)
    assert parse_rule(rule_text(again)) == again


@settings(max_examples=500, deadline=None)
@given(text=ODD | st.text(alphabet='ab.: =,"|1', max_size=30) | st.text(max_size=30))
def test_any_text_is_a_rule_or_a_named_error_with_the_text_in_it(text: str) -> None:
    said = None
    try:
        rule = parse_rule(text)
        assert parse_rule(rule_text(rule)) == rule
    except RuleTextError as error:
        said = error
    if said is not None:
        assert said.rule == text
        assert str(said).isprintable()
        assert str(said).startswith("'")


READ: dict[str, Rule] = {
    "decoder.*: alignment=64": Rule("decoder.*", alignment=64),
    "decoder.*:alignment=64": Rule("decoder.*", alignment=64),
    "  decoder.* :  alignment=64KiB  ": Rule("decoder.*", alignment=65536),
    ".*: external": Rule(external=True),
    ".*: inline, alignment=64": Rule(external=False, alignment=64),
    ".*: inline,alignment=64,": Rule(external=False, alignment=64),
    "onnx::MatMul_123: external": Rule("onnx::MatMul_123", external=True),
    "onnx::MatMul_123:external": Rule("onnx::MatMul_123", external=True),
    "onnx::.*:input=com.microsoft::MatMulNBits.1 inline": Rule(
        "onnx::.*", inputs=(("com.microsoft::MatMulNBits", 1),), external=False
    ),
    "a:::inline": Rule("a::", external=False),
    "a: b: inline": Rule("a: b", external=False),
    "(?:a|b):inline": Rule("(?:a|b)", external=False),
    ".*: dtype=float16|BFLOAT16 inline": Rule(dtype=("FLOAT16", "BFLOAT16"), external=False),
    ".*: min-size=1MiB max-size=2MB inline": Rule(
        min_bytes=1 << 20, max_bytes=2_000_000, external=False
    ),
    ".*: min_size=0 inline": Rule(min_bytes=0, external=False),
    ".*: input=MatMul.1 external": Rule(inputs=(("MatMul", 1),), external=True),
    ".*: input=Gather|my.dom::Op.20 external": Rule(
        inputs=(("Gather", None), ("my.dom::Op", 20)), external=True
    ),
    '.*: group="two words"': Rule(group="two words"),
    '.*:group="one: two"': Rule(group="one: two"),
    ".*: group={stem}.experts": Rule(group="{stem}.experts"),
    r"layer\.\d+\.w: alignment=64": Rule(r"layer\.\d+\.w", alignment=64),
}


@pytest.mark.parametrize("text", READ, ids=ascii)
def test_a_text_is_the_rule_that_it_looks_like(text: str) -> None:
    assert parse_rule(text) == READ[text]


def test_a_rule_is_written_with_its_conditions_first_and_sizes_in_units() -> None:
    rule = Rule(
        "onnx::.*",
        dtype=("INT4", "UINT4"),
        min_bytes=1500,
        max_bytes=1 << 20,
        inputs=(("MatMul", 1), ("com.microsoft::MatMulNBits", None)),
        alignment=65536,
        external=True,
        group='a "b"',
    )
    assert rule_text(rule) == (
        "onnx::.*: dtype=INT4|UINT4 min-size=1500 max-size=1MiB "
        r'input=MatMul.1|com.microsoft::MatMulNBits alignment=65536 external group="a \"b\""'
    )


REFUSED: dict[str, str] = {
    "decoder.*": "no colon parts a pattern from words. Write 'PATTERN: word word', such as",
    "onnx::MatMul": "no colon parts a pattern from words",
    "": "no colon parts",
    "decoder.*: alignmnet=64": "there is no word 'alignmnet' (needed one of external, inline, "
    "alignment, group, dtype, min-size, max-size, input). Did you mean alignment?",
    "decoder.*: 64": "there is no word '64'",
    "w: a:external": "there is no word 'a:external'",
    "w: minsize=64 inline": "Did you mean min-size or",
    "w:": "it asks for nothing (needed alignment=SIZE, external, inline or group=NAME)",
    "w: dtype=INT4": "it asks for nothing",
    ": inline": "the pattern cannot be '' (needed a regular expression; .* is any name)",
    "*: inline": "the pattern cannot be '*' (needed a regular expression: any text is .*, "
    "as in '.*')",
    "*.bias: inline": "any text is .*, as in '.*.bias'",
    "[[:digit:]]: inline": "(needed a regular expression (Possible nested set at position 1))",
    "(: inline": "the pattern cannot be '(' (needed a regular expression (missing )",
    "w: alignment": "alignment lacks its value (needed alignment=64)",
    "w: alignment=": "alignment lacks its value",
    'w: group=""': "group lacks its value",
    "w: alignment=3": "alignment cannot be 3 (needed a power of two",
    "w: alignment=64x": "alignment: '64x' is not a size",
    "w: alignment=-1": "alignment: '-1' is not a size",
    "w: min-size=big inline": "min-size: 'big' is not a size",
    "w: min-size=10 max-size=9 inline": "no size is of min-size=10 and of max-size=9",
    "w: group=../x": "group cannot be '../x' (needed a relative path",
    "w: external=true": "external has no value (found external=true). Write external or inline.",
    "w: external inline": "both external and inline. Leave one of them out.",
    "w: alignment=1, alignment=2": "both alignment=1 and alignment=2",
    "w: dtype=INT4 dtype=UINT4 inline": "both dtype=INT4 and dtype=UINT4",
    "w: dtype=fp16 inline": "Did you mean FLOAT16?",
    "w: dtype=FLOAT32 inline": "there is no type 'FLOAT32'",
    "w: dtype=INT4| inline": "there is no type ''",
    "w: dtype=STRING inline": "there is no type 'STRING'",
    "w: input=MatMul.B inline": "input: 'MatMul.B' is no input of an op (needed an op, or one of "
    "its inputs from 0: Gather, MatMul.1, domain::Op.2)",
    "w: input=com.microsoft.MatMulNBits.1 inline": "is no input of an op",
    "w: input=MatMul.-1 inline": "is no input of an op",
    "w: input=| inline": "input: '' is no input of an op",
    "w: input=MatMul.9999999999 inline": "cannot be ('MatMul', 9999999999)",
    'w: group="a': "'group=\"a' cannot be read as words",
    'w: group=a"b"': "cannot be read as words",
    "w: =64": "'=64' cannot be read as words",
}


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_the_error_begins_with_the_rule_and_points_at_what_is_wrong(text: str) -> None:
    with pytest.raises(RuleTextError, match=re.escape(REFUSED[text])) as error:
        parse_rule(text)
    assert str(error.value).startswith(f"'{text}': ")
    assert error.value.rule == text
    assert isinstance(error.value, UsageError)
    assert isinstance(error.value, AlignError)


def test_a_backslash_is_shown_once_and_a_control_character_escaped() -> None:
    with pytest.raises(RuleTextError, match=re.escape(r"'a\.b\x1b: foo': there is no word")):
        parse_rule("a\\.b\x1b: foo")


def test_a_long_rule_is_cut_in_the_middle_and_the_problem_is_whole() -> None:
    with pytest.raises(RuleTextError, match="there is no word 'foo'") as error:
        parse_rule("x" * 5000 + ": foo")
    assert len(str(error.value)) < 700


@pytest.mark.parametrize("value", [None, 5, b"w: inline", {"w": "inline"}], ids=ascii)
def test_what_is_no_text_is_a_named_error(value: object) -> None:
    with pytest.raises(RuleTextError, match="it is no text"):
        parse_rule(value)  # type: ignore[arg-type]


def test_the_types_that_a_rule_may_name_are_those_of_onnx_that_have_a_size() -> None:
    known = set(onnx.TensorProto.DataType.keys()) - {"UNDEFINED", "STRING"}
    assert known <= set(BITS_BY_NAME)
    assert parse_rule(".*: dtype=" + "|".join(BITS_BY_NAME) + " inline").dtype == tuple(
        BITS_BY_NAME
    )

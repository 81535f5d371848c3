r"""A rule as text: `PATTERN: word word ...`, as in `decoder.*: min-size=1MiB alignment=64`.

The last colon with a blank behind it ends the pattern; where there is none, the last one that is
not part of a `::`. So `onnx::MatMul_\d+: external` is read as it looks. Words stand between blanks
or commas; a value that holds either stands in double quotes, where `\"` is a quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from onnx_align_pass.errors import RuleTextError, UsageError
from onnx_align_pass.rule_words import ANY_WISH, read_word
from onnx_align_pass.rules import ANY_NAME, Rule, name_pattern, unmatched
from onnx_align_pass.tensors import TensorFacts

__all__ = ["parse_rule", "rule_notes", "rule_text"]

_WORD: Final = r'[^\s,="]+(?:=(?:"(?:[^"\\]|\\.)*"|[^\s,"]*))?'
_WORDS: Final = re.compile(rf"[\s,]*(?:{_WORD}(?:[\s,]+{_WORD})*)?[\s,]*")
_BARE: Final = re.compile(r'[^\s,":]+')
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_HINT: Final = "Write 'PATTERN: word word', such as 'decoder.*: min-size=1MiB alignment=64'."


def parse_rule(text: str) -> Rule:
    """Read a rule.

    Args:
        text: `PATTERN: word word ...`. The pattern is a regular expression that the whole name
            matches; `.*` is any name. Wishes are `alignment=SIZE`, `external`, `inline` and
            `group=NAME`; conditions `dtype=FLOAT16`, `min-size=SIZE`, `max-size=SIZE` and
            `input=MatMul.1`, `input=Gather` or `input=com.microsoft::MatMulNBits.1`. Several types
            or inputs have `|` between them.

    Raises:
        RuleTextError: It is none; it says which part, and what is needed there.
    """
    if not isinstance(text, str):
        raise RuleTextError(repr(text), "it is no text", hint=_HINT)
    pattern, words = _parted(text)
    try:
        name_pattern(pattern, "the pattern")
        return Rule(pattern, **_fields(words))
    except UsageError as error:
        raise RuleTextError(
            text, error.problem, needed=error.needed, found=error.found, hint=error.hint
        ) from None


def _parted(text: str) -> tuple[str, list[str]]:
    """Part the pattern from the words: at the last colon behind which all can be words."""
    before_blank = [found.start() for found in re.finditer(r":(?=\s)", text)]
    alone = [found.start() for found in re.finditer("::|:", text) if found[0] == ":"]
    ends = [*reversed(before_blank), *reversed(alone)]
    for end in ends:
        if _WORDS.fullmatch(text, end + 1):
            return text[:end].strip(), re.findall(_WORD, text[end + 1 :])
    if not ends:
        raise RuleTextError(text, "no colon parts a pattern from words", hint=_HINT)
    rest = text[ends[0] + 1 :].strip()
    raise RuleTextError(text, f"{rest!r} cannot be read as words", hint=_HINT)


def _fields(words: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    said: dict[str, str] = {}
    for word in words:
        field, value = read_word(word)
        if field in said:
            raise UsageError(f"both {said[field]} and {word}", hint="Leave one of them out.")
        said[field], fields[field] = word, value
    if said.keys().isdisjoint(("alignment", "external", "group")):
        raise UsageError("it asks for nothing", needed=ANY_WISH)
    if "max_bytes" in said and fields["max_bytes"] < fields.get("min_bytes", 0):
        raise UsageError(f"no size is of {said['min_bytes']} and of {said['max_bytes']}")
    return fields


@lru_cache(maxsize=1024)
def rule_text(rule: Rule) -> str:
    """Write a rule so that `parse_rule` makes an equal one."""
    return f"{rule.name or ANY_NAME}: {' '.join(_words(rule))}"


def rule_notes(rules: Sequence[Rule], tensors: Iterable[TensorFacts]) -> list[str]:
    """Say of which rules a model has no tensor: their patterns may be misspelt."""
    return [f"the rule '{rule_text(one)}' matches no tensor" for one in unmatched(rules, tensors)]


def _words(rule: Rule) -> Iterator[str]:
    if rule.dtype:
        yield f"dtype={'|'.join(rule.dtype)}"
    if rule.min_bytes is not None:
        yield f"min-size={_size_text(rule.min_bytes)}"
    if rule.max_bytes is not None:
        yield f"max-size={_size_text(rule.max_bytes)}"
    if rule.inputs:
        inputs = (op if index is None else f"{op}.{index}" for op, index in rule.inputs)
        yield f"input={'|'.join(inputs)}"
    if rule.alignment is not None:
        yield f"alignment={rule.alignment}"
    if rule.external is not None:
        yield "external" if rule.external else "inline"
    if rule.group is not None:
        is_bare = _BARE.fullmatch(rule.group)
        yield "group=" + (rule.group if is_bare else '"' + rule.group.replace('"', '\\"') + '"')


def _size_text(size: int) -> str:
    """Write a size in the largest unit of which it is a whole number."""
    for factor, unit in _UNITS:
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)

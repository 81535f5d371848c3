"""The words of a rule's text: what each says, and how its value is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from onnx_align_pass.checks import plain_name, power_of_two
from onnx_align_pass.dtypes import BITS_BY_NAME
from onnx_align_pass.errors import UsageError
from onnx_align_pass.rules import OP, OpInput
from onnx_align_pass.units import parse_size

__all__ = ["ANY_WISH", "read_word"]

_INPUT: Final = re.compile(rf"({OP})(?:\.([0-9]{{1,10}}))?")
_ALSO_CALLED: Final = {
    **dict.fromkeys(("FP16", "F16", "HALF"), "FLOAT16"),
    **dict.fromkeys(("FP32", "F32", "FLOAT32"), "FLOAT"),
    **dict.fromkeys(("FP64", "F64", "FLOAT64"), "DOUBLE"),
    "BF16": "BFLOAT16",
}
"""What others call element types."""
ANY_WISH: Final = "alignment=SIZE, external, inline or group=NAME"
"""The words of which a rule has one at least, for people."""


def read_word(word: str) -> tuple[str, Any]:
    """Read a word, such as `alignment=64` or `external`, as a field of `Rule` and its value.

    Raises:
        UsageError: There is no such word, or its value is none that it can have.
    """
    key, equals, value = word.partition("=")
    key = key.replace("_", "-")
    if value.startswith('"'):
        value = re.sub(r'\\(["\\])', r"\1", value[1:-1])
    if key in _FLAGS:
        if equals:
            raise UsageError(f"{key} has no value", found=word, hint="Write external or inline.")
        return "external", _FLAGS[key]
    if key not in _VALUES:
        known = (*_FLAGS, *_VALUES)
        raise _unknown("word", key, known, get_close_matches(key, known))
    if not value:
        raise UsageError(f"{key} lacks its value", needed=f"{key}={_VALUES[key].example}")
    return _VALUES[key].field, _VALUES[key].read(key, value)


def _unknown(kind: str, text: str, known: Iterable[str], close: Iterable[str]) -> UsageError:
    meant = " or ".join(close)
    return UsageError(
        f"there is no {kind} {text!r}",
        needed=f"one of {', '.join(known)}",
        hint=f"Did you mean {meant}?" if meant else None,
    )


def _size(key: str, value: str) -> int:
    try:
        return parse_size(value)
    except UsageError as error:
        raise UsageError(f"{key}: {error.problem}", needed=error.needed) from None


def _alignment(key: str, value: str) -> int:
    size = _size(key, value)
    power_of_two(key, size)
    return size


def _group(key: str, value: str) -> str:
    plain_name(value, key)
    return value


def _dtype(_: str, value: str) -> tuple[str, ...]:
    types = tuple(value.upper().split("|"))
    for one in types:
        if one not in BITS_BY_NAME:
            also = _ALSO_CALLED.get(one)
            close = [also] if also else get_close_matches(one, BITS_BY_NAME)
            raise _unknown("type", one, BITS_BY_NAME, close)
    return types


def _inputs(key: str, value: str) -> tuple[OpInput, ...]:
    return tuple(_input(key, one) for one in value.split("|"))


def _input(key: str, value: str) -> OpInput:
    found = _INPUT.fullmatch(value)
    if found is None:
        raise UsageError(
            f"{key}: {value!r} is no input of an op",
            needed="an op, or one of its inputs from 0: Gather, MatMul.1, domain::Op.2",
        )
    return found[1], None if found[2] is None else int(found[2])


class _Value(NamedTuple):
    """What a word with a value says."""

    field: str
    """The field of `Rule`."""
    read: Callable[[str, str], Any]
    example: str


_FLAGS: Final = {"external": True, "inline": False}
_VALUES: Final[Mapping[str, _Value]] = {
    "alignment": _Value("alignment", _alignment, "64"),
    "group": _Value("group", _group, "NAME"),
    "dtype": _Value("dtype", _dtype, "FLOAT16"),
    "min-size": _Value("min_bytes", _size, "1MiB"),
    "max-size": _Value("max_bytes", _size, "64KiB"),
    "input": _Value("inputs", _inputs, "MatMul.1"),
}

"""Values of options: read from the words of a text, and written so that they read back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.errors import PassOptionError
from onnx_align_pass.registry.grammar import Word, code_text, word_text
from onnx_align_pass.registry.options import Kind, Option
from onnx_align_pass.rules_text import parse_rule, rule_text
from onnx_align_pass.units import parse_size

__all__ = ["read_value", "value_text"]

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,300}")


def read_value(owner: str, option: Option, words: tuple[Word, ...]) -> Any:
    """Read a value that was written.

    Args:
        owner: Name of the pass, for what an error says.
        option: The option.
        words: What was written.

    Raises:
        PassOptionError: It is no value of this option.
        RuleTextError: It is no rule.
    """
    first = words[0]
    if option.optional and len(words) == 1 and not first.quoted and first.text.lower() == "none":
        return None
    if option.kind in (Kind.TUPLE, Kind.RULES):
        texts = () if words == (Word("()"),) else tuple(word.text for word in words)
        return tuple(map(parse_rule, texts)) if option.kind is Kind.RULES else texts
    if len(words) > 1:
        raise _refused(owner, option, ",".join(word.text for word in words), "one value, or quotes")
    read, needed = _READ[option.kind]
    try:
        return read(option, first.text)
    except (ValueError, KeyError):
        also = " or none" if option.optional else ""
        raise _refused(owner, option, first.text, needed(option) + also) from None


def _refused(owner: str, option: Option, text: str, needed: str) -> PassOptionError:
    return PassOptionError(f"{owner}: {option.name} cannot be {text!r}", needed=needed)


def _read_bool(_: Option, text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _read_int(option: Option, text: str) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    if not option.takes_units:
        raise ValueError(text)
    return parse_size(text)


def _read_str(option: Option, text: str) -> str:
    if option.choices and text not in option.choices:
        raise ValueError(text)
    return text


def _read_path(option: Option, text: str) -> str | Path:
    if not text:  # an unset shell variable, and Path("") is the working directory
        raise ValueError(text)
    return Path(text) if option.as_path else text


_READ: Final[Mapping[Kind, tuple[Callable[[Option, str], Any], Callable[[Option], str]]]] = {
    Kind.BOOL: (_read_bool, lambda _: "true or false"),
    Kind.INT: (
        _read_int,
        lambda one: (
            "a whole number, or a size such as 4KiB" if one.takes_units else "a whole number"
        ),
    ),
    Kind.FLOAT: (lambda _, text: float(text), lambda _: "a number"),
    Kind.STR: (_read_str, lambda one: f"one of {', '.join(one.choices)}"),
    Kind.PATH: (_read_path, lambda _: "a path"),
}
"""How a single word is read, and what is needed where it cannot be."""


def value_text(option: Option, value: Any) -> str:
    """Write a value so that `read_value` makes an equal one; `<...>` where no text can."""
    if value is None and option.optional:
        return "none"
    text = _plain(option.kind, value)
    if text is None:
        return code_text(value)
    if not isinstance(text, str):
        return ",".join(_word(option, one) for one in text) or "()"
    return _word(option, text)


def _plain(kind: Kind, value: Any) -> str | tuple[str, ...] | None:
    """What is written of a value before quotes are thought of; None: nothing can be."""
    if kind is Kind.BOOL and isinstance(value, bool):
        return str(value).lower()
    if kind is Kind.INT and isinstance(value, int):
        return str(int(value))
    if kind is Kind.FLOAT and isinstance(value, int | float):
        return repr(float(value))
    if kind is Kind.STR and isinstance(value, str):
        return value
    if kind is Kind.PATH and isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else None
    if kind is Kind.TUPLE and isinstance(value, tuple | list):
        return tuple(value) if all(isinstance(one, str) for one in value) else None
    if kind is Kind.RULES and isinstance(value, tuple):
        return tuple(map(rule_text, value))
    return None


def _word(option: Option, text: str) -> str:
    """Write a word; in quotes too where it would be taken for something else."""
    taken = option.optional and text.lower() == "none"
    return word_text(text, quote=taken or (option.kind is Kind.TUPLE and text == "()"))

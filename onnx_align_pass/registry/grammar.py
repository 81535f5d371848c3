r"""The text form of a pass: `name` or `name{option=value option=value}`.

A value is a word, or several with commas between them. A word is bare, or in double quotes, where
`\"` is a quote and `\\` a backslash; any other backslash, and each in a bare word, is itself: so
regular expressions can be written as they are. A value in angle brackets stands for code. It is
printed where an option holds what no text can say, and is refused when read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from onnx_align_pass.errors import PassOptionError, PassTextError

__all__ = ["PassSpec", "Word", "code_text", "read_spec", "spec_text", "word_text"]

_BARE: Final = r"""[^\s{}<>,"']+"""
_WORD: Final = rf'"(?:[^"\\]|\\.)*"|{_BARE}'
_HEAD: Final = re.compile(r"\s*([\w.-]+)\s*(?:\{(.*)\}\s*)?", re.DOTALL)
_OPTION: Final = re.compile(rf"([A-Za-z_][\w-]*)=((?:{_WORD})(?:,(?:{_WORD}))*)(?=\s|$)", re.DOTALL)
_CODE: Final = re.compile(r"([A-Za-z_][\w-]*)=<[^>]*>")


class Word(NamedTuple):
    """One word of a value."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class PassSpec:
    """What a text says, before anything is looked up."""

    name: str
    options: dict[str, tuple[Word, ...]]
    """Words by the option's name, written as in Python."""


def read_spec(text: str) -> PassSpec:
    """Take a text apart.

    Raises:
        PassTextError: It is not of the form.
        PassOptionError: An option is given twice, or stands for code.
    """
    head = _HEAD.fullmatch(text)
    if head is None:
        raise PassTextError(f"{text!r} is not a pass")
    name, body = head[1], head[2] or ""
    options: dict[str, tuple[Word, ...]] = {}
    while body := body.lstrip():
        found = _OPTION.match(body)
        if found is None:
            raise _not_an_option(name, body)
        option = found[1].replace("-", "_")
        if option in options:
            raise PassOptionError(f"{name}: {option} is given twice", hint="Leave one of them out.")
        options[option] = tuple(_words(found[2]))
        body = body[found.end() :]
    return PassSpec(name, options)


def _not_an_option(name: str, rest: str) -> PassTextError:
    code = _CODE.match(rest)
    if code is None:
        return PassTextError(f"{name}: {rest!r} cannot be read", needed="option=value")
    return PassOptionError(
        f"{name}: {code[1]} stands for code, which no text can say",
        hint="Make the pass in Python.",
    )


def _words(value: str) -> Iterable[Word]:
    for found in re.finditer(_WORD, value, re.DOTALL):
        word = found[0]
        quoted = word.startswith('"')
        yield Word(re.sub(r'\\(["\\])', r"\1", word[1:-1]) if quoted else word, quoted)


def word_text(text: str, *, quote: bool = False) -> str:
    """Write a word, in quotes where they are needed, or asked for."""
    if not quote and re.fullmatch(_BARE, text):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def code_text(value: object) -> str:
    """Write what stands for a value that no text can say."""
    name = getattr(value, "__name__", type(value).__name__)
    return f"<{re.sub('[<>]', '', name)}>"


def spec_text(name: str, options: Iterable[tuple[str, str]]) -> str:
    """Write a pass from its name, and the names and written values of its options."""
    pairs = " ".join(f"{option}={value}" for option, value in options)
    return f"{name}{{{pairs}}}" if pairs else name

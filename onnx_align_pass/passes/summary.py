"""What a pass does, in a sentence: the first of its docstring, as plain text."""

from __future__ import annotations

import re
from typing import Any, Final

from onnx_align_pass.printable import printable

__all__ = ["summary_of"]

_ROLE: Final = re.compile(r":[\w:+.-]+:`(?:[^`<]*<)?(~?)([^`>]*)>?`")
_QUOTED: Final = re.compile(r"`{1,2}([^`]+)`{1,2}_{0,2}")
_SENTENCE: Final = re.compile(r"(.+?[.!?])\s", re.DOTALL)


def summary_of(name: str, factory: Any) -> str:
    """Say what a pass does; from its name where it has no docstring of its own."""
    text = _own_docstring(factory).strip()
    if not text:
        return f"{name.replace('-', ' ').capitalize()}."
    paragraph = " ".join(re.split(r"\n\s*\n", text)[0].split())
    plain = _QUOTED.sub(r"\1", _ROLE.sub(_target, paragraph))
    sentence = _SENTENCE.match(f"{plain} ")
    return printable(sentence[1] if sentence else plain)


def _own_docstring(factory: Any) -> str:
    """Not a base class's, and not the signature that `dataclass` writes where there is none."""
    text = str(getattr(factory, "__doc__", None) or "")
    is_made = text.startswith(f"{getattr(factory, '__name__', '')}(")
    return "" if is_made else text


def _target(role: re.Match[str]) -> str:
    """A name that a docstring refers to; its last part if it begins with a tilde."""
    return role[2].rpartition(".")[2] if role[1] else role[2]

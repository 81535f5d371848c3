"""The passes that can be asked for by name: which there are, and each as a text and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnx_align_pass.passes.entry import PassEntry
from onnx_align_pass.passes.errors import BrokenPassError
from onnx_align_pass.passes.lookup import pass_entries
from onnx_align_pass.passes.options import Kind, Option
from onnx_align_pass.passes.spec import describe_pass, parse_pass, pass_text
from onnx_align_pass.passes.summary import summary_of
from onnx_align_pass.passes.values import value_text
from onnx_align_pass.printable import printable

__all__ = [
    "PassInfo",
    "PassOption",
    "describe_pass",
    "list_passes",
    "parse_pass",
    "pass_text",
]


@dataclass(frozen=True, slots=True)
class PassOption:
    """An option of a pass, as it is shown."""

    name: str
    type: str
    """What may be written: `bool`, `int`, `size`, `float`, `str`, `path`, `str,...` (several, with
    commas), or the words there are; `|none` where it may be left open."""
    default: Any
    """None for one that is required, too."""
    required: bool = False
    text: str = ""
    """As it is written with its default; with its type where it is required."""


@dataclass(frozen=True, slots=True)
class PassInfo:
    """A registered pass, as it is shown. Its texts are fit for a terminal."""

    name: str
    aliases: tuple[str, ...]
    summary: str
    """One sentence; empty if the pass is not usable."""
    options: tuple[PassOption, ...]
    origin: str
    """`onnx-align-pass`, `onnx-ir`, `onnxscript`, or the name of another distribution."""
    problem: str | None = None
    """Why it is not usable."""


def list_passes() -> tuple[PassInfo, ...]:
    """List every registered pass. Imports them all; one that fails is listed with the reason."""
    return tuple(_info(entry) for entry in pass_entries())


def _info(entry: PassEntry) -> PassInfo:
    name, origin = printable(entry.name), printable(entry.origin)
    try:
        options, factory = entry.options(), entry.load()
    except BrokenPassError as error:
        return PassInfo(name, entry.aliases, "", (), origin, error.reason)
    shown = tuple(_shown(one) for one in options if one.kind is not Kind.CODE)
    return PassInfo(name, entry.aliases, summary_of(name, factory), shown, origin)


def _shown(option: Option) -> PassOption:
    if option.required:
        text = f"{option.name}=<{option.type_text}>"
        return PassOption(option.name, option.type_text, None, True, text)
    text = f"{option.name}={value_text(option, option.default)}"
    return PassOption(option.name, option.type_text, option.default, False, text)

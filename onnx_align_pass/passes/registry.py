"""The passes that can be asked for by name: which there are, and the one of a name or class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from onnx_align_pass.passes.entry import PassEntry
from onnx_align_pass.passes.errors import BrokenPassError, UnknownPassError
from onnx_align_pass.passes.options import Kind, Option
from onnx_align_pass.passes.registered import FIXED, onnx_ir_entries, third_party_entries
from onnx_align_pass.passes.summary import summary_of
from onnx_align_pass.passes.values import value_text
from onnx_align_pass.printable import printable

__all__ = ["PassInfo", "PassOption", "entry_of", "find_pass", "list_passes"]


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
    return tuple(_info(entry) for entry in _entries())


def find_pass(name: str) -> PassEntry:
    """Look a pass up by its name or an alias.

    Raises:
        UnknownPassError: There is none of this name.
    """
    wanted = name.lower().replace("_", "-")
    for entry in _entries():
        if wanted in entry.names:
            return entry
    raise UnknownPassError.of(name, [one for entry in _entries() for one in entry.names])


def entry_of(pass_: object) -> PassEntry:
    """Look up what a pass is called, by its class: exactly it, not one that it stands on.

    Raises:
        UnknownPassError: Its class is not registered. Nor is that of a pass which a third party's
            function made: such a function may make what others make, too.
    """
    for entry in _entries():
        if entry.makes(pass_):
            return entry
    kind = type(pass_)
    raise UnknownPassError(f"{kind.__module__}.{kind.__qualname__} is not a registered pass")


def _entries() -> Iterator[PassEntry]:
    """In the order of preference: a third party's comes last."""
    ours = [one for one in FIXED if one.origin != "onnxscript"]
    onnxscripts = [one for one in FIXED if one.origin == "onnxscript"]
    yield from chain(ours, onnx_ir_entries(), onnxscripts)
    yield from third_party_entries()


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

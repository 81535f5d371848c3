"""The registered pass of a name, and the one of a class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from onnx_align_pass.passes.entry import PassEntry
from onnx_align_pass.passes.errors import UnknownPassError
from onnx_align_pass.passes.registered import FIXED, onnx_ir_entries, third_party_entries

__all__ = ["entry_of", "find_pass", "pass_entries"]


def find_pass(name: str) -> PassEntry:
    """Look a pass up by its name or an alias.

    Raises:
        UnknownPassError: There is none of this name.
    """
    wanted = name.lower().replace("_", "-")
    for entry in pass_entries():
        if wanted in entry.names:
            return entry
    raise UnknownPassError.of(name, [one for entry in pass_entries() for one in entry.names])


def entry_of(pass_: object) -> PassEntry:
    """Look up what a pass is called, by its class: exactly it, not one that it stands on.

    Raises:
        UnknownPassError: Its class is not registered. Nor is that of a pass which a third party's
            function made: such a function may make what others make, too.
    """
    for entry in pass_entries():
        if entry.makes(pass_):
            return entry
    kind = type(pass_)
    raise UnknownPassError(f"{kind.__module__}.{kind.__qualname__} is not a registered pass")


def pass_entries() -> Iterator[PassEntry]:
    """In the order of preference: a third party's comes last."""
    ours = [one for one in FIXED if one.origin != "onnxscript"]
    onnxscripts = [one for one in FIXED if one.origin == "onnxscript"]
    yield from chain(ours, onnx_ir_entries(), onnxscripts)
    yield from third_party_entries()

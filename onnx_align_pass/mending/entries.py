"""External data entries, made what every reader takes: three keys, plain numbers, exact lengths.

Nothing here reads a file. What an entry means stays what it was; where it could mean two things, it
is left for somebody to say what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import onnx

from onnx_align_pass.repair_report import Repair

__all__ = ["CHECKSUM", "PREPACKED", "entry_of", "set_entry", "tidy"]

KEYS: Final = ("location", "offset", "length")
CHECKSUM: Final = "checksum"
PREPACKED: Final = "prepacked_"
"""How the keys begin by which onnxruntime finds weights that it has packed before."""

_NUMBER: Final = re.compile(r"\s*\+?([0-9]{1,19})(?:\.0*)?\s*", re.ASCII)
"""One number in every reading: blanks around it, a plus sign or a decimal point add nothing."""
_ZERO: Final = re.compile("0+")


def entry_of(tensor: onnx.TensorProto, key: str) -> str | None:
    """The value of a key: of two entries the last one, as onnx and onnxruntime read them.

    Bytes, where it is no UTF-8.
    """
    found = [entry.value for entry in tensor.external_data if entry.key == key]
    return found[-1] if found else None


def set_entry(tensor: onnx.TensorProto, key: str, value: str) -> None:
    """Give a key a value, in the entry that it has or in a new one."""
    for entry in tensor.external_data:
        if entry.key == key:
            entry.value = value
            return
    tensor.external_data.add(key=key, value=value)


def tidy(tensor: onnx.TensorProto, name: str, nbytes: int) -> Iterator[Repair]:
    """Make a tensor's entries three, with plain numbers; say what was changed.

    A checksum, and onnxruntime's own keys, go without a word: they are right until the data file
    is written anew, which is when they are dropped.

    Args:
        tensor: The tensor, external; it is changed.
        name: What it is called.
        nbytes: Its bytes, by dtype and shape.
    """
    yield from _drop(tensor, name)
    for key in KEYS[1:]:
        text = entry_of(tensor, key)
        plain = _NUMBER.fullmatch(text) if isinstance(text, str) else None
        if plain is not None and plain[1] != text:
            set_entry(tensor, key, plain[1])
            yield Repair("number", f"{key} is no plain number", name, repr(text), plain[1])
    if entry_of(tensor, "offset") is None:
        set_entry(tensor, "offset", "0")
        yield Repair("offset-absent", "there is no offset: it is 0", name, "none", "0")
    length = entry_of(tensor, "length")
    if length is None or (nbytes and isinstance(length, str) and _ZERO.fullmatch(length)):
        set_entry(tensor, "length", str(nbytes))
        yield Repair(
            "length-absent",
            "there is no length: it is what dtype and shape need",
            name,
            "none" if length is None else length,
            str(nbytes),
        )


def _drop(tensor: onnx.TensorProto, name: str) -> Iterator[Repair]:
    """Drop keys that nobody knows, and all but the last entry of a key."""
    seen: set[str] = set()
    for index in reversed(range(len(tensor.external_data))):
        entry = tensor.external_data[index]
        key, value = entry.key, entry.value
        known = key in KEYS or key == CHECKSUM or str(key).startswith(PREPACKED)
        if known and key not in seen:
            seen.add(key)
            if key in KEYS:
                continue
        elif known:
            yield Repair(
                "key-twice", f"{key} is given twice: the last counts", name, str(value), ""
            )
        else:
            problem = "a key that onnxruntime refuses"
            yield Repair("unknown-key", problem, name, f"{key}={value}", "")
        del tensor.external_data[index]

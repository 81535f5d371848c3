"""What the page's script draws from: a model's tensors and ranges in columns, not in objects.

A model of 20,000 tensors is a page of two megabytes that way. Words that repeat (dtypes, shapes,
places) are listed once; what few tensors have is kept by the tensor's index. A number that
JavaScript cannot hold exactly is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from onnx_align_pass.printable import printable

__all__ = ["columns", "tones"]

_EXACT: Final = 2**53 - 1
"""Number.MAX_SAFE_INTEGER"""
_INITIALS: Final = {"tensor": "t", "padding": "p", "dead": "d", "header": "h"}
_NUMBER: Final = re.compile(r"\d+")


def tones(model: Mapping[str, Any]) -> list[str]:
    """The model's dtypes in the order of their colours: those with most bytes first."""
    counted = model["dtypes"]
    return sorted(counted, key=lambda one: (-(counted[one]["bytes"] or 0), one))


def columns(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's tensors, data files and findings as plain values for `json.dumps`."""
    tensors = model["tensors"]
    homes = {file["name"]: at for at, file in enumerate(model["files"])}
    places = [_NUMBER.search(one["place"]) for one in tensors]
    return {
        "names": [printable(one["name"]) for one in tensors],
        "places": _words(_NUMBER.sub("#", one["place"], count=1) for one in tensors),
        "numbers": [int(found[0]) if found else None for found in places],
        "kinds": _words(one["kind"] for one in tensors),
        "dtypes": _words((one["dtype"] for one in tensors), tones(model)),
        "shapes": _words("x".join(map(str, one["shape"])) for one in tensors),
        "bytes": [_exact(one["bytes"]) for one in tensors],
        "homes": [homes.get(one["file"], -1) for one in tensors],
        "offsets": [_exact(one["offset"]) for one in tensors],
        "lengths": _few(
            _exact(one["length"]) if one["length"] != one["bytes"] else None for one in tensors
        ),
        "tied": _few(one["tied_to"] for one in tensors),
        "same": _few(one["same_as"] for one in tensors),
        "found": _few(list(one["findings"]) or None for one in tensors),
        "findings": [
            {"severity": one["severity"], "message": printable(one["message"])}
            for one in model["findings"]
        ],
        "files": [_file(file) for file in model["files"]],
    }


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    """A file's ranges: each starts where the last one ended, but for those in `jumps`."""
    ranges: Sequence[tuple[int, int, str, int | None]] = file["ranges"]
    jumps: dict[int, int] = {}
    end = 0
    for at, (offset, length, _, _) in enumerate(ranges):
        if offset != end:
            jumps[at] = offset - end
        end = offset + length
    return {
        "name": printable(file["name"]),
        "bytes": file["bytes"],
        "format": file["format"],
        "kinds": "".join(_INITIALS[kind] for _, _, kind, _ in ranges),
        "spans": [length for _, length, _, _ in ranges],
        "jumps": jumps,
        "tensors": [tensor for _, _, kind, tensor in ranges if kind == "tensor"],
    }


def _words(values: Iterable[str], first: Sequence[str] = ()) -> dict[str, Any]:
    """List each word once, and say for each value which one it is."""
    at = {word: index for index, word in enumerate(first)}
    of = [at.setdefault(value, len(at)) for value in values]
    return {"words": [printable(word) for word in at], "of": of}


def _few(values: Iterable[Any]) -> dict[int, Any]:
    return {index: value for index, value in enumerate(values) if value is not None}


def _exact(number: int | None) -> int | str | None:
    return number if number is None or abs(number) <= _EXACT else str(number)

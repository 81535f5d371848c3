"""Files that a location may have meant: they are told, never taken."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from onnx_align_pass.mending.named import Location, file_name_of

__all__ = ["advice", "near"]


def near(location: Location, folder: Path) -> Path | None:
    """Find the file that differs from a location by its slashes, its folder or its case alone.

    None where there is none, or more than one.
    """
    text = os.fsdecode(location)
    parts = [part for part in re.split(r"[\\/]+", text) if part not in ("", ".")]
    for path in (parts, [file_name_of(location)]):
        found = _matching(folder, path) if path and ".." not in path else []
        if len(found) == 1:
            return found[0]
    return None


def _matching(folder: Path, parts: list[str]) -> list[Path]:
    """Regular files below a folder, whatever the case of the letters of the way to them."""
    places = [folder]
    for part in parts:
        places = [
            place / name
            for place in places
            for name in _names(place)
            if name.casefold() == part.casefold()
        ]
    return [place for place in places if place.is_file()]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def advice(location: Location, found: Path | None, *, alone: bool) -> str:
    """Say what to type.

    Args:
        location: The location that leads to no file.
        found: What lies near.
        alone: Whether no other location leads to none: then a path says enough.
    """
    path = "PATH" if found is None else str(found)
    text = path if alone else f"{os.fsdecode(location)}={path}"
    named = f"`--data {shlex.quote(text)}`"
    if found is None:
        return f"If the file is somewhere else, say where: {named}."
    return f"If that is the file, say so: {named}."

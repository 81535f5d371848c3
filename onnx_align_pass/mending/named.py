"""Data files that the user named: for which location each of them is meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from onnx_align_pass.errors import ExternalDataError, UsageError
from onnx_align_pass.paths import StrPath

__all__ = ["Given", "Location", "assigned", "file_name_of"]

Location: TypeAlias = str | bytes
"""As a model spells it; bytes where that is no UTF-8."""
Given: TypeAlias = Mapping[str, StrPath] | Iterable[StrPath]
"""Data files by location; or paths, each alone or as `LOCATION=PATH`."""


def assigned(
    given: Given, locations: Sequence[Location], missing: Sequence[Location]
) -> dict[Location, Path]:
    """Say which location each named file stands for.

    `LOCATION=PATH` names it. A path alone stands for the one location whose file is not found; of
    several, for the one that ends with the same file name, whatever the case of its letters.

    Args:
        given: What the user said.
        locations: Every location of the model.
        missing: Those whose data file is missing or refused.

    Returns:
        An absolute path for each location that was named.

    Raises:
        UsageError: A file may stand for several locations, or for none.
        ExternalDataError: A file that was named is missing, or is no regular file.
    """
    spelled = {os.fsdecode(one) if isinstance(one, bytes) else one: one for one in locations}
    found: dict[Location, Path] = {}
    alone: list[str] = []
    if isinstance(given, Mapping):
        pairs = [(location, os.fspath(path)) for location, path in given.items()]
    else:
        pairs = []
        for text in (os.fspath(path) for path in given):
            parted = _parted(text, spelled)
            if parted is None:
                alone.append(text)
            else:
                pairs.append(parted)
    for location, path in pairs:
        if location not in spelled:
            raise _unknown(location, spelled)
        _put(found, spelled[location], path)
    for path in alone:
        if "=" in path and not os.path.lexists(path):
            raise _unknown(path.partition("=")[0], spelled)
        _put(found, _meant(path, [one for one in missing if one not in found], spelled), path)
    return found


def file_name_of(location: Location) -> str:
    """The last part of a location, written with either slash."""
    text = os.fsdecode(location) if isinstance(location, bytes) else location
    return text.replace("\\", "/").rpartition("/")[2]


def _parted(text: str, spelled: Mapping[str, Location]) -> tuple[str, str] | None:
    """Part `LOCATION=PATH`; either may hold a `=`, so the part before it must be a location."""
    at = text.find("=")
    while at >= 0:
        if text[:at] in spelled:
            return text[:at], text[at + 1 :]
        at = text.find("=", at + 1)
    return None


def _put(found: dict[Location, Path], location: Location, text: str) -> None:
    if location in found:
        raise UsageError(
            "two data files are named for one location",
            file=text,
            found=f"{os.fsdecode(location)} and {found[location]}",
        )
    path = Path.cwd() / text
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ExternalDataError(
            f"the data file that was named cannot be read: {reason}",
            file=text,
            hint="Name a data file that is there, alone or as LOCATION=PATH.",
        ) from None
    if not stat.S_ISREG(kind):
        raise ExternalDataError(
            "the data file that was named is not a regular file",
            file=text,
            found=stat.filemode(kind),
            hint="Name the data file itself.",
        )
    found[location] = path


def _meant(path: str, open_: Sequence[Location], spelled: Mapping[str, Location]) -> Location:
    if len(open_) == 1:
        return open_[0]
    if not open_:
        raise UsageError(
            "no data file of the model is missing",
            file=path,
            found=_listed(spelled),
            hint="To read it in place of another file, say LOCATION=PATH.",
        )
    name = os.path.basename(path).casefold()
    same = [one for one in open_ if file_name_of(one).casefold() == name]
    if len(same) == 1:
        return same[0]
    raise UsageError(
        "it may stand for several data files that are missing",
        file=path,
        found=_listed([os.fsdecode(one) for one in same or open_]),
        hint="Say which: LOCATION=PATH.",
    )


def _unknown(location: str, spelled: Mapping[str, Location]) -> UsageError:
    return UsageError(
        f"the model has no data at location {location!r}",
        found=_listed(spelled) or "no external data",
        hint="Spell the location as the model does.",
    )


def _listed(locations: Iterable[str]) -> str:
    return ", ".join(map(repr, locations))

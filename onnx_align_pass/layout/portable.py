"""What a data file's name is on other systems: none, another file's, or not what it seems."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["why_unportable"]

_DEVICES: Final = re.compile(
    r"(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:[ .:]|$)"
)
_RESERVED: Final = frozenset('<>:"|?*')


def why_unportable(name: str) -> str | None:
    """Say why Windows has no file of this name, or people take it for another; None: all is well.

    https://learn.microsoft.com/windows/win32/fileio/naming-a-file
    """
    for part in name.split("/"):
        if _DEVICES.match(part):
            return f"{part} is a device of Windows"
        if part.endswith((".", " ")):
            return "Windows drops a dot or a blank at the end"
        if not _RESERVED.isdisjoint(part):
            return "Windows has no such character in names: " + " ".join(_RESERVED & set(part))
    if not name.isprintable():
        return "it has characters that do not show, or that turn the direction of what follows"
    return None

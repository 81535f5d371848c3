"""When two names may be one."""

from __future__ import annotations

import unicodedata

__all__ = ["alike"]


def alike(name: str) -> str:
    """What names have in common that a file system may take for one (Unicode's caseless match)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())

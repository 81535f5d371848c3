"""Names from strangers' files, made safe to show."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Escape what a terminal could act on: control characters, lone surrogates, bidi marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

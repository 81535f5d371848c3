"""Texts that are hard to write, and the longest way to write them."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["TEXTS", "in_quotes"]

TEXTS = st.text(max_size=8) | st.text(alphabet="ab \"\\{}<>,=()'\n\t", max_size=8)


def in_quotes(text: str) -> str:
    """A text in quotes, whether it needs them or not."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

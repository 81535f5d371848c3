"""How the page says numbers."""

from __future__ import annotations

from typing import Final

from onnx_align_pass.inspection.markup import Html, element
from onnx_align_pass.units import format_bytes

__all__ = ["boundary", "counted", "percent", "size_text"]

_COARSEST: Final = 65536
"""The alignment up to which offsets are told apart."""


def counted(count: int, noun: str) -> str:
    """A number of things: `1 file`, `1,200 files`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def boundary(size: int) -> str:
    """An alignment as people say it."""
    text = format_bytes(size).replace(".0 ", " ")
    return f"{text} or more" if size >= _COARSEST else text


def size_text(size: int | None) -> Html:
    """A size as people read it, exact where one points at it."""
    if size is None:
        return element("span", "unknown")
    return element("span", format_bytes(size), title=f"{size:,} bytes")


def percent(part: int, whole: int) -> str:
    """A part in percent; what is little is not nothing."""
    share = 100 * part / whole if whole else 0.0
    return "<0.01 %" if 0 < share < 0.005 else f"{share:.2f} %"

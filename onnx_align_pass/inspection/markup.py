"""HTML made from values: what is not markup already is escaped, so that no name becomes any."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from onnx_align_pass.printable import printable

__all__ = ["Html", "bar", "coded", "data_block", "element"]

_VOID = frozenset({"br", "hr", "meta", "link"})


class Html(str):
    """Text that is markup, and is not escaped again."""

    __slots__ = ()


def element(name: str, *inside: str | None, **attributes: str | int | bool | None) -> Html:
    """Make an element. Texts are escaped unless they are `Html`; what is None is left out.

    Args:
        name: Of the element.
        inside: What it holds.
        attributes: By name, with `_` for `-` and one `_` at the end left out: `class_`,
            `aria_label`. True is an attribute without a value; None and False are none.
    """
    opening = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        plain = key.removesuffix("_").replace("_", "-")
        opening.append(plain if value is True else f'{plain}="{_escaped(str(value))}"')
    start = f"<{' '.join(opening)}>"
    if name in _VOID:
        return Html(start)
    return Html(f"{start}{''.join(map(_escaped, filter(None, inside)))}</{name}>")


def _escaped(text: str) -> str:
    return text if isinstance(text, Html) else escape(printable(text))


def coded(text: str) -> list[str]:
    """Take `commands` in a text out of their backticks, as elements."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return [text]
    return [element("code", part) if at % 2 else part for at, part in enumerate(parts)]


def bar(share: float, tone: str = "") -> Html:
    """Draw a share of 1 as a bar. In SVG, since a style of its own is nothing the page allows."""
    percent = f"{100 * min(max(share, 0.0), 1.0):.2f}%"
    inner = element("rect", width=percent, height="100%")
    return element("svg", inner, class_=f"bar {tone}".strip(), aria_hidden="true")


def data_block(value: Any, **attributes: str) -> Html:
    """Embed a value as JSON that no text in it can end, and that is ASCII alone."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Html(text), type="application/json", **attributes)

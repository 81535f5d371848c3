"""What the page says of what is wrong: a verdict in a line, and each kind of finding once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onnx_align_pass.inspection.markup import Html, coded, element
from onnx_align_pass.inspection.page_words import counted

__all__ = ["findings_part", "is_read", "verdict"]

_SHOWN: Final = 5
"""Findings of one kind that are shown at once; some more are folded away."""
_FOLDED: Final = 100


def is_read(model: Mapping[str, Any]) -> bool:
    """Whether it is a model at all."""
    return bool(model["readable"])


def verdict(model: Mapping[str, Any]) -> tuple[str, str]:
    """What is to be thought of a model: `error`, `warning` or `fine`, and a sentence."""
    if not is_read(model):
        return "error", "It could not be read"
    count = Counter(one["severity"] for one in model["findings"])
    said = [counted(count[one], one) for one in ("error", "warning") if count[one]]
    if not said:
        return "fine", "Nothing wrong was found"
    return ("error" if count["error"] else "warning"), ", ".join(said)


def findings_part(model: Mapping[str, Any]) -> Html | None:
    """List the findings by kind, errors first, and what the model's entries had to say."""
    kinds: dict[tuple[bool, str], list[Mapping[str, Any]]] = {}
    for one in model["findings"]:
        kinds.setdefault((one["severity"] != "error", one["code"]), []).append(one)
    groups = [_group(kinds[key]) for key in sorted(kinds)]
    notes = [element("p", note, class_="note") for note in model["notes"]]
    if not groups and not notes:
        return None
    return element("div", element("h3", "Findings"), *groups, *notes, class_="findings")


def _group(found: Sequence[Mapping[str, Any]]) -> Html:
    """Findings of one code; a hint that they share is said once."""
    first = found[0]
    hints = {one.get("hint") for one in found}
    shared = first.get("hint") if len(hints) == 1 else None
    number = f"{len(found):,} times" if len(found) > 1 else None
    heading = element(
        "p",
        element("b", first["severity"], class_=f"verdict {first['severity']}"),
        element("code", first["code"]),
        element("small", number) if number else None,
    )
    items = [_item(one, with_hint=not shared) for one in found[: _SHOWN + _FOLDED]]
    hint = element("p", *coded(shared), class_="hint") if shared else None
    return element("div", heading, *_folded(items, len(found)), hint, class_="finding")


def _folded(items: Sequence[Html], count: int) -> list[Html]:
    listed = [element("ul", *items[:_SHOWN])]
    if count <= _SHOWN:
        return listed
    inside = [element("ul", *items[_SHOWN:])]
    if count > len(items):
        text = f"{count - len(items):,} more: onnx-align inspect --json lists them all"
        inside.append(element("p", text))
    summary = element("summary", f"{count - _SHOWN:,} more")
    return [*listed, element("details", summary, *inside)]


def _item(one: Mapping[str, Any], *, with_hint: bool) -> Html:
    hint = one.get("hint") if with_hint else None
    return element(
        "li", one["message"], *([" ", element("span", *coded(hint), class_="hint")] if hint else [])
    )

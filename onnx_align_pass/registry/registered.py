"""Where passes are registered: here, in onnx-ir, in onnxscript, and by other distributions."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Final

from onnx_align_pass.registry.entry import GROUP, PassEntry, kebab

__all__ = ["FIXED", "onnx_ir_entries", "third_party_entries"]

_COMMON: Final = "onnx_ir.passes.common"
FIXED: Final = (
    PassEntry(
        "tag-external-data",
        "onnx-align-pass",
        "onnx_align_pass.passes.tag_external:TagExternalDataPass",
    ),
    PassEntry("write-aligned", "onnx-align-pass", "onnx_align_pass.pipeline:WriteAlignedPass"),
    PassEntry("convert-version", "onnxscript", "onnxscript.version_converter:ConvertVersionPass"),
)
"""The passes that are registered by hand."""


@cache
def onnx_ir_entries() -> tuple[PassEntry, ...]:
    """List the passes of `onnx_ir.passes.common`, whichever this version of it has.

    `lift-constants-to-initializers` is `lift-constants` too: what it lifts to goes without saying.
    """
    import onnx_ir as ir
    from onnx_ir.passes import common

    found = [getattr(common, name) for name in common.__all__]
    classes = {
        kebab(one.__name__): one.__name__
        for one in found
        if isinstance(one, type)
        and issubclass(one, ir.passes.PassBase)
        and not inspect.isabstract(one)
    }
    short = {name: name.partition("-to-")[0] for name in classes if "-to-" in name}
    times = Counter([*classes, *short.values()])
    return tuple(
        PassEntry(
            name,
            "onnx-ir",
            f"{_COMMON}:{classes[name]}",
            aliases=(short[name],) if name in short and times[short[name]] == 1 else (),
        )
        for name in sorted(classes)
    )


def third_party_entries() -> Iterator[PassEntry]:
    """List what other distributions register, by name. Nothing of them is imported.

    A name that is taken, or not of the form of names, is listed with that as its problem.
    """
    taken = {name: entry.origin for entry in (*FIXED, *onnx_ir_entries()) for name in entry.names}
    points, unreadable = _points()
    for origin in sorted(unreadable):
        yield PassEntry(origin, origin, "", problem="its entry_points.txt cannot be read")
    found = [(one.name, getattr(one.dist, "name", None) or "unknown", one.value) for one in points]
    for name, origin, place in sorted(set(found)):
        yield PassEntry(name, origin, place, problem=_name_problem(name, taken.get(name)))
        taken.setdefault(name, origin)


def _points() -> tuple[list[EntryPoint], set[str]]:
    """The entry points of the group, and the distributions whose files are malformed."""
    try:
        return list(entry_points(group=GROUP)), set()
    except Exception:  # noqa: BLE001  of one of them; the others are read one by one
        points: list[EntryPoint] = []
    unreadable: set[str] = set()
    for one in distributions():
        try:
            points += [point for point in one.entry_points if point.group == GROUP]
        except Exception:  # noqa: BLE001  whatever importlib raises on the text
            unreadable.add(one.metadata["Name"] or "unknown")
    return points, unreadable


def _name_problem(name: str, owner: str | None) -> str | None:
    if owner is not None:
        return f"the name is that of a pass of {owner}, which is used"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        return "the name is not of small letters, digits and single hyphens"
    return None

"""Where passes are registered: here, in onnx-ir, in onnxscript, and by other distributions."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

from onnx_align_pass.registry.entry import GROUP, PassEntry, kebab
from onnx_align_pass.registry.points import UNREADABLE, name_problem, points_of

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
    found, unreadable = points_of(GROUP)
    for origin in unreadable:
        yield PassEntry(origin, origin, "", problem=UNREADABLE)
    for name, origin, place in found:
        yield PassEntry(name, origin, place, problem=name_problem(name, taken.get(name), "pass"))
        taken.setdefault(name, origin)

"""How the table of `onnx-align presets` looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

if TYPE_CHECKING:
    from onnx_align_cli.presets import Priced
    from onnx_align_pass.policy import LayoutPolicy
    from onnx_align_pass.presets import Preset

__all__ = ["show_presets"]


def show_presets(presets: Sequence[Priced], weights: str) -> None:
    """Print a row of numbers for each preset, then whom each is for, and why."""
    columns = [
        Column("name"),
        Column("alignment", right=True),
        Column("below", right=True),
        Column("then", right=True),
        Column("pad"),
        Column("inline below", right=True),
        Column("shard", right=True),
        Column("adds", right=True),
    ]
    show_table("presets", columns, map(_row, presets))
    show_facts(f"what is added to {weights}, whom each is for, and why", _about(presets))


def _row(one: Priced) -> tuple[str, ...]:
    preset = one.info.preset
    if preset is None:
        return (one.info.name, *[""] * 7)
    layout = preset.layout
    threshold = preset.storage.size_threshold_bytes
    mark = " *" if preset.experimental else ""
    return (
        f"{one.info.name}{mark}",
        "element" if layout.alignment == 1 and layout.element_floor else _size(layout.alignment),
        _size(layout.align_threshold) if layout.align_threshold else "",
        _size(layout.small_alignment) if layout.align_threshold else "",
        layout.pad,
        "kept" if threshold is None else _size(threshold),
        _shard(layout),
        "" if one.cost is None else f"{one.cost.percent:.3f} %",
    )


def _size(count: int) -> str:
    return format_bytes(count).replace(".0 ", " ")


def _shard(layout: LayoutPolicy) -> str:
    size = layout.max_shard_size_bytes
    return "" if size is None else f"{size / 10**9:g} GB"


def _about(presets: Sequence[Priced]) -> Iterator[tuple[str, str]]:
    for one in presets:
        if one.info.preset is None:
            yield one.info.name, f"not usable: {one.info.problem} (of {one.info.origin})"
        else:
            yield one.info.name, printable(_purpose(one.info.preset))
    yield "*", "experimental: made from the consumer's documents, and not run on it"


def _purpose(preset: Preset) -> str:
    of = "" if preset.origin == "onnx-align-pass" else f" (of {preset.origin})"
    return f"{preset.consumer}; {preset.reason}{of}"

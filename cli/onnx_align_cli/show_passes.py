"""How the table of `onnx-align passes` looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onnx_align_cli.show import Column, show_facts, show_table
from onnx_align_pass.printable import printable
from onnx_align_pass.registry.listing import PassInfo

__all__ = ["show_passes"]

_EXAMPLE: Final = "deduplicate-initializers{size_limit=4096}"


def show_passes(passes: Sequence[PassInfo]) -> None:
    """Print a row for each pass, then how one is written."""
    columns = [Column("name"), Column("from"), Column("options"), Column("what it does")]
    show_table("passes", columns, map(_row, passes))
    show_facts(
        "how to write one",
        [("form", "name{option=value option=value}"), ("example", _EXAMPLE)],
    )


def _row(one: PassInfo) -> tuple[str, ...]:
    options = " ".join(option.text for option in one.options)
    return (one.name, one.origin, printable(options), _purpose(one))


def _purpose(one: PassInfo) -> str:
    if one.problem is not None:
        return f"not usable: {one.problem}"
    also = f" Also: {', '.join(one.aliases)}." if one.aliases else ""
    return one.summary + also

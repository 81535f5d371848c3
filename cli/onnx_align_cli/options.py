"""Options that several commands have, and the policies that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, overload

import typer

from onnx_align_pass.errors import RuleTextError, SizeError, UsageError
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.units import parse_size

if TYPE_CHECKING:
    from onnx_align_pass.presets import Preset
    from onnx_align_pass.rules import Rule

__all__ = [
    "LAYOUT",
    "OUTPUT",
    "READING",
    "WRITING",
    "AlignThreshold",
    "Alignment",
    "AllowHardLinks",
    "AsJson",
    "Dedupe",
    "ElementFloor",
    "ExternalData",
    "Layout",
    "MaxShardSize",
    "Pad",
    "Padding",
    "PresetName",
    "Rules",
    "SizeThreshold",
    "SmallAlignment",
    "Source",
    "chosen",
    "given_path",
    "preset_names",
]

LAYOUT: Final = "Layout"
READING: Final = "Reading"
WRITING: Final = "Writing"
OUTPUT: Final = "Output"
KEEP: Final = "keep"


class Pad(StrEnum):
    """What is rounded up to the alignment."""

    NONE = "none"
    FILE = "file"
    TENSOR = "tensor"


def preset_names(incomplete: str) -> list[str]:
    """Complete the name of a preset in a shell."""
    from onnx_align_pass.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def given_path(text: str) -> Path:
    """Read a path that must not be empty."""
    # An unset shell variable arrives as "", and Path("") is the working directory.
    if not text:
        raise typer.BadParameter("it is empty")
    return Path(text)


Source = Annotated[
    Path,
    typer.Argument(
        metavar="SRC",
        help="A model, or a folder of models.",
        show_default=False,
        parser=given_path,  # what it is, and whether it may be read, the core says
    ),
]
PresetName = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        metavar="NAME",
        help="The layout of a kind of consumer: windows, apple, web ... Other options override its "
        "fields. 'onnx-align presets' lists them.",
        show_default="page",
        rich_help_panel=LAYOUT,
        autocompletion=preset_names,
    ),
]
Alignment = Annotated[
    str | None,
    typer.Option(
        "--alignment",
        "-a",
        metavar="SIZE",
        help="Every tensor starts at a multiple of this, a power of two.",
        show_default="4096",
        rich_help_panel=LAYOUT,
    ),
]
SizeThreshold = Annotated[
    str | None,
    typer.Option(
        "--size-threshold",
        metavar="SIZE|keep",
        help="Tensors of at least this size are external, smaller ones inline; "
        "'keep' leaves each where it is.",
        show_default="1KiB",
        rich_help_panel=LAYOUT,
    ),
]
AlignThreshold = Annotated[
    str | None,
    typer.Option(
        "--align-threshold",
        metavar="SIZE",
        help="Tensors below this size get the small alignment.",
        show_default="0",
        rich_help_panel=LAYOUT,
    ),
]
SmallAlignment = Annotated[
    str | None,
    typer.Option(
        "--small-alignment",
        metavar="SIZE",
        help="Alignment of the tensors below the align threshold.",
        show_default="64",
        rich_help_panel=LAYOUT,
    ),
]
Padding = Annotated[
    Pad | None,
    typer.Option(
        "--pad",
        metavar="none|file|tensor",
        help="Round up nothing, each file's end, or each tensor's end to the alignment.",
        show_default="none",
        rich_help_panel=LAYOUT,
    ),
]
ExternalData = Annotated[
    str | None,
    typer.Option(
        "--external-data",
        metavar="NAME",
        help="Name of the data file, relative to the model's folder. {model} and {stem} stand for "
        "the model's name, {shard}, {shards} and {_n} for a shard's number; a name that ends in "
        ".safetensors makes a safetensors file.",
        show_default="{model}.data",
        rich_help_panel=LAYOUT,
    ),
]
MaxShardSize = Annotated[
    str | None,
    typer.Option(
        "--max-shard-size",
        metavar="SIZE",
        help="Begin a new data file rather than let one grow past this.",
        show_default="no limit",
        rich_help_panel=LAYOUT,
    ),
]
ElementFloor = Annotated[
    bool | None,
    typer.Option(
        "--element-floor/--no-element-floor",
        help="Raise alignments to the element's size: for small ones, such as 1.",
        show_default="off",
        rich_help_panel=LAYOUT,
    ),
]
Dedupe = Annotated[
    bool | None,
    typer.Option(
        "--dedupe/--no-dedupe",
        help="Store tensors of equal type, size and bytes once.",
        show_default="off",
        rich_help_panel=LAYOUT,
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="RULE",
        help="For the tensors that a pattern names: 'decoder.*: alignment=64', "
        "'.*: dtype=INT4 min-size=1MiB input=MatMul.1 external group=experts.data'. Repeatable; "
        "each wish is taken from the first that matches and states it.",
        show_default=False,
        rich_help_panel=LAYOUT,
    ),
]
AllowHardLinks = Annotated[
    bool,
    typer.Option(
        "--allow-hard-links",
        help="Read data files that have other names and another owner than the model.",
        rich_help_panel=READING,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, for errors too.", rich_help_panel=OUTPUT),
]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the layout options ask for."""

    storage: StoragePolicy
    layout: LayoutPolicy
    preset: Preset | None


def chosen(
    preset_name: str | None,
    *,
    rules: list[str] | None = None,
    size_threshold: str | None = None,
    alignment: str | None = None,
    align_threshold: str | None = None,
    small_alignment: str | None = None,
    element_floor: bool | None = None,
    pad: Pad | None = None,
    external_data: str | None = None,
    max_shard_size: str | None = None,
    dedupe: bool | None = None,
) -> Layout:
    """Make the policies that the options ask for: the preset's, with what is given laid over it.

    Raises:
        UsageError: There is no such preset, a text is not a size or a rule, or a policy refuses a
            value.
    """
    from onnx_align_pass.registry.presets import find_preset

    preset = None if preset_name is None else find_preset(preset_name)
    layout: dict[str, Any] = {
        "alignment": _size("--alignment", alignment),
        "align_threshold": _size("--align-threshold", align_threshold),
        "small_alignment": _size("--small-alignment", small_alignment),
        "element_floor": element_floor,
        "pad": None if pad is None else pad.value,
        "data_name": external_data,
        "max_shard_size_bytes": _size("--max-shard-size", max_shard_size),
        "dedupe": dedupe,
    }
    given = {field: value for field, value in layout.items() if value is not None}
    return Layout(
        _storage(preset.storage if preset else StoragePolicy(), size_threshold, rules or []),
        replace(preset.layout if preset else LayoutPolicy(), **given),
        preset,
    )


def _storage(base: StoragePolicy, size_threshold: str | None, rules: list[str]) -> StoragePolicy:
    base = replace(base, rules=(*map(_rule, rules), *base.rules)) if rules else base
    if size_threshold is not None:
        keep = size_threshold.strip().lower() == KEEP
        threshold = None if keep else _size("--size-threshold", size_threshold)
        base = replace(base, size_threshold_bytes=threshold)
    return base


def _rule(text: str) -> Rule:
    from onnx_align_pass.rules_text import parse_rule

    try:
        return parse_rule(text)
    except RuleTextError as error:
        raise UsageError(
            f"--rule {error.problem}", needed=error.needed, found=error.found, hint=error.hint
        ) from None


@overload
def _size(option: str, text: str) -> int: ...
@overload
def _size(option: str, text: None) -> None: ...
@overload
def _size(option: str, text: str | None) -> int | None: ...
def _size(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_size(text)
    except SizeError:
        raise UsageError(
            f"{option} {text[:40]!r} is not a size",
            needed="a whole number of bytes, such as 4096, 64KiB or 2GB",
        ) from None

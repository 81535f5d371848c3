"""Options that several commands have, and the policies that they make."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from onnx_align_pass.errors import SizeError, UsageError
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.units import parse_size

__all__ = [
    "OUTPUT",
    "WRITING",
    "AlignThreshold",
    "Alignment",
    "AsJson",
    "ExternalData",
    "MaxShardSize",
    "Pad",
    "Padding",
    "SizeThreshold",
    "SmallAlignment",
    "Source",
    "layout_policy",
    "storage_policy",
]

LAYOUT: Final = "Layout"
WRITING: Final = "Writing"
OUTPUT: Final = "Output"
KEEP: Final = "keep"


class Pad(StrEnum):
    """What is rounded up to the alignment."""

    NONE = "none"
    FILE = "file"
    TENSOR = "tensor"


def _given(text: str) -> Path:
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
        parser=_given,  # what it is, and whether it may be read, the core says
    ),
]
Alignment = Annotated[
    str,
    typer.Option(
        "--alignment",
        "-a",
        metavar="SIZE",
        help="Every tensor starts at a multiple of this, a power of two.",
        rich_help_panel=LAYOUT,
    ),
]
SizeThreshold = Annotated[
    str,
    typer.Option(
        "--size-threshold",
        metavar="SIZE|keep",
        help="Tensors of at least this size are external, smaller ones inline; "
        "'keep' leaves each where it is.",
        rich_help_panel=LAYOUT,
    ),
]
AlignThreshold = Annotated[
    str,
    typer.Option(
        "--align-threshold",
        metavar="SIZE",
        help="Tensors below this size get the small alignment.",
        rich_help_panel=LAYOUT,
    ),
]
SmallAlignment = Annotated[
    str,
    typer.Option(
        "--small-alignment",
        metavar="SIZE",
        help="Alignment of the tensors below the align threshold.",
        rich_help_panel=LAYOUT,
    ),
]
Padding = Annotated[
    Pad,
    typer.Option(
        "--pad",
        metavar="none|file|tensor",
        help="Round up nothing, each file's end, or each tensor's end to the alignment.",
        rich_help_panel=LAYOUT,
    ),
]
ExternalData = Annotated[
    str | None,
    typer.Option(
        "--external-data",
        metavar="NAME",
        help="Name of the data file, relative to the model's folder; "
        "{model} and {stem} stand for the model's name.",
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
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, for errors too.", rich_help_panel=OUTPUT),
]


def storage_policy(size_threshold: str) -> StoragePolicy:
    """Make the policy that `--size-threshold` asks for.

    Raises:
        UsageError: The text is neither a size nor `keep`.
    """
    if size_threshold.strip().lower() == KEEP:
        return StoragePolicy(size_threshold_bytes=None)
    return StoragePolicy(size_threshold_bytes=_size("--size-threshold", size_threshold))


def layout_policy(
    *,
    alignment: str,
    align_threshold: str,
    small_alignment: str,
    pad: Pad,
    external_data: str | None,
    max_shard_size: str | None,
) -> LayoutPolicy:
    """Make the policy that the layout options ask for.

    Raises:
        UsageError: A text is not a size, or the policy refuses a value.
    """
    return LayoutPolicy(
        alignment=_size("--alignment", alignment),
        align_threshold=_size("--align-threshold", align_threshold),
        small_alignment=_size("--small-alignment", small_alignment),
        pad=pad.value,
        max_shard_size_bytes=(
            None if max_shard_size is None else _size("--max-shard-size", max_shard_size)
        ),
        data_name=external_data,
    )


def _size(option: str, text: str) -> int:
    try:
        return parse_size(text)
    except SizeError:
        raise UsageError(
            f"{option} {text[:40]!r} is not a size",
            needed="a whole number of bytes, such as 4096, 64KiB or 2GB",
        ) from None

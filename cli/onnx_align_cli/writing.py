"""What the commands that write are told: the model, what may be replaced, what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onnx_align_cli.options import OUTPUT, WRITING, given_path

__all__ = ["Durable", "Force", "InPlace", "KeepOldData", "Model", "Quiet", "Verify"]

Model = Annotated[
    Path,
    typer.Argument(metavar="SRC", help="The model.", show_default=False, parser=given_path),
]
InPlace = Annotated[
    bool,
    typer.Option(
        "--in-place",
        help="Replace the model and its data; a crash leaves the old pair or the new one.",
        rich_help_panel=WRITING,
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Read everything back and compare it before it is published.",
        rich_help_panel=WRITING,
    ),
]
Durable = Annotated[
    bool,
    typer.Option(
        "--durable/--no-durable",
        help="Return only when the result is on the disk.",
        rich_help_panel=WRITING,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace what exists at DST, never the source, nor another model's data; and write "
        "what is far larger than the data it is made from.",
        rich_help_panel=WRITING,
    ),
]
KeepOldData = Annotated[
    bool,
    typer.Option(
        "--keep-old-data",
        help="Where a model is replaced, write its data under a new name and leave the old data, "
        "so that readers that open model and data apart never mix two. 'onnx-align prune' removes "
        "what was left.",
        rich_help_panel=WRITING,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print nothing on success.", rich_help_panel=OUTPUT),
]

"""`onnx-align inline`: external data back into the model file."""

from __future__ import annotations

from typing import Annotated

import typer

from onnx_align_cli import options, writing
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_cli.target import target_of

__all__ = ["inline"]


def inline(
    source: options.Source,
    destination: Annotated[
        str | None,
        typer.Argument(
            metavar="DST",
            help="The new model, or a folder for it; for a folder of models, the new folder.",
            show_default=False,
        ),
    ] = None,
    in_place: writing.InPlace = False,
    verify: writing.Verify = False,
    durable: writing.Durable = True,
    force: writing.Force = False,
    allow_hard_links: options.AllowHardLinks = False,
    as_json: options.AsJson = False,
    quiet: writing.Quiet = False,
) -> None:
    """Bring a model's external data back into its .onnx: one file, of up to 2 GiB.

    Protobuf reads no larger file, so what would be larger is refused, with its size, before
    anything is written. Weights that several tensors share become a copy each. In place, data files
    that no other model uses are removed.

    Example: onnx-align inline model.onnx one-file.onnx
    """
    target = target_of("inline", source, destination, in_place=in_place)
    with SIGNALS.held():
        from onnx_align_cli.bar import progress_bar
        from onnx_align_cli.show_inline import show_inlined
        from onnx_align_cli.watch import watched
        from onnx_align_pass.inlining import inline_file

    with progress_bar(wanted=not (quiet or as_json)) as bar, watched(bar) as progress:
        report = inline_file(
            source,
            target,
            progress=progress,
            verify=verify,
            overwrite=force,
            durable=durable,
            allow_hard_links=allow_hard_links,
        )
    if as_json:
        say_json(report.to_json())
    elif not quiet:
        show_inlined(report)

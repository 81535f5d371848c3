"""`onnx-align prune`: remove the data files that --keep-old-data left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from onnx_align_cli import options
from onnx_align_cli.exits import Exit
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.printable import printable
from onnx_align_pass.units import format_bytes

if TYPE_CHECKING:
    from onnx_align_pass.pruning import PruneReport

__all__ = ["prune"]


def prune(
    source: options.Source,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Remove the data files that 'align --keep-old-data' left, when their readers have ended.

    Only files that a run of yours has recorded, that are still what they were then, and that no
    model points at. Look first: --dry-run.

    Example: onnx-align prune model.onnx
    """
    with SIGNALS.held():
        from onnx_align_cli.show import show_facts
        from onnx_align_pass.pruning import prune_file

    report = prune_file(source, dry_run=dry_run)
    if as_json:
        say_json(report.to_json())
    else:
        show_facts(_headline(report), _facts(report))
    if report.failed:
        raise typer.Exit(Exit.WRITE)


def _headline(report: PruneReport) -> str:
    if not report.removed:
        return "no old data to remove"
    nbytes = format_bytes(sum(one.nbytes for one in report.removed))
    done = "would remove" if report.dry_run else "removed"
    return f"{done} {len(report.removed)} old data files, {nbytes}"


def _facts(report: PruneReport) -> Iterator[tuple[str, str]]:
    label = "old" if report.dry_run else "removed"
    for one in report.removed:
        yield label, f"{printable(str(one.path))}, {format_bytes(one.nbytes)}"
    for reason in report.left:
        yield "left", printable(reason)
    for reason in report.failed:
        yield "failed", printable(reason)

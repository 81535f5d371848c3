"""How results look on a terminal, in a pipe, and in a terminal that can do little.

With `bar`, the only place that knows rich. Texts go in as `Text`: rich markup in a tensor's name is
shown, not obeyed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnx_align_cli.streams import say

__all__ = [
    "MANY_ROWS",
    "Column",
    "Piece",
    "can_show",
    "screen_width",
    "show_facts",
    "show_pieces",
    "show_table",
]


MANY_ROWS: Final = 1000
"""Above, a table is plain lines on a terminal too: rich takes half a millisecond for a row."""
_NEVER_FOLDED: Final = 14
"""Columns of no more than this width are not folded."""
_GAP: Final = "  "
_LABEL: Final = 9
"""Columns that the label of a fact takes at least."""
_RICH_GAP: Final = 3
Piece: TypeAlias = tuple[str, str]
"""A text that is safe to show, and its style: a name of rich's, such as `bold` or `red`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    right: bool = False
    """Numbers stand on the right."""


def show_table(title: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: all of it, whatever the width. Its texts are safe to show already.

    On a terminal long cells are folded; in a pipe, and where there is no room to, a row is a line.
    """
    lines = list(rows)
    titles = [column.title for column in columns]
    widths = [max(map(cell_len, cells)) for cells in zip(titles, *lines, strict=True)]
    console = _stdout()
    if console.is_terminal and len(lines) <= MANY_ROWS and _fits(columns, widths, console.width):
        console.print(_rich_table(title, columns, lines, widths))
        return
    if title:
        say(title)
    for line in (titles, *lines):
        cells = map(_padded, line, columns, widths)
        say(_GAP.join(cells).rstrip())


def _rich_table(
    title: str, columns: Sequence[Column], lines: Sequence[Sequence[str]], widths: Sequence[int]
) -> Table:
    heading = Text(title, style="bold") if title else None
    table = Table(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            Text(column.title),
            justify="right" if column.right else "left",
            no_wrap=not _foldable(column, width),
            overflow="fold",
        )
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _foldable(column: Column, width: int) -> bool:
    return not column.right and width > _NEVER_FOLDED


def _fits(columns: Sequence[Column], widths: Sequence[int], room: int) -> bool:
    """Whether folding is enough: a number that is cut would be another number."""
    pairs = zip(columns, widths, strict=True)
    needed = (_NEVER_FOLDED if _foldable(column, width) else width for column, width in pairs)
    return sum(needed) + _RICH_GAP * len(columns) <= room


def _padded(text: str, column: Column, width: int) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if column.right else text + blank


def show_facts(headline: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a headline and labelled lines. Lines are not wrapped, so that paths can be copied."""
    console, lines = _stdout(), list(facts)
    width = max([_LABEL, *(cell_len(label) for label, _ in lines)])
    console.print(Text(headline, style="bold"), soft_wrap=True)
    for label, value in lines:
        console.print(Text.assemble((f"  {label:<{width}} ", "dim"), value), soft_wrap=True)


def show_pieces(pieces: Iterable[Piece]) -> None:
    """Print a line of pieces. It is not wrapped; in a pipe it has no colour."""
    _stdout().print(Text.assemble(*pieces), soft_wrap=True)


def screen_width() -> int:
    """Columns of the terminal; what it would have, in a pipe."""
    return _stdout().width


def can_show(text: str) -> bool:
    """Whether the encoding of stdout has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _stdout() -> Console:
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False)

"""The progress bar: bytes, speed, time left, the tensor at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rich.console import Console, RenderableType
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from onnx_align_pass.printable import printable
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.units import format_bytes

__all__ = ["REFRESHES_PER_SECOND", "ByteBar", "progress_bar"]

REFRESHES_PER_SECOND: Final = 10
_ROOM_FOR_NAMES: Final = 70
"""Terminal columns; below, the bar stands without the names of model and tensor."""


@contextmanager
def progress_bar(*, wanted: bool) -> Iterator[Progress]:
    """Give a bar on stderr; a silent one where none is wanted or stderr is no terminal."""
    console = Console(file=sys.stderr, highlight=False, emoji=False, markup=False)
    isatty = getattr(sys.stderr, "isatty", lambda: False)
    if not wanted or not isatty() or console.is_dumb_terminal:
        yield SILENT
        return
    with ByteBar(console) as bar:
        yield bar


class ByteBar:
    """Counts in plain numbers; a thread of rich looks at them ten times a second.

    So a call from the core costs two assignments, however often it comes. A terminal that goes away
    never breaks a copy.
    """

    def __init__(self, console: Console) -> None:
        self._bytes = 0
        self._at_hand = ""
        self._task: TaskID | None = None
        self._live = _Live(self._pull, _columns(console.width), console)

    def begin(self, model: str, total_bytes: int) -> None:
        """Start a new bar, in place of the one before."""
        self._bytes, self._at_hand = 0, ""
        with suppress(OSError):
            if self._task is None:
                self._task = self._live.add_task("", total=None, at_hand="")
            # Not a new task: the thread that draws must always find the one that it knows.
            self._live.reset(self._task, total=total_bytes, description=printable(model))

    def advance(self, nbytes: int, tensor: str) -> None:
        """Count."""
        self._bytes += nbytes
        self._at_hand = tensor

    def phase(self, text: str) -> None:
        """Show the step in the tensor's place."""
        self._at_hand = text

    def refresh(self) -> None:
        """Draw now."""
        with suppress(OSError):
            self._live.refresh()

    def _pull(self) -> None:
        if self._task is not None:
            at_hand = printable(self._at_hand)
            self._live.update(self._task, completed=self._bytes, at_hand=at_hand)

    def __enter__(self) -> ByteBar:
        with suppress(OSError):
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._live.stop()


class _Live(RichProgress):
    """A rich progress that asks for the numbers when it draws."""

    def __init__(
        self, pull: Callable[[], None], columns: Iterable[ProgressColumn], console: Console
    ) -> None:
        self._pull = pull
        super().__init__(
            *columns,
            console=console,
            refresh_per_second=REFRESHES_PER_SECOND,
            transient=True,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        """Take the numbers of this moment, then draw them."""
        self._pull()
        return super().get_renderables()


class _TextColumn(ProgressColumn):
    """A column of plain text."""

    def __init__(self, text_of: Callable[[Task], str], column: Column) -> None:
        super().__init__(column)
        self._text_of = text_of

    def render(self, task: Task) -> Text:
        return Text(self._text_of(task))


def _columns(width: int) -> list[ProgressColumn]:
    names = width >= _ROOM_FOR_NAMES
    name = Column(ratio=2, no_wrap=True, overflow="ellipsis")
    model = [_TextColumn(lambda task: task.description, name)] if names else []
    tensor = [_TextColumn(lambda task: str(task.fields["at_hand"]), name.copy())] if names else []
    amount = Column(no_wrap=True, justify="right", min_width=len("999.9 MiB / 999.9 MiB"))
    speed = Column(no_wrap=True, justify="right", min_width=len("999.9 MiB/s"))
    return [
        *model,
        BarColumn(bar_width=None, table_column=Column(ratio=3)),
        _TextColumn(_amount, amount),
        _TextColumn(_speed, speed),
        TimeRemainingColumn(compact=True),
        *tensor,
    ]


def _amount(task: Task) -> str:
    return f"{format_bytes(int(task.completed))} / {format_bytes(int(task.total or 0))}"


def _speed(task: Task) -> str:
    speed = task.finished_speed or task.speed
    return f"{format_bytes(int(speed))}/s" if speed else ""

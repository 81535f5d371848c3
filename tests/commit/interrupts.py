"""Ctrl-C at any call that a run makes of the operating system, before it or after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

__all__ = ["CALLS", "Interrupter", "interrupting"]

CALLS = (
    *("rename", "replace", "link", "unlink", "mkdir", "rmdir", "open", "fsync", "close"),
    *("ftruncate", "fchmod", "listdir", "lstat", "pwritev", "preadv", "splice"),
)


class Interrupter:
    """Counts calls, and raises KeyboardInterrupt at some of them."""

    def __init__(self, at: tuple[int, ...], *, after: bool) -> None:
        self.count = 0
        self.fired: list[str] = []
        self._at = at
        self._after = after

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted and interrupted."""

        def call(*args: Any, **named: Any) -> Any:
            number = self.count
            self.count += 1
            if number in self._at:
                self.fired.append(f"{name}{args}")
                if self._after:
                    with suppress(OSError):
                        function(*args, **named)
                raise KeyboardInterrupt
            return function(*args, **named)

        return call


@contextmanager
def interrupting(*at: int, after: bool) -> Iterator[Interrupter]:
    """Interrupt the calls with these numbers, from 0."""
    result = Interrupter(at, after=after)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, result.wrap(name, getattr(os, name)))
        yield result

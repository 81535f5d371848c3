"""Keeps signals off the commit, and knows which models are published if one ends the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnx_align_cli.signals import SIGNALS
from onnx_align_pass.printable import printable
from onnx_align_pass.progress import PUBLISHING, Progress

__all__ = ["watched"]


@contextmanager
def watched(progress: Progress) -> Iterator[Progress]:
    """Give a progress that passes everything on, and holds signals while a model is published.

    Raises:
        Interrupted: A signal came while the last model was published.
    """
    watch = _Watch(progress)
    try:
        yield watch
        watch.settle()
    finally:
        SIGNALS.drop_hold()


class _Watch:
    def __init__(self, inner: Progress) -> None:
        self._inner = inner
        self._model = ""
        self._publishing = False
        self._published: list[str] = []

    def begin(self, model: str, total_bytes: int) -> None:
        self.settle()
        self._model = model
        self._inner.begin(model, total_bytes)

    def advance(self, nbytes: int, tensor: str) -> None:
        if self._publishing:
            self.settle()
        self._inner.advance(nbytes, tensor)

    def phase(self, text: str) -> None:
        self.settle()
        self._inner.phase(text)
        if text == PUBLISHING:
            self._publishing = True
            SIGNALS.hold()

    def settle(self) -> None:
        """A commit that was under way is done; a signal that came meanwhile counts now."""
        if self._publishing:
            self._publishing = False
            self._published.append(printable(self._model))
            SIGNALS.outcome = f"{_listed(self._published)} finished, nothing else was changed"
            SIGNALS.release()


def _listed(names: list[str]) -> str:
    if len(names) > 3:
        return f"{len(names)} models are"
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"

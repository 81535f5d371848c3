"""Python's cyclic garbage collector, held still while a model's values are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector: a plan's values hold no cycles, and looking for some takes a third.

    Measured on 20,000 tensors. What others leave behind meanwhile is collected after.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

"""What the tests of all exporters ask of a result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.corpus.oracle import entries_of, parse, walk

__all__ = ["entries", "locations", "offsets", "quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Whatever an exporter and its dependencies warn of is not this project's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def entries(model: Path) -> list[dict[str, str]]:
    """The external data entries of every external tensor of a model."""
    found = [entries_of(tensor) for _, tensor in walk(parse(model))]
    return [one for one in found if one]


def offsets(model: Path) -> list[int]:
    """Where the external tensors of a model begin in their files."""
    return [int(one["offset"]) for one in entries(model)]


def locations(model: Path) -> set[str]:
    """The data files of a model."""
    return {one["location"] for one in entries(model)}

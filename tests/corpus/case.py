"""What a case of the corpus is: a name, a builder, and what is true of the model it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BadBook", "BadCase", "Build", "Case", "CaseBook"]

Build = Callable[[Path], Path]
"""Writes a model into an existing, empty folder and returns the path of its `.onnx`.

The same bytes each time. The `.onnx` need not lie directly in the folder.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A model that is valid for protobuf, however odd; `str(case)` is its name.

    The flags are exact for onnx 1.23.2 and onnxruntime 1.32: `test_corpus` holds both the true
    and the false ones against the peers.
    """

    name: str
    build: Build
    about: str
    """One line: what is odd about it."""
    runs: bool
    """onnxruntime loads it from its path and gives outputs, of the right weights."""
    checker: bool
    """`onnx.checker.check_model(path)` accepts it."""
    onnx_load: bool
    """`onnx.load(path)` accepts it, and every tensor that it loads gets the right bytes.

    onnx leaves sparse, training and some function tensors external: these are not counted.
    """
    in_place: bool
    """The model and its data files are regular files of one link each, no links on the way to them
    inside the model's folder, and no data file is the model itself."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class BadCase:
    """A model that must be refused, by a named error, and never crash or hang its reader."""

    name: str
    build: Build
    wrong: str
    """One line: what is wrong."""
    parses: bool
    """protobuf parses the `.onnx` itself; what is wrong lies deeper."""
    needs_root: bool
    """Only root can build it (another owner)."""
    blocks: bool
    """Opening its data file in the plain way waits forever."""

    def __str__(self) -> str:
        return self.name


class CaseBook(dict[str, Case]):
    """Cases by name, in the order written; `add` is a decorator that registers a builder."""

    def add(
        self,
        name: str | None = None,
        about: str | None = None,
        *,
        runs: bool = True,
        checker: bool = True,
        onnx_load: bool = True,
        in_place: bool = True,
    ) -> Callable[[Build], Build]:
        """Register the decorated builder under its own name, or under `name`."""

        def register(build: Build) -> Build:
            key = name or build.__name__
            line = about or first_line(build)
            assert key not in self, f"two cases called {key}"
            self[key] = Case(key, build, line, runs, checker, onnx_load, in_place)
            return build

        return register


class BadBook(dict[str, BadCase]):
    """Bad cases by name; `add` is a decorator that registers a builder."""

    def add(
        self,
        name: str | None = None,
        wrong: str | None = None,
        *,
        parses: bool = True,
        needs_root: bool = False,
        blocks: bool = False,
    ) -> Callable[[Build], Build]:
        """Register the decorated builder under its own name, or under `name`."""

        def register(build: Build) -> Build:
            key = name or build.__name__
            line = wrong or first_line(build)
            assert key not in self, f"two cases called {key}"
            self[key] = BadCase(key, build, line, parses, needs_root, blocks)
            return build

        return register


def first_line(build: Build) -> str:
    """The first line of the builder's docstring."""
    return (build.__doc__ or "").strip().splitlines()[0]

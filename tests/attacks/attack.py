"""What an attack is: a builder of a model, and what is to become of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.corpus.case import Build

__all__ = ["Attack", "Book"]


@dataclass(frozen=True, slots=True)
class Attack:
    """A stranger's model; `str(attack)` is its name."""

    name: str
    build: Build
    code: str | None
    """Of the error that it is refused with; None: it is harmless, and read."""
    hazard: str | None
    """Of the warning that `inspect` has of what is read."""

    def __str__(self) -> str:
        return self.name


class Book(dict[str, Attack]):
    """Attacks by name, in the order written."""

    def add(
        self, name: str, build: Build, *, refused: str | None = None, hazard: str | None = None
    ) -> None:
        """Register an attack: one that is refused with a code, or one that does no harm."""
        assert name not in self, f"two attacks called {name}"
        self[name] = Attack(name, build, refused, hazard)

    def attack(
        self, *, refused: str | None = None, hazard: str | None = None
    ) -> Callable[[Build], Build]:
        """Register the decorated builder under its own name."""

        def register(build: Build) -> Build:
            self.add(build.__name__, build, refused=refused, hazard=hazard)
            return build

        return register

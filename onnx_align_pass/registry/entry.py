"""One registered pass: its name, where it comes from, and where what makes it lives."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, Final

from onnx_align_pass.errors import BrokenPassError
from onnx_align_pass.printable import printable
from onnx_align_pass.registry.options import Kind, Option
from onnx_align_pass.registry.signature import options_of

__all__ = ["GROUP", "PassEntry", "is_strangers", "kebab"]

GROUP: Final = "onnx_align_pass.passes"
"""The group of entry points in which distributions register passes."""
_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_strangers(error: BaseException, place: str) -> bool:
    """Whether an error is the doing of a stranger's code: it may end the program, or raise its own.

    Args:
        error: What was raised.
        place: Where the code lives: `package.module:attribute`.
    """
    if isinstance(error, Exception | SystemExit | GeneratorExit):
        return True
    home = re.split("[.:]", place.strip(), maxsplit=1)[0]
    return type(error).__module__.partition(".")[0] == home


def kebab(class_name: str) -> str:
    """Make a pass's name of its class's: `lift-constants` of `LiftConstantsPass`."""
    return _WORD_STARTS.sub("-", class_name.removesuffix("Pass")).lower()


@dataclass(frozen=True, slots=True)
class PassEntry:
    """A pass that can be asked for by name. Nothing is imported before it is used."""

    name: str
    origin: str
    """The distribution that it comes from."""
    place: str
    """The class, or the function that makes the pass: `package.module:attribute`."""
    aliases: tuple[str, ...] = ()
    problem: str | None = None
    """Why it cannot be used, if that is known before anything is imported."""

    def load(self) -> Callable[..., Any]:
        """Import what makes the pass.

        Raises:
            BrokenPassError: It cannot be imported, or is nothing that makes a pass.
        """
        if self.problem is not None:
            raise self._broken(self.problem)
        try:
            found: object = EntryPoint(self.name, self.place, GROUP).load()
        except BaseException as error:
            if not is_strangers(error, self.place):
                raise
            raise self._broken(f"{type(error).__name__}: {error}") from error
        if not callable(found) or (isinstance(found, type) and not _is_pass_class(found)):
            raise self._broken(f"{self.place} is not a pass")
        return found

    def options(self) -> tuple[Option, ...]:
        """List its options, those that no text can say among them.

        Raises:
            BrokenPassError: It cannot be loaded, or needs what no text can say.
        """
        factory = self.load()
        try:
            found = options_of(factory)
        except (TypeError, ValueError) as error:
            raise self._broken(f"its options cannot be told: {error}") from error
        for one in found:
            if one.kind is Kind.CODE and one.required:
                raise self._broken(f"needs {one.name}, which no text can say")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)

    def makes(self, pass_: object) -> bool:
        """Whether a pass is of this entry's class. Imports nothing: what was made is imported."""
        module = self.place.partition(":")[0].strip()
        if self.problem is not None or module not in sys.modules:
            return False
        try:
            return self.load() is type(pass_)
        except BrokenPassError:
            return False

    def _broken(self, reason: str) -> BrokenPassError:
        return BrokenPassError(self.name, self.origin, printable(" ".join(reason.split())))


def _is_pass_class(found: type) -> bool:
    import onnx_ir as ir

    return issubclass(found, ir.passes.PassBase)

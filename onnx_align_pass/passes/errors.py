"""What is wrong with a pass's name, options or text. All are usage: exit code 2."""

from __future__ import annotations

from difflib import get_close_matches
from typing import ClassVar

from onnx_align_pass.errors import UsageError

__all__ = ["BrokenPassError", "PassOptionError", "PassTextError", "UnknownPassError"]


class PassTextError(UsageError):
    """A text is not of the form `name{option=value option=value}`."""

    usual_hint: ClassVar[str | None] = (
        "Write name{option=value option=value}, and quote values with spaces or commas."
    )


class UnknownPassError(PassTextError):
    """No pass is registered under this name, or this class under any."""

    usual_hint = "Run `onnx-align passes` to see which there are."

    @classmethod
    def of(cls, name: str, known: list[str]) -> UnknownPassError:
        """Name the passes whose names are close to one that does not exist."""
        close = get_close_matches(name, known)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        return cls(f"there is no pass {name!r}", hint=f"{meant}{cls.usual_hint}")


class PassOptionError(PassTextError):
    """A pass has no such option, lacks one that it needs, or has one with a bad value."""

    usual_hint = "Run `onnx-align passes` to see the options."


class BrokenPassError(PassTextError):
    """A pass is registered, and cannot be used: its import fails, or it is no pass."""

    usual_hint = "Mend or remove the distribution that registers it."

    def __init__(self, name: str, origin: str, reason: str) -> None:
        super().__init__(f"the pass {name!r} of {origin} is not usable: {reason}")
        self.reason = reason

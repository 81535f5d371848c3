"""How a long copy says where it is. The core only calls; showing is somebody else's."""

from __future__ import annotations

from typing import Final, Protocol

__all__ = ["PUBLISHING", "SILENT", "Progress"]

PUBLISHING: Final = "publishing"
"""The phase that is announced before each commit, and never else. A contract: from this call until
the core's next one, or its return, the files that it replaces change places.
"""


class Progress(Protocol):
    """What the core calls while it copies. Calls come from one thread, in order."""

    def begin(self, model: str, total_bytes: int) -> None:
        """A model's copy starts; `total_bytes` of weights will be written."""

    def advance(self, nbytes: int, tensor: str) -> None:
        """`nbytes` more bytes are written; `tensor` is the one at hand."""

    def phase(self, text: str) -> None:
        """A step without bytes begins, such as `syncing`."""


class _Silent:
    def begin(self, model: str, total_bytes: int) -> None:
        pass

    def advance(self, nbytes: int, tensor: str) -> None:
        pass

    def phase(self, text: str) -> None:
        pass


SILENT: Progress = _Silent()
"""The progress that says nothing."""

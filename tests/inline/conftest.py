"""What the tests of inlining start from."""

from __future__ import annotations

from tests.align.conftest import folder

__all__ = ["folder"]

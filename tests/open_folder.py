"""A folder for tests that become another user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["open_folder"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: pytest's own is closed to them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)

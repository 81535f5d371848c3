"""What the tests of the model room share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write each example to: hypothesis runs many in one test."""
    return tmp_path_factory.mktemp("scratch") / "model.onnx"

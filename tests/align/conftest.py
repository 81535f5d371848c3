"""What several tests start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from .small_models import external_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models, one of them deeper, and files of other kinds."""
    folder = tmp_path / "models"
    external_model(folder / "encoder.onnx", data="shared.bin")
    external_model(folder / "deep" / "decoder.ONNX", seed=1)
    (folder / "config.json").write_text("{}")
    (folder / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "deep" / "run.sh").chmod(0o755)
    (folder / "deep" / "empty").touch()
    return folder

"""Which exporter a test needs: absent, the test skips and names it; required, it fails.

`ONNX_ALIGN_REQUIRE=torch,optimum` says that these are installed: then nothing may skip for them.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import pytest

NEEDS: Final = {
    "needs_torch": ("torch", "torch"),
    "needs_optimum": ("optimum-onnx", "optimum"),
    "needs_olive": ("olive-ai", "olive"),
    "needs_onnx_passes": ("onnx-passes", "onnx-passes"),
}
"""By marker: the distribution that must be installed, and this project's extra that installs it."""
NOISE: Final = {
    # torch 2.13 copies its own deprecated LeafSpec while it exports.
    "needs_torch": r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning:copyreg",
}
"""By marker: a warning that an exporter raises about itself, let through for its tests alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let an exporter's own noise through."""
    for item in items:
        for marker, noise in NOISE.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.filterwarnings(noise))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test whose exporter is not there."""
    required = os.environ.get("ONNX_ALIGN_REQUIRE", "").split(",")
    for marker, (distribution, extra) in NEEDS.items():
        if item.get_closest_marker(marker) and not is_installed(distribution):
            reason = f"needs {distribution}: pip install 'onnx-align-pass[{extra}]'"
            if extra in required:
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)


def is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False

"""Which exporters are here, and what of their own noise is let through."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

EXPORTERS = {"needs_torch": "torch"}
"""The package that a mark stands for."""
NOISE = {
    "needs_torch": (
        # torch 2.13 copies its own deprecated LeafSpec while it exports; nothing a caller can do.
        r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning:copyreg",
    )
}
"""Warnings that an exporter raises about itself, as narrow as can be."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark, noise in NOISE.items():
            if item.get_closest_marker(mark) is not None:
                for filtered in noise:
                    item.add_marker(pytest.mark.filterwarnings(filtered))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, package in EXPORTERS.items():
        if item.get_closest_marker(mark) is not None and find_spec(package) is None:
            pytest.skip(f"{mark}: the exporter {package} is not installed")

"""Distributions that are installed for one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from .distribution import write_distribution

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution (see `write_distribution`) that is gone after the test."""
    before = set(sys.modules)

    def put(
        name: str,
        registered: Mapping[str, str],
        modules: Mapping[str, str] | None = None,
        **options: str,
    ) -> Path:
        folder = write_distribution(tmp_path / name, name, registered, modules, **options)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield put
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]

"""What the tests of the corpus share: each case built once, and the peers held to its flags."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from .case import Case


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Path]:
    """Builds a case once for all tests, which only read it."""

    @functools.cache
    def build(case: Case) -> Path:
        return case.build(tmp_path_factory.mktemp("case"))

    return build

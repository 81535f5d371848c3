"""The inputs that the fuzzer kept, and what it starts from, hold under every target; no atheris."""

from __future__ import annotations

from importlib import import_module
from itertools import islice
from typing import Any

import pytest

from .kept import TARGETS, kept

pytestmark = pytest.mark.ends_within(120)


def target_of(name: str) -> Any:
    return import_module(f"tests.fuzz.fuzz_{name}")


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_kept_holds(name: str) -> None:
    target, inputs = target_of(name), kept(name)
    assert len(inputs) > 20
    for data in inputs:
        target.one_input(data)


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_starts_from_holds(name: str) -> None:
    target = target_of(name)
    for data in islice(target.seeds(), 0, None, 6):
        target.one_input(data)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(5))
def test_edits_of_what_was_kept_hold(name: str, seed: int) -> None:
    target, inputs = target_of(name), kept(name)
    for number, data in enumerate(inputs):
        head, body = data[: target.HEAD], data[target.HEAD :]
        target.one_input(head + target.edited(body, 8000, 1000 * seed + number))

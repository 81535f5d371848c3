"""Runs that rename one model at once: one of its names stays, with its data, whoever is first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import AlignError, SourceChangedError, rename_file, renaming
from onnx_align_pass.transfer.removal import remove_pair
from tests.align.small_models import external_model
from tests.corpus import oracle


@pytest.fixture(params=["beside", "elsewhere"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A model, and where it will be."""
    model = external_model(tmp_path / "one" / "model.onnx")
    if request.param == "beside":
        return model, model.with_name("other.onnx")
    (tmp_path / "two").mkdir()
    return model, tmp_path / "two" / "model.onnx"


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something when a run has published the new model, and not removed the old one."""

    def late(*given: Any, **keywords: Any) -> None:
        monkeypatch.setattr(renaming, "remove_pair", remove_pair)
        act()
        remove_pair(*given, **keywords)

    monkeypatch.setattr(renaming, "remove_pair", late)


def test_a_model_that_is_renamed_back_meanwhile_stays(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = places
    wanted = oracle.tensors(old)
    meanwhile(monkeypatch, lambda: rename_file(new, old))
    with pytest.raises(SourceChangedError, match="has changed or moved the new model"):
        rename_file(old, new)
    assert not new.exists()
    assert oracle.tensors(old) == wanted


def test_a_model_that_moves_on_meanwhile_is_not_removed_on_its_account(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = places
    wanted, third = oracle.tensors(old), old.with_name("third.onnx")
    meanwhile(monkeypatch, lambda: rename_on(new, third))
    with pytest.raises(AlignError):
        rename_file(old, new)
    assert oracle.tensors(old) == wanted


def rename_on(new: Path, third: Path) -> None:
    with suppress(AlignError):  # beside the old one, that its data is the old model's too is seen
        rename_file(new, third)
    new.unlink(missing_ok=True)


def test_two_that_do_the_same_end_in_the_same(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = places
    wanted = oracle.tensors(old)
    meanwhile(monkeypatch, lambda: rename_file(old, new))
    with pytest.raises(AlignError):
        rename_file(old, new)
    assert not old.exists()
    assert oracle.tensors(new) == wanted

"""Many files beside models that name many: each name is looked at once, not for each file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import (
    DataFileSharedError,
    LayoutPolicy,
    align_file,
    destination,
    inspect_file,
    recover_folder,
    rename_file,
)
from tests.commit.journals import NOTHING, staged, state
from tests.corpus import oracle
from tests.corpus.build import external, showing, tensor, write

MANY = 600
FEW = 280
"""More looks than there is need of at one file or one name, however deep the folder is (`realpath`
looks at each above it), and fewer than there are of both."""


class Count:
    """How often a function was called."""

    def __init__(self, patch: Callable[..., None], *functions: tuple[Any, str]) -> None:
        self.calls = 0
        for owner, name in functions:
            patch(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, asked: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return asked(*args, **kwargs)

        return counted


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Count]:
    """Starts to count how often the system is asked what is there."""
    return lambda: Count(monkeypatch.setattr, (os, "stat"), (os, "lstat"))


def model_of(folder: Path, prefix: str, name: str = "model.onnx") -> Path:
    """A model that has a data file for each tensor."""
    names = [f"{prefix}{at}.data" for at in range(MANY)]
    return write(
        folder, showing([external(tensor(one, [300]), folder, one) for one in names]), name
    )


@pytest.mark.parametrize("name", [None, "all.data"], ids=["replaced", "removed"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_neighbours_names_are_looked_at_once_for_all_data_files(
    missing: bool, name: str | None, looks: Callable[[], Count], tmp_path: Path
) -> None:
    model = model_of(tmp_path, "old")
    model_of(tmp_path, "other", "other.onnx")
    for at in range(MANY if missing else 0):
        (tmp_path / f"other{at}.data").unlink()
    wanted, count = oracle.tensors(model), looks()
    report = align_file(model, layout=LayoutPolicy(data_name=name)).models[0]
    assert len(report.removed) == (0 if name is None else MANY)
    assert count.calls < 2 * MANY * FEW
    assert oracle.tensors(model) == wanted


CALLS: dict[str, Callable[[Path], object]] = {
    "inspect": inspect_file,
    "rename": lambda model: rename_file(model, model.parents[1] / "new" / "model.onnx"),
    "carry": lambda model: align_file(model.parent, model.parents[1] / "copy", overwrite=True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_so_are_they_by_whatever_else_looks_at_neighbours(
    call: Callable[[Path], object], looks: Callable[[], Count], tmp_path: Path
) -> None:
    model = model_of(tmp_path / "in", "old")
    if call is CALLS["carry"]:
        for at in range(MANY):
            for folder in (tmp_path / "in", tmp_path / "copy"):
                folder.mkdir(exist_ok=True)
                (folder / f"{at}.txt").write_text("carried along")
        model_of(tmp_path / "copy", "other", "other.onnx")
    else:
        model_of(tmp_path / "in", "other", "other.onnx")
    count = looks()
    call(model)
    assert count.calls < 2 * MANY * FEW


def test_one_of_many_that_is_shared_is_found(tmp_path: Path) -> None:
    model = model_of(tmp_path, "old")
    shared = [external(tensor("w", [300]), tmp_path, f"old{MANY - 1}.data")]
    other = write(tmp_path, showing(shared), "other.onnx")
    wanted = oracle.tensors(other)
    report = align_file(model, layout=LayoutPolicy(data_name="all.data")).models[0]
    assert len(report.removed) == MANY - 1
    assert oracle.tensors(other) == wanted


def test_a_model_that_comes_to_use_the_data_during_the_run_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(tmp_path, "old")
    recheck = destination.Destination.recheck

    def late(*args: Any) -> None:
        (tmp_path / "late.onnx").write_bytes(model.read_bytes())
        recheck(*args)

    monkeypatch.setattr(destination.Destination, "recheck", late)
    with pytest.raises(DataFileSharedError, match=r"late\.onnx"):
        align_file(model)


def test_names_that_may_be_one_are_compared_once_for_all_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = model_of(tmp_path, "old")
    count = Count(monkeypatch.setattr, (destination, "alike"))
    report = align_file(model, layout=LayoutPolicy(max_shard_size_bytes=1200)).models[0]
    assert len(report.removed) == MANY
    assert len(list(tmp_path.glob("*.data"))) == MANY
    assert count.calls < 4 * MANY


def test_recovery_looks_at_a_models_names_once_for_all_data_files(
    looks: Callable[[], Count], tmp_path: Path
) -> None:
    after = state(model_of(tmp_path, "new"))
    other = model_of(tmp_path, "other", "other.onnx")
    old = [f"old{at}.data" for at in range(MANY)]
    for name in old:
        (tmp_path / name).touch()
    used = "other0.data"
    superseded = {name: state(tmp_path / name) for name in (*old, used)}
    staged(tmp_path, superseded=superseded, model_before=NOTHING, model_after=after)
    wanted, count = oracle.tensors(other), looks()
    (found,) = recover_folder(tmp_path)
    assert found.outcome == "finished"
    assert count.calls < 2 * MANY * FEW
    assert not any((tmp_path / name).exists() for name in old)
    assert oracle.tensors(other) == wanted

"""Locations: whatever a stranger writes there, nothing outside the folder is read or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.inspecting import inspect_file
from tests.align.snapshot import snapshot
from tests.corpus.bad_paths import SECRET

from .attack import Attack
from .entry_points import ENTRY_POINTS, READERS
from .locations import LOCATIONS

pytestmark = pytest.mark.ends_within(20)
REFUSED = [one for one in LOCATIONS.values() if one.code is not None]
READ = [one for one in LOCATIONS.values() if one.code is None]
MOVES = {"rename", "in place"}
"""Those that change the source where they succeed."""


@pytest.mark.parametrize("call", ENTRY_POINTS)
@pytest.mark.parametrize("attack", REFUSED, ids=str)
def test_it_is_refused_by_name_and_nothing_is_touched(
    attack: Attack, call: str, tmp_path: Path
) -> None:
    model, out = _built(attack, tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(ModelError) as error:
        ENTRY_POINTS[call](model, out)
    assert error.value.code == attack.code
    assert str(error.value).isprintable()
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("call", ENTRY_POINTS)
@pytest.mark.parametrize("attack", READ, ids=str)
def test_it_does_no_harm_and_the_secret_stays_where_it_is(
    attack: Attack, call: str, tmp_path: Path
) -> None:
    model, out = _built(attack, tmp_path)
    before = snapshot(tmp_path)
    ENTRY_POINTS[call](model, out)
    after = snapshot(tmp_path)
    unchanged = {name for name, what in before.items() if after.get(name) == what}
    assert call in MOVES or unchanged >= set(before) - {"out"}
    assert call not in READERS or after == before
    new = [tmp_path / name for name in after if name not in before]
    assert all(SECRET not in one.read_bytes() for one in new if one.is_file())
    assert all(one.is_relative_to(out) or call in MOVES for one in new)


@pytest.mark.parametrize("attack", READ, ids=str)
def test_a_look_warns_of_a_name_that_is_none_elsewhere(attack: Attack, tmp_path: Path) -> None:
    model, _ = _built(attack, tmp_path)
    found = {one.code for one in inspect_file(model).findings}
    assert found & {"unportable-name", "names-alike"} == {attack.hazard} - {None}


def _built(attack: Attack, folder: Path) -> tuple[Path, Path]:
    out = folder / "out"
    out.mkdir()
    (folder / "source").mkdir()
    return attack.build(folder / "source"), out

"""The bad models of the corpus on every call: a named error and no change, or a stated yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_align_pass import ModelError
from tests.align.snapshot import snapshot
from tests.corpus.bad_entries import BAD as NUMBERS
from tests.corpus.case import BadCase
from tests.corpus.params import bad_cases

from .entry_points import ENTRY_POINTS, EntryPoint

pytestmark = pytest.mark.ends_within(20)
STAYS = {
    *("raw_data_and_float_data", "float_data_and_int32_data", "float_in_int64_data"),
    *("float_data_too_short", "no_data_at_all", "raw_data_too_short", "raw_data_too_long"),
    *("raw_data_of_empty", "string_in_raw_data"),
}
"""The fault is of a tensor that is inline: where it stays so, it is carried as it is."""
SMALL = {"float_data_and_int32_data", "raw_data_of_empty", "string_in_raw_data"}
"""So small, or of such a type, that it stays inline by every call."""
MENDED = {f"offset_{one}" for one in ("float", "space", "plus")}
MENDED |= {f"length_{one}" for one in ("float", "space")}
"""Numbers that are not written as numbers, and have one meaning."""
CARRYING = {"plan", "fresh", "inline", "shared"}
NO_BYTES = "external_zero_times_huge"
"""It has no bytes: it comes back inline."""


def _may_succeed(case: str, call: str) -> bool:
    if call == "rename":  # looks at locations alone, and at no range
        return case in NUMBERS or case == "data_lfs_pointer"
    if call in ("repair", "find repairs") and case in MENDED:
        return True
    if case == NO_BYTES:
        return True
    if call == "inline" and case in STAYS:
        return True
    reads = {"raw_data_of_empty": {"load"}, "string_in_raw_data": {"load", "digest"}}
    return case in SMALL and (call in CARRYING or call in reads.get(case, ()))


@pytest.mark.parametrize("case", bad_cases())
def test_a_bad_model_is_refused_by_every_call_or_does_no_harm(
    case: BadCase, tmp_path: Path
) -> None:
    for name, call in ENTRY_POINTS.items():
        folder = tmp_path / name
        for one in (folder / "source", folder / "out"):
            one.mkdir(parents=True)
        model = case.build(folder / "source")
        before = snapshot(folder)
        said = _refusal(call, model, folder / "out")
        if said is None:
            assert _may_succeed(case.name, name), name
        else:
            assert said.isprintable(), name
            assert snapshot(folder) == before, name


def _refusal(call: EntryPoint, model: Path, out: Path) -> str | None:
    try:
        call(model, out)
    except ModelError as error:
        return str(error)
    return None

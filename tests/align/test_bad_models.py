"""Bad input: a named error that helps, and nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_align_pass import AlignError, ModelError, UsageError, align_file, plan_file
from tests.corpus.case import BadCase
from tests.corpus.params import bad_cases

from .snapshot import snapshot

pytestmark = pytest.mark.ends_within(20)

HARMLESS = {
    "float_data_and_int32_data": "it is small, stays inline, and is carried as it is",
    "raw_data_of_empty": "it stays inline, and is carried as it is",
    "string_in_raw_data": "it stays inline, and is carried as it is",
    "external_zero_times_huge": "it has no bytes: it comes back inline",
}
"""Bad for the peers, harmless here."""
REFUSED = [case for case in bad_cases() if case.id not in HARMLESS]


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_model_is_refused_and_nothing_is_lost(case: BadCase, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    result = _folder(tmp_path / "result") / "model.onnx"
    before = snapshot(tmp_path)
    with pytest.raises(ModelError) as error:
        align_file(source, result, durable=False)
    assert snapshot(tmp_path) == before
    _helps(error.value, source)


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_model_is_refused_in_place_too(case: BadCase, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    before = snapshot(tmp_path)
    with pytest.raises(ModelError):
        align_file(source, durable=False)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_refuses_what_the_run_would(case: BadCase, tmp_path: Path) -> None:
    source = case.build(_folder(tmp_path / "source"))
    with pytest.raises(ModelError):
        plan_file(source)


def _helps(error: AlignError, source: Path) -> None:
    text = str(error)
    assert isinstance(error, ModelError)
    assert not isinstance(error, UsageError)
    assert error.file is not None, text
    assert error.hint, text
    assert text.endswith(error.hint), text
    assert text.isprintable(), text
    assert len(text) < 1000 + len(str(source)), text


def _folder(path: Path) -> Path:
    path.mkdir()
    return path

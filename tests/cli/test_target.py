"""Where a result goes, from what was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_align_cli.target import new_place, target_of
from onnx_align_pass import UsageError


def test_a_folder_is_one_that_is_there_or_that_ends_with_a_slash(tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    assert new_place(source, str(tmp_path)) == tmp_path
    assert new_place(source, f"{tmp_path}/new/") == tmp_path / "new" / "m.onnx"
    assert new_place(source, f"{tmp_path}/new.onnx") == tmp_path / "new.onnx"
    assert new_place(source, f"{tmp_path}/new.v2") == tmp_path / "new.v2"


def test_for_a_folder_of_models_it_is_a_folder_however_it_ends(tmp_path: Path) -> None:
    assert new_place(tmp_path, "new") == Path("new")
    assert new_place(tmp_path, "new/") == Path("new")


def test_a_model_without_a_suffix_may_be_called_as_one_without(tmp_path: Path) -> None:
    assert new_place(tmp_path / "m", "bare") == Path("bare")


def test_what_may_mean_two_things_says_what_to_type() -> None:
    with pytest.raises(UsageError, match=r"Type bare/ or bare\.onnx"):
        new_place(Path("m.onnx"), "bare")


def test_in_place_is_no_target() -> None:
    assert target_of("align", Path("m.onnx"), None, in_place=True) is None


@pytest.mark.parametrize(
    ("destination", "in_place", "said"),
    [
        (None, False, "onnx-align align 'my m.onnx' --in-place"),
        ("out.onnx", True, "Leave one of them out"),
        ("", False, "DST is empty"),
    ],
)
def test_neither_or_both_is_wrong_usage(destination: str | None, in_place: bool, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        target_of("align", Path("my m.onnx"), destination, in_place=in_place)

"""How data files are called when their model is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.layout.names import is_location
from onnx_align_pass.layout.renames import renamed


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ("old.onnx.data", "new.onnx.data"),
        ("old.onnx_data", "new.onnx_data"),
        ("old.onnx", "new.onnx"),
        ("old.data", "new.data"),
        ("old_data", "new_data"),
        ("old", "new"),
        ("old-00001-of-00002.onnx.data", "new-00001-of-00002.onnx.data"),
        ("old.safetensors", "new.safetensors"),
        ("weights/old.data", "weights/new.data"),
        ("old/old.data", "old/new.data"),
        ("old.onnx/w.bin", "old.onnx/w.bin"),
        ("older.data", "older.data"),
        ("old2.data", "old2.data"),
        ("oldé.data", "oldé.data"),
        ("my-old.data", "my-old.data"),
        ("Old.data", "Old.data"),
        ("weights.bin", "weights.bin"),
    ],
)
def test_a_name_that_begins_with_the_models_changes_with_it(data: str, wanted: str) -> None:
    assert renamed(data, "old.onnx", "new.onnx") == wanted


def test_a_model_may_have_no_suffix_or_one_in_capitals() -> None:
    assert renamed("OLD.ONNX.data", "OLD.ONNX", "new.onnx") == "new.onnx.data"
    assert renamed("OLD.data", "OLD.ONNX", "new.onnx") == "new.data"
    assert renamed("old.onnx.data", "old.onnx", "new") == "new.data"
    assert renamed("old.data", "old", "new.onnx") == "new.onnx.data"
    assert renamed(".data", ".onnx", "new.onnx") == ".data"


def test_what_no_location_can_hold_is_written_as_align_writes_it() -> None:
    assert renamed("old.onnx.data", "old.onnx", "a..b.onnx") == "a_.b.onnx.data"
    assert renamed("a_.b.onnx.data", "a..b.onnx", "new.onnx") == "new.onnx.data"
    assert renamed("a..b.onnx.data", "a..b.onnx", "a..b.onnx") == "a_.b.onnx.data"


NAMES = st.text(st.sampled_from("ab.-_2é/"), min_size=1, max_size=8)


@given(old=NAMES, new=NAMES, tail=NAMES)
def test_the_tail_of_a_name_stays_and_the_result_is_a_location(
    old: str, new: str, tail: str
) -> None:
    models = [f"{one.replace('/', '-')}.onnx" for one in (old, new)]
    data = f"{models[0]}.{tail.replace('/', '-')}"
    result = renamed(data, *models)
    assert result.endswith(tail.replace("/", "-"))
    if ".." not in tail and not models[1].endswith(".."):
        assert is_location(result) or ".." in f".{tail}"

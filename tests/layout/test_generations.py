"""Names of data files of which each is used once."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onnx_align_pass.layout.generations import token_of, with_token

TOKENS = st.text("0123456789abcdef", min_size=12, max_size=12)
NAMES = st.from_regex(r"([a-z.]{1,3}/)?[A-Za-z0-9_.-]{1,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("model.onnx.data", "model.onnx.gen-0a1b2c3d4e5f.data"),
        ("model.onnx_data_1", "model.gen-0a1b2c3d4e5f.onnx_data_1"),
        ("weights", "weights.gen-0a1b2c3d4e5f"),
        ("w.d/model.safetensors", "w.d/model.gen-0a1b2c3d4e5f.safetensors"),
        ("below/.data", "below/.data.gen-0a1b2c3d4e5f"),
        ("model-00001-of-00002.onnx.data", "model-00001-of-00002.onnx.gen-0a1b2c3d4e5f.data"),
        ("model.onnx.gen-999999999999.data", "model.onnx.gen-0a1b2c3d4e5f.data"),
    ],
)
def test_a_token_stands_before_the_last_suffix(name: str, named: str) -> None:
    assert with_token(name, "0a1b2c3d4e5f") == named


@given(NAMES, TOKENS, TOKENS)
@example(".gen-000000000000", "0a1b2c3d4e5f", "999999999999")
@example("w/.gen-000000000000", "0a1b2c3d4e5f", "999999999999")
def test_a_token_is_found_again_and_replaced_by_the_next(name: str, one: str, two: str) -> None:
    named = with_token(name, one)
    assert token_of(named) == one
    assert token_of(with_token(named, two)) == two
    assert len(with_token(named, two)) == len(named)


@given(NAMES, TOKENS)
def test_the_folder_stays(name: str, token: str) -> None:
    assert with_token(name, token).rpartition("/")[0] == name.rpartition("/")[0]


@pytest.mark.parametrize(
    "name",
    ["w-20240115.bin", "w-1a2b3c4d.bin", "w_2", "w.gen-0a1b2c3d4e5.bin", "w.gen-0A1B2C3D4E5F.bin"],
)
def test_what_people_name_has_no_token(name: str) -> None:
    assert token_of(name) is None

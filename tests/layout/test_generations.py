"""Names of data files of which each is used once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.layout.generations import family, token_of, with_token

TOKENS = st.text("0123456789abcdef", min_size=8, max_size=8)
NAMES = st.from_regex(r"([a-z.]{1,3}/)?[A-Za-z0-9_.-]{1,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("model.onnx.data", "model.onnx-0a1b2c3d.data"),
        ("model.onnx_data_1", "model-0a1b2c3d.onnx_data_1"),
        ("weights", "weights-0a1b2c3d"),
        ("w.d/model.safetensors", "w.d/model-0a1b2c3d.safetensors"),
        ("below/.data", "below/.data-0a1b2c3d"),
        ("model-00001-of-00002.onnx.data", "model-00001-of-00002.onnx-0a1b2c3d.data"),
        ("model.onnx-99999999.data", "model.onnx-0a1b2c3d.data"),
    ],
)
def test_a_token_stands_before_the_last_suffix(name: str, named: str) -> None:
    assert with_token(name, "0a1b2c3d") == named


@given(NAMES, TOKENS, TOKENS)
def test_a_token_is_found_again_and_replaced_by_the_next(name: str, one: str, two: str) -> None:
    named = with_token(name, one)
    assert token_of(named) == one
    assert family(named) == family(with_token(named, two)) == family(name)
    assert token_of(with_token(named, two)) == two
    assert len(with_token(named, two)) == len(named)


@given(NAMES, TOKENS)
def test_the_folder_stays(name: str, token: str) -> None:
    assert with_token(name, token).rpartition("/")[0] == name.rpartition("/")[0]


def test_shards_are_of_one_family() -> None:
    names = ("model-00001-of-00002.onnx.data", "model-00017-of-12345.onnx.data", "model.onnx.data")
    assert {family(name) for name in names} == {"model.onnx.data"}
    assert family("model.onnx_data") == family("model.onnx_data_12") == "model.onnx_data"
    assert family("model.onnx.data") != family("other.onnx.data")

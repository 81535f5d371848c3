"""Data files are called so that a model can name them, and every runtime can find them."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass import LayoutPolicy, align_file
from onnx_align_pass.layout.names import default_data_name, shard_name
from tests.corpus import CASES, oracle

TEMPLATES = (None, "{model}.data", "{stem}_data", "weights/{stem}.bin", "{stem}{model}")
ODD_NAMES = ["a..onnx", "..onnx", "...onnx", "a..b.onnx", "a\\b.onnx", "c:model.onnx", "a\nb.onnx"]
ODD_NAMES += ["a\udcff.onnx", ".onnx", " .onnx", "-.onnx", "model", "a:b.onnx"]


@given(
    stem=st.text(st.characters(blacklist_characters="/\0"), min_size=1, max_size=12)
    | st.text("a.:\\", min_size=1, max_size=6),
    template=st.sampled_from(TEMPLATES),
)
def test_the_default_name_is_one_that_a_user_could_ask_for(stem: str, template: str | None) -> None:
    name = default_data_name(LayoutPolicy(data_name=template), f"{stem}.onnx")
    assert LayoutPolicy(data_name=name).data_name == name
    name.encode()


@pytest.mark.parametrize(
    ("template", "model", "name"),
    [
        (None, "m.onnx", "m.onnx.data"),
        (None, "m", "m.data"),
        ("{stem}_data", "m.onnx", "m_data"),
        ("{stem}_data", "m.quant.onnx", "m.quant_data"),
        ("w/{model}.bin", "m.onnx", "w/m.onnx.bin"),
        (None, "a..onnx", "a_.onnx.data"),
        (None, "c:m.onnx", "c_m.onnx.data"),
    ],
)
def test_a_template_is_filled_in(template: str | None, model: str, name: str) -> None:
    assert default_data_name(LayoutPolicy(data_name=template), model) == name


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_model_of_any_name_gets_data_that_we_and_onnx_can_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = CASES["mixed"].build(tmp_path / "source")
    align_file(source, tmp_path / name, durable=False)
    onnx.load(tmp_path / name)
    align_file(tmp_path / name, tmp_path / "again" / "model.onnx", durable=False)
    assert oracle.tensors(tmp_path / "again" / "model.onnx") == oracle.tensors(source)


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("m.onnx.data", "m-00002-of-00003.onnx.data"),
        ("m.data", "m-00002-of-00003.data"),
        ("m_data", "m_data-00002-of-00003"),
        ("w.1/m.bin", "w.1/m-00002-of-00003.bin"),
        ("m-1.5b.onnx.data", "m-1.5b-00002-of-00003.onnx.data"),
        (".hidden", ".hidden-00002-of-00003"),
    ],
)
def test_the_number_of_a_shard_stands_before_the_suffixes(base: str, name: str) -> None:
    assert shard_name(base, 2, 3) == name
    assert shard_name(base, 1, 1) == base

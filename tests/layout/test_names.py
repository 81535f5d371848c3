"""Data files are called so that a model can name them, and every runtime can find them."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass import LayoutPolicy, UsageError, align_file
from onnx_align_pass.layout.names import (
    default_data_name,
    filled,
    is_shard_of,
    literal,
    shard_name,
)
from onnx_align_pass.layout.planner import make_plan
from tests.corpus import CASES, oracle

from .requests import request

TEMPLATES = (
    *(None, "{model}.data", "{stem}_data", "weights/{stem}.bin", "{stem}{model}w", "{stem}w"),
    *("{stem}/w", "w/{stem}w", "{model}_{_n}", "{shard}/{stem}w", "{stem}.{shard}-{shards}"),
)
ODD_NAMES = ["a..onnx", "..onnx", "...onnx", "a..b.onnx", "a\\b.onnx", "c:model.onnx", "a\nb.onnx"]
ODD_NAMES += ["a\udcff.onnx", ".onnx", " .onnx", "-.onnx", "model", "a:b.onnx"]
BRACES = [
    "{stem}.onnx",
    "{model}.onnx",
    "{shard}.onnx",
    "{_n}{shards}.onnx",
    "{{}}.onnx",
    "}{.onnx",
]
ODD_NAMES += BRACES


@given(
    stem=st.text(st.characters(blacklist_characters="/\0"), min_size=1, max_size=12)
    | st.text("a.:\\{}", min_size=1, max_size=6)
    | st.sampled_from(BRACES),
    template=st.sampled_from(TEMPLATES),
    shard=st.integers(1, 3),
)
def test_the_default_name_is_one_that_a_user_could_ask_for(
    stem: str, template: str | None, shard: int
) -> None:
    base = default_data_name(LayoutPolicy(data_name=template), f"{stem}.onnx")
    assert LayoutPolicy(data_name=base).data_name == base
    for shards in (shard, 3):
        name = shard_name(base, shard, shards)
        assert LayoutPolicy(data_name=name).data_name == name
        assert not set("{}") & set(name)
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
        ("{model}|{stem}", "{stem}.onnx", "_stem_.onnx|_stem_"),
        ("{stem}-{shard}", "{shard}.onnx", "_shard_-{shard}"),
        ("{model}_{_n}", "m.onnx", "m.onnx_{_n}"),
        ("w/{stem}", "..onnx", "w/_"),
        ("{stem}{_n}.data", "a..onnx", "a_{_n}.data"),
        ("w/{stem}{_n}", "..onnx", "w/_.{_n}"),
        ("w/{stem}{_n}", ".onnx", "w/_{_n}"),
        ("{stem}{_n}:x", "c.onnx", "c{_n}_x"),
        ("{_n}{stem}{_n}{_n}:x", "c.onnx", "{_n}c{_n}{_n}_x"),
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
        ("m.safetensors", "m-00002-of-00003.safetensors"),
        (".SafeTensors", "-00002-of-00003.SafeTensors"),
    ],
)
def test_the_number_of_a_shard_stands_before_the_suffixes(base: str, name: str) -> None:
    assert shard_name(base, 2, 3) == name
    assert shard_name(base, 1, 1) == base


@pytest.mark.parametrize(
    ("template", "one", "three"),
    [
        # transformers.js: the first has no number
        ("{model}_data{_n}", "m.onnx_data", ["m.onnx_data", "m.onnx_data_1", "m.onnx_data_2"]),
        (
            "{model}.data-{shard}-of-{shards}",
            "m.onnx.data-00001-of-00001",
            [f"m.onnx.data-0000{n}-of-00003" for n in (1, 2, 3)],
        ),
        ("w/{shard}.bin", "w/00001.bin", ["w/00001.bin", "w/00002.bin", "w/00003.bin"]),
        ("{shards}{_n}", "00001", ["00003", "00003_1", "00003_2"]),
        ("{stem}_data", "m_data", [f"m_data-0000{n}-of-00003" for n in (1, 2, 3)]),
    ],
)
def test_a_template_says_where_the_number_of_a_shard_stands(
    template: str, one: str, three: list[str]
) -> None:
    for group in (None, template):
        layout = LayoutPolicy(
            alignment=1, max_shard_size_bytes=10, data_name=None if group else template
        )
        tensors = [request(number, 10, group=group) for number in range(3)]
        plan = make_plan(tensors, layout, model_name="m.onnx")
        assert [file.name for file in plan.files] == three
        assert [placed.file for placed in plan.placements] == three
        plan = make_plan(tensors[:1], layout, model_name="m.onnx")
        assert [file.name for file in plan.files] == [one]


@given(name=st.text("a{}_n.shardof", min_size=1, max_size=30), shards=st.integers(1, 3))
def test_braces_in_the_name_of_a_file_that_is_there_stand_for_themselves(
    name: str, shards: int
) -> None:
    assert shard_name(literal(name), 1, 1) == name
    numbered = shard_name(literal(name), shards, shards)
    assert numbered.replace(f"-{shards:05d}-of-{shards:05d}", "") == name


def test_in_place_a_file_whose_name_looks_like_a_template_keeps_it() -> None:
    homes = ["{model}.data", "w-{shard}.bin", "{{_n}}", "{"]
    tensors = [request(number, 10, home=home) for number, home in enumerate(homes)]
    plan = make_plan(tensors, LayoutPolicy(), model_name="m.onnx", keep_homes=True)
    assert [placed.file for placed in plan.placements] == homes


def test_a_shard_that_would_have_the_name_of_another_file_is_refused() -> None:
    layout = LayoutPolicy(alignment=1, max_shard_size_bytes=10, data_name="w{_n}")
    tensors = [request(0, 10), request(1, 10), request(2, 10, group="w_1")]
    with pytest.raises(UsageError, match="two data files would have one name"):
        make_plan(tensors, layout, model_name="m.onnx")


@given(shard=st.integers(1, 12), shards=st.integers(12, 100_001), other=st.integers(1, 3))
def test_the_shards_of_a_default_name_are_known_by_their_names(
    shard: int, shards: int, other: int
) -> None:
    base = filled("{model}.data", "m.onnx")
    assert is_shard_of(base, base)
    assert is_shard_of(shard_name(base, shard, shards), base)
    assert not is_shard_of(shard_name(filled(f"{{model}}.{other}.data", "m.onnx"), 1, 2), base)
    assert not is_shard_of("m-1-of-2.onnx.data", base)

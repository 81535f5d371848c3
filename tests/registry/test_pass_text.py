"""The law of the text form: what a pass is written as makes an equal pass."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_ir.passes import common
from onnxscript.version_converter import ConvertVersionPass

from onnx_align_pass import LayoutPolicy, StoragePolicy
from onnx_align_pass.errors import PassOptionError, UnknownPassError
from onnx_align_pass.passes.tag_external import TagExternalDataPass
from onnx_align_pass.pipeline import WriteAlignedPass
from onnx_align_pass.registry.listing import PassOption, list_passes
from onnx_align_pass.registry.spec import describe_pass, parse_pass, pass_text
from onnx_align_pass.rules import Rule
from onnx_align_pass.rules_text import rule_text
from tests.rules.drawn import RULES

from .words import TEXTS, in_quotes

PASSES_LISTED = list_passes()
PATTERNS = st.sampled_from(
    ["a", ".*", r"layer\.\d+", "w{2,3}", "(?<=a)b", "", " ", '"', "none", "()"]
)
NAMES = st.sampled_from(
    ["w.data", "{model}.data", "deep/er/w", " w ", "None", "重み.bin", "a,b", "-"]
)
KEEP = "size_threshold_bytes=none"
POWERS = st.integers(0, 40).map(lambda power: 1 << power)
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "alignment": POWERS,
    "small_alignment": POWERS,
    "data_name": NAMES,
    "external": st.lists(PATTERNS, max_size=3).map(tuple),
    "inline": st.lists(PATTERNS, max_size=3).map(tuple),
    "size_threshold_bytes": st.integers(0, 1 << 50),
    "align_threshold": st.integers(0, 1 << 50),
    "max_shard_size_bytes": st.integers(1, 1 << 50),
    "max_file_bytes": st.integers(1, 1 << 50),
    "max_files": st.integers(1, 1 << 20),
}
"""What a policy would refuse is not drawn."""
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": st.integers(-(1 << 70), 1 << 70),
    "size": st.integers(0, 1 << 70),
    "float": st.floats(allow_nan=False),
    "str": TEXTS,
    "path": TEXTS.filter(bool).map(lambda text: text.replace("\0", "0")),
    "str,...": st.lists(TEXTS, max_size=3).map(tuple),
    "rule,...": st.lists(RULES, max_size=3).map(tuple),
}


def values_of(option: PassOption) -> st.SearchStrategy[Any]:
    plain, *rest = option.type.split("|")
    if plain not in BY_TYPE:  # words, one of which may be `none`
        return st.sampled_from([plain, *rest])
    drawn = BY_NAME.get(option.name, BY_TYPE[plain])
    return drawn | st.none() if rest == ["none"] else drawn


def written(value: Any) -> str:
    """A value in the longest form: a text always in quotes."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, tuple):
        texts = [rule_text(one) if isinstance(one, Rule) else one for one in value]
        return ",".join(map(in_quotes, texts)) or "()"
    return in_quotes(str(value))


@st.composite
def passes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    info = draw(st.sampled_from(PASSES_LISTED))
    chosen = [one for one in info.options if one.required or draw(st.booleans())]
    return info.name, {one.name: draw(values_of(one)) for one in draw(st.permutations(chosen))}


def fields_of(value: Any) -> dict[str, Any]:
    """What a pass keeps, and what its policies keep, by name."""
    kept: dict[str, Any] = {}
    for name, one in vars(value).items():
        if dataclasses.is_dataclass(one) and not isinstance(one, type):
            kept |= {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        kept[name] = one
    return kept


def same(one: ir.passes.PassBase, other: ir.passes.PassBase) -> bool:
    if dataclasses.is_dataclass(one):
        return one == other
    plain = (bool, int, float, str, tuple, type(None), Path)
    kept, others = (
        {name: value for name, value in vars(pass_).items() if isinstance(value, plain)}
        for pass_ in (one, other)
    )
    return type(one) is type(other) and kept == others


@given(drawn=passes())
def test_what_a_pass_is_written_as_makes_an_equal_pass(drawn: tuple[str, dict[str, Any]]) -> None:
    name, values = drawn
    made = parse_pass(f"{name}{{{' '.join(f'{k}={written(v)}' for k, v in values.items())}}}")
    kept = fields_of(made)
    for option, value in values.items():
        assert kept[option] == (Path(value) if isinstance(kept[option], Path) else value)
    text = pass_text(made)
    assert same(parse_pass(text), made)
    assert pass_text(parse_pass(text)) == text


@pytest.mark.parametrize("info", PASSES_LISTED, ids=lambda one: one.name)
def test_a_default_is_not_written_and_another_value_is(info: Any) -> None:
    needed = " ".join(f"{one.name}=1" for one in info.options if one.required)
    text = f"{info.name}{{{needed}}}" if needed else info.name
    assert pass_text(parse_pass(text)) == text
    for option in info.options:
        if option.type == "bool":
            other = f"{option.name}={str(not option.default).lower()}"
            assert other in pass_text(parse_pass(f"{info.name}{{{needed} {other}}}"))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (" checker ", "checker"),
        ("checker{}", "checker"),
        ("checker {  }", "checker"),
        ("checker{full-check=True}", "checker{full_check=true}"),
        ("checker{full_check=FALSE}", "checker"),
        (
            "checker{check_custom_domain=true\n full_check=true}",
            "checker{full_check=true check_custom_domain=true}",
        ),
        ("lift-constants{size-limit=0}", "lift-constants-to-initializers{size_limit=0}"),
        ("deduplicate-initializers{size_limit=1024}", "deduplicate-initializers"),
        ("write-aligned{path=x alignment=8KiB}", "write-aligned{path=x alignment=8192}"),
        ('write-aligned{path=x alignment="8 K"}', "write-aligned{path=x alignment=8192}"),
        ("convert_version{target_version=+21}", "convert-version{target_version=21}"),
        ("tag-external-data{size_threshold-bytes=none}", f"tag-external-data{{{KEEP}}}"),
        (r'tag-external-data{external="layer\.\d+"}', r"tag-external-data{external=layer\.\d+}"),
        (r"tag-external-data{external=a=b,\w}", r"tag-external-data{external=a=b,\w}"),
        (r'tag-external-data{inline="w\\{2} x",b}', r'tag-external-data{inline="w\\{2} x",b}'),
        ("tag-external-data{inline=()}", "tag-external-data"),
        ("tag-external-data{rules=()}", "tag-external-data"),
        ("tag-external-data{rules=w:inline}", 'tag-external-data{rules="w: inline"}'),
        ('tag-external-data{inline="()"}', 'tag-external-data{inline="()"}'),
        ("write-aligned{path=a pad=none data-name=none}", "write-aligned{path=a}"),
        ('write-aligned{path=none data-name="none"}', 'write-aligned{path=none data_name="none"}'),
        ('write-aligned{path="a b"}', 'write-aligned{path="a b"}'),
        ("write-aligned{path=a=b}", "write-aligned{path=a=b}"),
    ],
)  # fmt: skip
def test_a_text_has_one_shortest_form(given: str, wanted: str) -> None:
    assert pass_text(parse_pass(given)) == wanted


@pytest.mark.parametrize(
    ("pass_", "text"),
    [
        (
            TagExternalDataPass(StoragePolicy(external_if=lambda facts: facts.nbytes > 7)),
            "tag-external-data{external_if=<lambda>}",
        ),
        (common.CheckerPass(full_check=1), "checker{full_check=<int>}"),  # type: ignore[arg-type]
    ],
    ids=["predicate", "wrong type"],
)
def test_what_no_text_can_say_is_shown_and_refused_when_read(
    pass_: ir.passes.PassBase, text: str
) -> None:
    assert pass_text(pass_) == text
    with pytest.raises(PassOptionError, match="stands for code"):
        parse_pass(text)


def test_a_name_generator_is_shown_if_it_is_not_the_usual_one() -> None:
    class Loud(common.naming.SimpleNameGenerator):
        pass

    assert pass_text(common.NameFixPass()) == "name-fix"
    assert pass_text(common.NameFixPass(Loud())) == "name-fix{name_generator=<Loud>}"


def test_a_pass_made_in_python_is_written_like_one_that_was_read() -> None:
    assert pass_text(ConvertVersionPass(18, fallback=True)) == (
        "convert-version{target_version=18 fallback=true}"
    )
    tag = TagExternalDataPass(StoragePolicy(size_threshold_bytes=None, inline=("a", "b c")))
    assert pass_text(tag) == 'tag-external-data{size_threshold_bytes=none inline=a,"b c"}'


def test_a_class_that_is_not_registered_has_no_text_even_if_its_base_has() -> None:
    class MyChecker(common.CheckerPass):
        pass

    for pass_ in (MyChecker(), ir.passes.PassManager([common.CheckerPass()])):
        assert describe_pass(pass_) == type(pass_).__name__
        with pytest.raises(UnknownPassError, match="is not a registered pass"):
            pass_text(pass_)


def test_who_is_told_of_the_progress_is_not_written() -> None:
    told: Any = object()
    made = WriteAlignedPass("a.onnx", layout=LayoutPolicy(alignment=64), progress=told)
    assert pass_text(made) == "write-aligned{path=a.onnx alignment=64}"
    assert parse_pass(pass_text(made)) == made


@pytest.mark.parametrize(
    "text", ["tag-external-data{inline=a}", "write-aligned{path=b.onnx alignment=64}"]
)
def test_our_passes_print_as_their_text(text: str) -> None:
    assert str(parse_pass(text)) == text

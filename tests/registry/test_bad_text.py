"""What is no pass: each bad text is a usage error that says what is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_ir.passes import common

from onnx_align_pass import PolicyError, UsageError
from onnx_align_pass.errors import PassOptionError, PassTextError, UnknownPassError
from onnx_align_pass.registry.spec import parse_pass

from .conftest import Install
from .distribution import PASSES
from .words import TEXTS

BAD = [
    ("", PassTextError, "is not a pass"),
    ("a b", PassTextError, "is not a pass"),
    ("checker{", PassTextError, "is not a pass"),
    ("checker}", PassTextError, "is not a pass"),
    ("checker{full_check=true}x", PassTextError, "is not a pass"),
    ("checker{full_check}", PassTextError, "needed option=value"),
    ("checker{full_check = true}", PassTextError, "needed option=value"),
    ("checker{full_check=}", PassTextError, "needed option=value"),
    ("checker{full_check=true,}", PassTextError, "needed option=value"),
    ("checker{full_check='true'}", PassTextError, "needed option=value"),
    ('checker{full_check="true}', PassTextError, "needed option=value"),
    ("checker{full_check=true}{full_check=true}", PassTextError, "needed option=value"),
    ("checker{full_check=yes}", PassOptionError, "needed true or false"),
    ("checker{full_check=none}", PassOptionError, "needed true or false"),
    ("checker{full_check=true full-check=true}", PassOptionError, "given twice"),
    (
        "checker{check=true}",
        PassOptionError,
        "needed one of full_check, skip_opset_compatibility_check, check_custom_domain",
    ),
    ("name-fix{name_generator=x}", PassOptionError, "'name_generator' that a text can say"),
    ("name-fix{name_generator=<f>}", PassOptionError, "name_generator stands for code"),
    ("convert-version", PassOptionError, "convert-version needs target_version"),
    ("convert-version{target_version=4KiB}", PassOptionError, "needed a whole number)"),
    ("convert-version{target_version=1.0}", PassOptionError, "needed a whole number)"),
    ("lift-constants{size_limit=much}", PassOptionError, "a whole number"),
    ("lift-constants{size_limit=4KiB}", PassOptionError, "a whole number"),
    ("tag-external-data{size_threshold_bytes=much}", PassOptionError, "or a size such as 4KiB"),
    ("lift-constants{size_limit=1,2}", PassOptionError, "needed one value"),
    ("tag-external-data{size_threshold_bytes=x}", PassOptionError, "or none"),
    ("tag-external-data{size_threshold_bytes=-1}", PolicyError, "threshold_bytes cannot be -1"),
    ("tag-external-data{external=(}", PolicyError, "a regular expression"),
    ("write-aligned", PassOptionError, "write-aligned needs path"),
    ('write-aligned{path=""}', PassOptionError, "needed a path"),
    ("write-aligned{path=a pad=both}", PassOptionError, "needed one of none, file, tensor"),
    ("write-aligned{path=a alignment=3}", PolicyError, "a power of two"),
    ("no-such-pass", UnknownPassError, "there is no pass"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "said"), BAD, ids=[text for text, _, _ in BAD])
def test_a_bad_text_is_a_named_error_that_says_what_is_needed(
    text: str, kind: type[UsageError], said: str
) -> None:
    with pytest.raises(UsageError) as error:
        parse_pass(text)
    assert type(error.value) is kind
    assert said in error.value.sentence


@given(text=TEXTS | st.text(alphabet='checker{full_=true} "\\<,', max_size=30))
def test_any_text_makes_a_pass_or_is_a_usage_error(text: str) -> None:
    try:
        made = parse_pass(text)
    except UsageError:
        return
    assert type(made) is common.CheckerPass


def test_what_a_pass_refuses_is_a_named_error(install: Install) -> None:
    install("frob-tools", {"refuses": "frob_passes:RefusesPass"}, {"frob_passes": PASSES})
    with pytest.raises(PassOptionError, match="refuses its options: OSError: no such luck"):
        parse_pass("refuses{size=1}")

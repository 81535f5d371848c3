"""Options of every kind, in a pass of somebody else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass.passes.registry import parse_pass, pass_text

from .conftest import Install
from .distribution import PASSES


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("ratio=2", "ratio=2.0"),
        ("ratio=-1e-300", "ratio=-1e-300"),
        ("ratio=inf", "ratio=inf"),
        ("mode=none", "mode=none"),
        ("mode=soft", ""),
        ("label=none", ""),
        ('label="none"', 'label="none"'),
        ("label=x", "label=x"),
        ('label=""', 'label=""'),
        ("names=()", "names=()"),
        ('names="()"', 'names="()"'),
        ("names=a,b", ""),
        ('names="a,b"', 'names="a,b"'),
        ("names=none", "names=none"),
        ("folder=a//b", "folder=a/b"),
        ("plain=-3", "plain=-3"),
        ("chunk_bytes=1MiB", "chunk_bytes=1048576"),
        ("maybe=()", "maybe=()"),
        ("maybe=none", ""),
        ('maybe="none"', 'maybe="none"'),
        ("maybe=none,none", 'maybe="none","none"'),
    ],
)
def test_options_of_every_kind_are_read_and_written(
    option: str, wanted: str, install: Install
) -> None:
    install("frob-tools", {"frobnicate": "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    made = parse_pass(f"frobnicate{{{option}}}")
    text = pass_text(made)
    assert text == (f"frobnicate{{{wanted}}}" if wanted else "frobnicate")
    assert pass_text(parse_pass(text)) == text


def test_values_have_the_types_that_are_annotated(install: Install) -> None:
    install("frob-tools", {"frobnicate": "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    made = vars(parse_pass("frobnicate{ratio=nan folder=x names=a maybe=b plain=1}"))
    assert math.isnan(made["ratio"])
    assert made["folder"] == Path("x")
    assert (made["names"], made["maybe"], made["_plain"]) == (("a",), ("b",), 1)


def test_what_a_pass_does_not_keep_is_not_made_up(install: Install) -> None:
    install("frob-tools", {"refuses": "frob_passes:RefusesPass"}, {"frob_passes": PASSES})
    assert pass_text(parse_pass("refuses")) == "refuses{size=<unknown>}"


def test_a_pass_may_print_itself_as_its_text(install: Install) -> None:
    places = {"frobnicate": "frob_passes:FrobnicatePass", "refuses": "frob_passes:RefusesPass"}
    install("frob-tools", places, {"frob_passes": PASSES})
    assert str(parse_pass("frobnicate{plain=9}")) == "frobnicate{plain=9}"
    assert str(parse_pass("refuses")) == "refuses{size=<unknown>}"


@pytest.mark.parametrize(("code", "name"), [(print, "print"), (lambda _: False, "lambda")])
def test_a_callable_is_shown_if_it_is_not_the_default(
    code: Any, name: str, install: Install
) -> None:
    install("frob-tools", {"frobnicate": "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    made: Any = parse_pass("frobnicate{plain=9}")
    made.accept = code
    assert pass_text(made) == f"frobnicate{{plain=9 accept=<{name}>}}"

"""Presets by name: ours, and those that other distributions register."""

from __future__ import annotations

import pytest

from onnx_align_pass import PRESETS, LayoutPolicy, Preset, PresetError, find_preset, list_presets
from onnx_align_pass.registry.presets import PRESET_GROUP, PresetInfo

from .conftest import Install

THEIRS = """
from onnx_align_pass import LayoutPolicy, Preset

NPU = Preset("npu", "an NPU", "it reads 512 bytes at a time", LayoutPolicy(alignment=512))
OURS = Preset("page", "an impostor", "none", LayoutPolicy(alignment=1))
number = 7


def __getattr__(name):
    raise RuntimeError("no such \\x1b[2J luck")
"""


def listed() -> dict[str, PresetInfo]:
    return {f"{one.origin}:{one.name}": one for one in list_presets()}


def test_ours_are_listed_first_and_found_under_other_spellings() -> None:
    found = list_presets()
    assert [one.name for one in found][: len(PRESETS)] == list(PRESETS)
    assert find_preset(" Direct_IO ") is PRESETS["direct-io"]


def test_presets_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        PRESETS["page"] = PRESETS["web"]  # type: ignore[index]


def test_a_name_that_does_not_exist_is_answered_with_those_that_are_close() -> None:
    with pytest.raises(PresetError, match="Did you mean windows"):
        find_preset("window")
    with pytest.raises(PresetError, match="onnx-align presets") as empty:
        find_preset("")
    assert "Did you mean" not in str(empty.value)


def test_a_preset_of_another_distribution_is_found_by_its_registered_name(install: Install) -> None:
    install("frob", {"their-npu": "frob_presets:NPU"}, {"frob_presets": THEIRS}, group=PRESET_GROUP)
    found = find_preset("their-npu")
    assert (found.name, found.origin) == ("their-npu", "frob")
    assert found.layout == LayoutPolicy(alignment=512)
    assert listed()["frob:their-npu"].preset == found


def test_a_preset_that_fails_is_listed_with_the_reason_and_hides_no_other(install: Install) -> None:
    install(
        "frob",
        {
            "number": "frob_bad:number",
            "missing": "frob_bad:absent",
            "gone": "frob_nowhere:NPU",
            "npu": "frob_bad:NPU",
        },
        {"frob_bad": THEIRS},
        group=PRESET_GROUP,
    )
    found = listed()
    assert found["frob:number"].problem == "frob_bad:number is no Preset"
    assert "no such" in (found["frob:missing"].problem or "")
    assert "\x1b" not in (found["frob:missing"].problem or "")
    assert "frob_nowhere" in (found["frob:gone"].problem or "")
    assert find_preset("npu").consumer == "an NPU"
    with pytest.raises(PresetError, match="the preset 'number' of frob is not usable"):
        find_preset("number")


def test_nobody_takes_the_name_of_one_of_ours(install: Install) -> None:
    install("frob", {"page": "frob_page:OURS"}, {"frob_page": THEIRS}, group=PRESET_GROUP)
    assert find_preset("page") is PRESETS["page"]
    assert "onnx-align-pass, which is used" in (listed()["frob:page"].problem or "")


def test_a_preset_is_a_value_that_compares_by_its_fields() -> None:
    assert Preset("a", "b", "c") == Preset("a", "b", "c")
    assert len({PRESETS["page"].layout, PRESETS["web"].layout}) == 2

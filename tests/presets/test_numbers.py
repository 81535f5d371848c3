"""The presets' numbers are the table's: whoever changes one changes both, and says why."""

from __future__ import annotations

import re

import pytest

from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.presets import DEFAULT_PRESET, PRESETS

from .table import EXPERIMENTAL, TABLE, Row

NAMES = {"web": "{model}_data{_n}", "safetensors": "{stem}.safetensors"}
"""Of data files, where they are not called as usual."""


def test_each_consumer_has_a_preset_and_each_preset_a_row() -> None:
    assert list(PRESETS) == list(TABLE)
    assert DEFAULT_PRESET == "page"
    assert PRESETS[DEFAULT_PRESET].layout == LayoutPolicy()
    assert PRESETS[DEFAULT_PRESET].storage == StoragePolicy()


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_preset_has_the_numbers_of_its_row(row: Row) -> None:
    layout, storage = PRESETS[row.name].layout, PRESETS[row.name].storage
    assert (layout.alignment, layout.element_floor) == (
        (1, True) if row.alignment is None else (row.alignment, False)
    )
    assert layout.align_threshold == row.threshold
    assert row.small in (None, layout.small_alignment)
    assert (row.small is None) == (row.threshold == 0)
    assert layout.pad == row.pad
    assert storage == StoragePolicy(size_threshold_bytes=row.inline)
    assert layout.max_shard_size_bytes == row.shard
    assert layout.max_file_bytes == row.cap
    assert layout.max_files == row.files
    assert layout.data_name == NAMES.get(row.name)
    assert not layout.dedupe


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_says_who_it_is_for_and_why(name: str) -> None:
    one = PRESETS[name]
    assert one.name == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert one.consumer
    assert one.reason
    assert one.experimental == (name in EXPERIMENTAL)
    assert one.origin == "onnx-align-pass"
    assert (one.advice is not None) == (name == "web")


def test_the_advice_for_the_web_names_the_number_of_files() -> None:
    advice = PRESETS["web"].advice or ""
    assert "use_external_data_format: 3" in advice.format(files=3)


def test_the_presets_cannot_be_changed_by_accident() -> None:
    with pytest.raises(TypeError):
        PRESETS["mine"] = PRESETS["page"]  # type: ignore[index]

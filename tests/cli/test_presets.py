"""`onnx-align presets`, and what `--preset` and the options over it ask for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_cli.options import Pad, chosen
from onnx_align_pass import PRESETS, LayoutPolicy, Rule, StoragePolicy, UsageError, plan_file
from onnx_align_pass.layout.bloat import bloat, reference_weights
from onnx_align_pass.layout.planner import round_up

from .models import write_model

Capture = pytest.CaptureFixture[str]


def test_each_preset_has_a_row_and_a_purpose(capsys: Capture) -> None:
    assert main(["presets"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for one in PRESETS.values():
        mark = " *" if one.experimental else ""
        assert f"\n{one.name}{mark} " in out
        assert one.consumer in out
        assert one.reason in out


def test_json_has_every_number(capsys: Capture) -> None:
    assert main(["presets", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["presets"]}
    assert list(found) == list(PRESETS)
    web = found["web"]
    assert web["max_file_bytes"] == 2_145_386_496
    assert web["max_files"] == 100
    assert web["alignment"] == 16
    assert found["apple"]["experimental"] is True
    assert found["page"]["experimental"] is False


def test_the_bytes_added_to_a_model_are_those_of_its_plan(capsys: Capture, tmp_path: Path) -> None:
    model = write_model(tmp_path, "a", "b", "c")
    assert main(["presets", str(model), "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["presets"]}
    for name, preset in PRESETS.items():
        plan = plan_file(model, storage=preset.storage, layout=preset.layout)
        assert found[name]["added_bytes"] == plan.total_bytes - plan.tensor_bytes
    assert found["page"]["added_bytes"] == 2 * (4096 - 2004)


def test_the_estimate_is_that_of_weights_laid_one_by_one() -> None:
    weights = [one for one in reference_weights() if one.nbytes > 1024]
    assert sum(one.nbytes for one in reference_weights()) == 2 * 109_482_240
    end = added = 0
    for one in weights:
        start = round_up(end, 4096)
        added += start - end
        end = start + one.nbytes
    found = bloat(StoragePolicy(), LayoutPolicy(), reference_weights())
    assert found.added_bytes == added
    assert found.tensor_bytes == sum(one.nbytes for one in weights)


def test_a_model_that_is_missing_is_said(capsys: Capture, tmp_path: Path) -> None:
    assert main(["presets", str(tmp_path / "no.onnx")]) == 3
    assert "no.onnx" in capsys.readouterr().err


def test_without_options_the_policies_are_the_defaults() -> None:
    found = chosen(None)
    assert (found.storage, found.layout, found.preset) == (StoragePolicy(), LayoutPolicy(), None)


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_is_taken_whole(name: str) -> None:
    found = chosen(name)
    assert (found.storage, found.layout) == (PRESETS[name].storage, PRESETS[name].layout)


def test_options_are_laid_over_the_fields_of_a_preset() -> None:
    found = chosen(
        "windows",
        alignment="16KiB",
        size_threshold="keep",
        small_alignment="128",
        pad=Pad.NONE,
        external_data="w.bin",
        max_shard_size="1GB",
        dedupe=True,
    )
    assert found.layout == replace(
        PRESETS["windows"].layout,
        alignment=16384,
        small_alignment=128,
        pad="none",
        data_name="w.bin",
        max_shard_size_bytes=10**9,
        dedupe=True,
    )
    assert found.storage.size_threshold_bytes is None
    assert chosen("packed", element_floor=False).layout.element_floor is False


def test_a_bad_preset_or_size_is_a_usage_error(capsys: Capture, tmp_path: Path) -> None:
    model = write_model(tmp_path)
    with pytest.raises(UsageError, match="--max-shard-size 'two'"):
        chosen("web", max_shard_size="two")
    assert main(["plan", str(model), "--preset", "aple"]) == 2
    assert "Did you mean apple" in capsys.readouterr().err


def test_align_lays_tensors_as_the_preset_says(capsys: Capture, tmp_path: Path) -> None:
    model = write_model(tmp_path / "in", "a", "b", "c")
    target = tmp_path / "out"
    target.mkdir()
    arguments = ["align", str(model), f"{target}/", "--preset", "web", "--max-shard-size", "4100"]
    assert main([*arguments, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["models"][0]
    names = [one["name"] for one in done["data_files"]]
    assert names == ["model.onnx_data", "model.onnx_data_1"]
    assert any("use_external_data_format: 2" in note for note in done["notes"])


def test_rules_stand_before_those_of_a_preset_in_their_order() -> None:
    found = chosen("page", rules=["decoder.*: alignment=64", ".*: inline"])
    assert found.storage.rules == (
        Rule("decoder.*", alignment=64),
        Rule(external=False),
    )


def test_a_rule_that_cannot_be_read_is_pointed_at(capsys: Capture, tmp_path: Path) -> None:
    model = write_model(tmp_path)
    assert main(["plan", str(model), "--rule", "decoder.*: alignmnet=64"]) == 2
    err = capsys.readouterr().err
    assert "--rule 'decoder.*: alignmnet=64'" in err
    assert "Did you mean alignment?" in err


def test_a_rule_decides_and_one_that_matches_nothing_is_noted(
    capsys: Capture, tmp_path: Path
) -> None:
    model = write_model(tmp_path, "a", "b")
    rules = ["--rule", "b: alignment=65536", "--rule", "decodr.*: inline"]
    assert main(["plan", str(model), *rules, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [one["to"]["offset"] for one in plan["tensors"]] == [0, 65536]
    assert "rule 'b: alignment=65536'" in plan["tensors"][1]["why"]
    assert any("'decodr.*: inline' matches no tensor" in note for note in plan["notes"])

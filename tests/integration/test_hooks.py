"""Hooks where their exporters are absent, and what they read from configurations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import (
    AlignError,
    DataFileSharedError,
    LayoutPolicy,
    MissingExporterError,
    ModelNotFoundError,
    PolicyError,
    StoragePolicy,
    UsageError,
)
from onnx_align_pass.errors import RuleTextError
from onnx_align_pass.hooks.missing import exporter
from onnx_align_pass.hooks.onnx_passes import write_request
from onnx_align_pass.hooks.optimum import align_directory
from onnx_align_pass.hooks.options import policies
from onnx_align_pass.rules import Rule
from tests.align.small_models import external_model
from tests.corpus import oracle

from .aligned import locations, offsets

EXPORTERS = {"torch", "optimum", "olive", "onnx_passes", "transformers"}


@pytest.mark.parametrize("name", ["optimum", "olive", "onnx_passes", "options", "missing"])
def test_a_hook_is_imported_without_its_exporter(name: str) -> None:
    code = f"import onnx_align_pass.hooks.{name}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"onnx_align_pass.hooks.{name}" in done.stdout.split()
    assert not EXPORTERS & set(done.stdout.split())


def test_an_exporter_that_is_missing_is_a_named_error_that_says_what_to_type() -> None:
    with pytest.raises(MissingExporterError) as error:
        exporter("no_such_exporter.onnx", "optimum")
    assert isinstance(error.value, AlignError)
    assert "no_such_exporter.onnx cannot be imported" in str(error.value)
    assert str(error.value).endswith("`pip install 'onnx-align-pass[optimum]'`.")


def test_an_exporter_that_lacks_something_says_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_an_exporter.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExporterError, match="No module named 'no_such_dependency'"):
        exporter("half_an_exporter", "olive")


def test_no_options_are_the_policies_own_defaults() -> None:
    assert policies({}) == (StoragePolicy(), LayoutPolicy())
    assert policies({"external_data_name": None}) == (StoragePolicy(), LayoutPolicy())


def test_options_are_fields_of_policies() -> None:
    storage, layout = policies(
        {
            "alignment": 65536,
            "pad": "file",
            "external_data_name": "weights.bin",
            "size_threshold_bytes": None,
            "inline": ["a.*"],
        }
    )
    assert layout == LayoutPolicy(alignment=65536, pad="file", data_name="weights.bin")
    assert storage == StoragePolicy(size_threshold_bytes=None, inline=("a.*",))


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (None, ()),
        ([], ()),
        (["decoder.*: alignment=64"], (Rule("decoder.*", alignment=64),)),
        ([{"decoder.*": "alignment=64"}], (Rule("decoder.*", alignment=64),)),  # YAML, unquoted
        (("a: inline", "b:external"), (Rule("a", external=False), Rule("b", external=True))),
    ],
    ids=str,
)
def test_rules_are_a_list_of_texts(rules: Any, wanted: tuple[Rule, ...]) -> None:
    storage, _ = policies({"rules": rules})
    assert storage == StoragePolicy(rules=wanted)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"aligment": 4096}, UsageError, "there is no option 'aligment'"),
        ({"max_shard_size_bytes": 1}, UsageError, "no option 'max_shard_size_bytes'"),
        ({"alignment": "64KiB"}, PolicyError, "alignment cannot be '64KiB'"),
        ({"external": ["("]}, PolicyError, "external cannot be"),
        ({"rules": "w: inline"}, UsageError, "rules cannot be 'w: inline' .needed a list of texts"),
        ({"rules": ["w: inlin"]}, RuleTextError, "'w: inlin': there is no word 'inlin'"),
        ({"rules": [64]}, RuleTextError, "'64': it is no text"),
        ({"rules": [{"a": "inline", "b": "inline"}]}, RuleTextError, "it is no text"),
        ({"external_data_name": "../w"}, PolicyError, "data file name cannot be"),
    ],
    ids=str,
)
def test_a_bad_option_is_a_named_error(
    options: dict[str, Any], kind: type[UsageError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        policies(options)


def test_a_section_of_onnx_passes_is_a_request() -> None:
    section = {"path": "out/model.onnx", "alignment": 64, "durable": False}
    request = write_request({"onnx_align": section, "verify": {}})
    assert request.path == Path("out/model.onnx")
    assert request.layout == LayoutPolicy(alignment=64)
    assert (request.verify, request.force, request.durable) == (False, False, False)
    assert section["path"] == "out/model.onnx"


@pytest.mark.parametrize(
    "config", [None, {}, {"onnx_align": None}, {"onnx_align": {}}, {"onnx_align": {"path": 1}}]
)
def test_a_configuration_without_a_path_says_what_to_add(config: dict[str, Any] | None) -> None:
    with pytest.raises(UsageError, match=r"Add `onnx_align: \{path:"):
        write_request(config)


def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(UsageError, match="verify cannot be 'no'"):
        write_request({"onnx_align": {"path": "m.onnx", "verify": "no"}})


def test_an_exports_folder_is_aligned_with_optimums_names(tmp_path: Path) -> None:
    models = [external_model(tmp_path / "a.onnx"), external_model(tmp_path / "unet" / "b.onnx")]
    before = [oracle.tensors(model) for model in models]
    report = align_directory(tmp_path, layout=LayoutPolicy(alignment=16384))
    assert [oracle.tensors(model) for model in models] == before
    assert [locations(model) for model in models] == [{"a.onnx_data"}, {"b.onnx_data"}]
    assert not any(offset % 16384 for model in models for offset in offsets(model))
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        *("a.onnx", "a.onnx_data", "b.onnx", "b.onnx_data")
    }
    assert len(report.models) == 2


def test_a_name_that_is_asked_for_wins_over_optimums(tmp_path: Path) -> None:
    model = external_model(tmp_path / "a.onnx")
    align_directory(tmp_path, layout=LayoutPolicy(data_name="{stem}.bin"))
    assert locations(model) == {"a.bin"}


def test_two_models_of_one_data_file_are_refused_and_untouched(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        external_model(tmp_path / name, data="both.bin")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DataFileSharedError, match=r"a\.onnx and b\.onnx"):
        align_directory(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["nowhere", "file.onnx"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    external_model(tmp_path / "file.onnx")
    with pytest.raises(ModelNotFoundError, match="there is no such folder"):
        align_directory(tmp_path / name)

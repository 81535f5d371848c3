"""Whether a model lies as a preset, a layout or a storage policy asks."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import LayoutPolicy, StoragePolicy, align_file
from onnx_align_pass.presets import PRESETS, Preset
from onnx_align_pass.verify_report import ModelVerification
from onnx_align_pass.verifying import verify_file
from tests.align.small_models import external_model, weights_model
from tests.corpus.build import DATA, point, showing, tensor, write

from .found import codes_of, errors_in, warned_in

MADE = [one for one in PRESETS.values() if one.name != "safetensors"]
"""Presets whose files `align_file` makes."""


def checked(
    path: Path, *, layout: LayoutPolicy | None = None, storage: StoragePolicy | None = None
) -> ModelVerification:
    (model,) = verify_file(path, layout=layout, storage=storage).models
    return model


def codes(model: ModelVerification) -> list[str]:
    """Of the errors; the models here are small, with gaps, for the sake of their offsets."""
    return codes_of(model.findings)


@pytest.mark.parametrize("preset", MADE, ids=lambda preset: preset.name)
def test_what_was_made_for_a_preset_satisfies_it(preset: Preset, tmp_path: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {
        "a": (33, 70),
        "b": (5, 1_001),
        "c": (600, 601),
        "d": (9,),
    }
    source = external_model(tmp_path / "m.onnx", shapes)
    result = tmp_path / "out" / "m.onnx"
    align_file(source, result, storage=preset.storage, layout=preset.layout, durable=False)
    model = checked(result, layout=preset.layout, storage=preset.storage)
    assert model.findings == ()
    assert {"layout", "storage"} <= set(model.checked)


@pytest.mark.parametrize("preset", MADE, ids=lambda preset: preset.name)
def test_what_is_packed_anyhow_breaks_nearly_every_preset(preset: Preset, tmp_path: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {"odd": (1_001,), "large": (600, 601), "next": (600, 601)}
    source = external_model(tmp_path / "m.onnx", shapes)
    found = set(codes(checked(source, layout=preset.layout, storage=preset.storage)))
    assert ("misaligned" in found) == (preset.name != "packed"), found


def test_data_that_is_no_safetensors_file_breaks_that_preset(tmp_path: Path) -> None:
    preset = PRESETS["safetensors"]
    source = align_to(tmp_path / "a", LayoutPolicy(alignment=64))
    assert codes(checked(source, layout=preset.layout)) == ["not-safetensors"]
    source = align_to(tmp_path / "b", preset.layout)
    assert codes(checked(source, layout=preset.layout)) == []
    data = source.with_name("m.safetensors")
    data.write_bytes(data.read_bytes() + b"more")
    assert codes(checked(source, layout=preset.layout)) == ["not-safetensors"]


def test_a_consumer_that_goes_by_names_finds_no_others(tmp_path: Path) -> None:
    layout = PRESETS["web"].layout
    source = align_to(tmp_path / "a", LayoutPolicy(alignment=16))
    model = checked(source, layout=layout)
    assert codes(model) == ["other-name"]
    assert errors_in(model.findings)[0].error.needed == "m.onnx_data"
    assert codes(checked(align_to(tmp_path / "b", layout), layout=layout)) == []


def align_to(folder: Path, layout: LayoutPolicy) -> Path:
    source = external_model(folder / "source" / "m.onnx")
    align_file(source, folder / "m.onnx", layout=layout, durable=False)
    return folder / "m.onnx"


def test_every_tensor_off_its_boundary_is_named_with_its_offset(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx", {"a": (300,), "b": (300,), "c": (300,)})
    model = checked(source, layout=LayoutPolicy(alignment=4096))
    assert codes(model) == ["misaligned", "misaligned"]
    first = model.findings[0]
    assert first.severity == "error"
    facts = first.error.facts()
    assert facts["tensor"] == "b"
    assert facts["file"] == str(tmp_path / "m.onnx.data")
    assert facts["needed"] == "a multiple of 4,096"
    assert facts["found"].startswith("offset 1,200")


def test_without_a_layout_nothing_is_asked_of_offsets(tmp_path: Path) -> None:
    assert checked(external_model(tmp_path / "m.onnx", {"a": (301,), "b": (300,)})).findings == ()


def test_tensors_that_should_be_in_a_data_file_and_are_inline_are_named(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = weights_model({"large": (300, 4), "shape": (200,), "small": (3,)})
    path.write_bytes(model.SerializeToString())
    (finding,) = checked(path, storage=StoragePolicy()).findings
    assert (finding.code, finding.severity) == ("inline", "error")
    assert finding.error.tensor == "large"
    assert finding.error.found == "4,800 bytes inline"
    assert checked(path).findings == ()
    assert checked(path, storage=StoragePolicy(None)).findings == ()


def test_a_layout_asks_nothing_of_tensors_that_cannot_be_read(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx", {"a": (301,), "b": (300,)})
    (tmp_path / "m.onnx.data").write_bytes(b"")
    model = checked(source, layout=LayoutPolicy(alignment=4096))
    assert codes(model) == ["data-file-too-short"]


def test_many_tensors_of_one_missing_file_are_one_finding_with_their_number(
    tmp_path: Path,
) -> None:
    shapes: dict[str, tuple[int, ...]] = {f"w{index}": (300,) for index in range(500)}
    source = external_model(tmp_path / "m.onnx", shapes)
    (tmp_path / "m.onnx.data").unlink()
    (finding,) = checked(source).findings
    assert finding.code == "data-file-missing"
    assert finding.error.tensor == "w0"
    assert finding.error.found == "500 tensors of this file"


def test_tensors_of_different_missing_files_are_told_apart(tmp_path: Path) -> None:
    made = [point(tensor(name, [300]), (("location", name),)) for name in ("one", "other", "third")]
    (tmp_path / "other").write_bytes(bytes(1_199))
    model = checked(write(tmp_path, showing(made)))
    assert codes(model) == ["data-file-missing", "data-file-too-short", "data-file-missing"]


def entries(checksum: str | None) -> list[tuple[str, str]]:
    pairs = [("location", DATA), ("offset", "0"), ("length", "1200")]
    return pairs if checksum is None else [*pairs, ("checksum", checksum)]


@pytest.mark.parametrize(
    ("checksums", "wrong"),
    [
        (["right"], 0),
        (["RIGHT", " right\n"], 0),
        (["wrong"], 1),
        (["wrong", "wrong", None, "right"], 1),
        (["wrong", "", "right"], 2),
    ],
)
def test_checksums_of_a_data_file_are_held_against_it(
    checksums: list[str | None], wrong: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 10
    (tmp_path / DATA).write_bytes(data)
    sha = hashlib.sha1(data).hexdigest()
    texts = {"right": sha, "RIGHT": sha.upper(), " right\n": f" {sha}\n"}
    made = [
        point(tensor(f"w{index}", [300]), entries(text if text is None else texts.get(text, text)))
        for index, text in enumerate(checksums)
    ]
    hashed: list[Any] = []
    sha1: Any = hashlib.sha1

    def counted(**options: bool) -> Any:
        hashed.append(sha1(**options))
        return hashed[-1]

    monkeypatch.setattr(hashlib, "sha1", counted)
    model = checked(write(tmp_path, showing(made)))
    assert "checksum" in model.checked
    assert codes(model) == ["checksum-mismatch"] * wrong
    assert len(hashed) == 1
    assert warned_in(model.findings) == {"dead-bytes"}
    for finding in errors_in(model.findings):
        assert finding.error.found == sha
        assert finding.error.file == str(tmp_path / DATA)


def test_without_checksums_data_files_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> int:
        raise AssertionError("nothing has to be read")

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", never)
    model = checked(external_model(tmp_path / "m.onnx"), layout=PRESETS["page"].layout)
    assert "checksum" not in model.checked

"""What is replaced, what is left, and what of the model in memory then refuses to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    DestinationError,
    DestinationExistsError,
    SourceChangedError,
    UnsafeDataFileError,
    UsageError,
    WriteAlignedPass,
    align_file,
    align_pipeline,
    load,
    save,
    save_shared,
    tag_tensor,
)
from onnx_align_pass.ir import save_model as module
from onnx_align_pass.transfer import kernel
from tests.align.snapshot import snapshot

from .models import contents, on_disk, stored_bytes, weight, with_weights


def other_weights() -> ir.Model:
    return with_weights({"z": ir.tensor(weight("z"), name="z")})


@pytest.mark.parametrize("name", [None, "v1.onnx.data"])
def test_a_link_to_a_model_is_not_replaced_nor_its_data_taken(
    name: str | None, tmp_path: Path
) -> None:
    on_disk(tmp_path, name="v1.onnx")
    link = tmp_path / "latest.onnx"
    link.symlink_to("v1.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="Name the target itself"):
        save(other_weights(), link, external_data=name, force=True)
    source = on_disk(tmp_path / "s")
    with pytest.raises(DestinationError, match="Name the target itself"):
        align_file(source, link, overwrite=True)
    assert {k: v for k, v in snapshot(tmp_path).items() if not k.startswith("s")} == before


def test_a_link_elsewhere_gives_no_right_to_files_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    ir.save(with_weights(), _in(tmp_path / "b") / "v1.onnx", external_data="weights.bin")
    (tmp_path / "a" / "weights.bin").write_bytes(b"unrelated")
    (tmp_path / "a" / "latest.onnx").symlink_to("../b/v1.onnx")
    with pytest.raises(DestinationError):
        save(other_weights(), tmp_path / "a" / "latest.onnx")
    assert (tmp_path / "a" / "weights.bin").read_bytes() == b"unrelated"


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.onnx")
    with pytest.raises(DestinationExistsError, match="not a regular file"):
        save(other_weights(), tmp_path / "m.onnx", force=True)


def test_a_file_that_only_a_tensor_in_memory_lies_in_needs_force(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(weight("w").tobytes() + b"and more that is somebody's")
    tensor = ir.ExternalTensor(
        "raw.bin",
        0,
        None,
        ir.DataType.FLOAT,
        shape=ir.Shape([64, 64]),
        name="w",
        base_dir=str(tmp_path),
    )
    model = with_weights({"w": tensor})
    with pytest.raises(DestinationExistsError, match="does not point at it"):
        save(model, tmp_path / "n.onnx", external_data="raw.bin")
    assert raw.read_bytes().endswith(b"somebody's")


def test_one_weight_changed_and_saved_over_itself(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    save(load(path), path)
    model = load(path)
    model.graph.initializers["b"].const_value = ir.tensor(weight("b2", (5, 1001)), name="b")
    assert not save(model, path).models[0].unchanged
    assert stored_bytes(path)["graph.initializer[1]"] == weight("b2", (5, 1001)).tobytes()
    assert contents(model) == stored_bytes(path)


def test_a_data_file_with_a_second_link_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save(with_weights(), path)
    os.link(tmp_path / "m.onnx.data", tmp_path / "second")
    assert not save(with_weights(), path).models[0].unchanged
    assert (tmp_path / "m.onnx.data").stat().st_nlink == 1


@pytest.mark.parametrize("again", ["save", "align_file"])
def test_what_is_there_is_synced_though_nothing_is_written(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    save(with_weights(), path, durable=False)
    synced: list[str] = []

    def note(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))

    monkeypatch.setattr(kernel, "sync_file", note)
    report = save(with_weights(), path) if again == "save" else align_file(path)
    assert report.models[0].unchanged
    assert {os.path.basename(one) for one in synced} == {"m.onnx", "m.onnx.data", tmp_path.name}
    synced.clear()
    save(with_weights(), path, durable=False)
    assert synced == []


def test_a_second_object_over_the_same_range_refuses_too(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = ir.load(path)
    first = model.graph.initializers["b"].const_value
    assert isinstance(first, ir.ExternalTensor)
    twin = ir.ExternalTensor(
        first.location,
        first.offset,
        first.length,
        first.dtype,
        shape=ir.Shape(first.shape.numpy()),
        name="twin",
        base_dir=first.base_dir,
    )
    model.graph[1].outputs[0].const_value = twin
    save(model, path)
    assert not twin.valid()


def test_an_interrupt_right_after_the_commit_leaves_no_tensor_on_new_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = on_disk(tmp_path)
    model = ir.load(path)
    tensor = model.graph.initializers["b"].const_value

    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "restored", stop)
    with pytest.raises(KeyboardInterrupt):
        save(model, path)
    assert isinstance(tensor, ir.ExternalTensor)
    assert not tensor.valid()


def test_a_commit_that_stops_half_way_leaves_no_tensor_on_new_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = on_disk(tmp_path)
    model = ir.load(path)
    tensor = model.graph.initializers["b"].const_value
    expected = stored_bytes(path)
    real, calls = os.rename, 0

    def rename(*arguments: Any, **keywords: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        real(*arguments, **keywords)

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, rename)
    with pytest.raises(KeyboardInterrupt):
        save(model, path)
    monkeypatch.undo()
    assert isinstance(tensor, ir.ExternalTensor)
    assert not tensor.valid() or tensor.tobytes() == expected["graph.initializer[1]"]
    assert stored_bytes(path) == expected


def test_a_refused_save_changes_nothing_in_the_model(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = ir.load(path)
    tensor = model.graph.initializers["b"].const_value
    assert isinstance(tensor, ir.ExternalTensor)

    def touch(*_: Any) -> None:
        os.utime(tmp_path / "m.onnx.data", ns=(1, 1))

    with pytest.raises(SourceChangedError):
        save(model, tmp_path / "n.onnx", callback=touch)
    assert tensor.valid()


def test_names_of_tensors_stay_what_they_were(tmp_path: Path) -> None:
    small = ir.tensor(np.ones(3, np.float32), name="orig")
    large = ir.tensor(weight("w"), name="other")
    model = with_weights({"w0": small, "w1": small, "w2": large})
    save(model, tmp_path / "m.onnx")
    assert (small.name, large.name) == ("orig", "other")
    assert [one.name for one in onnx.load(tmp_path / "m.onnx").graph.initializer] == [
        "w0",
        "w1",
        "w2",
    ]


def test_the_pipelines_report_is_of_its_end(tmp_path: Path) -> None:
    early = WriteAlignedPass(tmp_path / "debug.onnx")
    pipeline = align_pipeline(tmp_path / "m.onnx", before=[early])
    assert pipeline.report is None
    pipeline(with_weights())
    assert pipeline.report is not None
    assert pipeline.report.models[0].destination == tmp_path / "m.onnx"


def test_a_callback_that_raises_is_not_blamed_on_the_files(tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise BrokenPipeError(32, "the bar is gone")

    with pytest.raises(UsageError, match=r"the callback failed: .*the bar is gone"):
        save(with_weights(), tmp_path / "m.onnx", callback=fail)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["m.textproto", "m.json", "m.onnxtxt"])
def test_a_name_by_which_onnx_ir_would_write_text_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not written"):
        save(with_weights(), tmp_path / name)


def test_each_tensor_stays_in_its_own_base_folder(tmp_path: Path) -> None:
    tensors: dict[str, ir.TensorProtocol] = {}
    for name in "ab":
        (_in(tmp_path / name) / "w.bin").write_bytes(weight(name).tobytes())
        tensors[name] = ir.ExternalTensor(
            "w.bin",
            0,
            None,
            ir.DataType.FLOAT,
            shape=ir.Shape([64, 64]),
            name=name,
            base_dir=str(tmp_path / name),
        )
    (tmp_path / "a" / "w.bin").unlink()
    (tmp_path / "a" / "w.bin").symlink_to("../b/w.bin")
    with pytest.raises(UnsafeDataFileError, match="'a'"):
        save(with_weights(tensors), tmp_path / "m.onnx")


def test_a_group_that_a_tied_tensor_cannot_have_is_said(tmp_path: Path) -> None:
    tensor = ir.tensor(weight("w"), name="w")
    model = with_weights({"a": tensor, "b": tensor})
    for name in "ab":
        tag_tensor(model.graph.initializers[name], group=f"{name}.data")
    report = save(model, tmp_path / "m.onnx").models[0]
    assert [file.name for file in report.data_files] == ["a.data"]
    assert any("shares another's bytes" in note for note in report.notes)


def test_data_that_is_left_because_the_model_reads_it_is_said(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    report = save(load(path), path, external_data="new.data").models[0]
    assert any("m.onnx.data is left" in note for note in report.notes)
    assert (tmp_path / "m.onnx.data").exists()


def test_a_variant_of_a_hub_snapshot_would_not_be_found(tmp_path: Path) -> None:
    made, snap = on_disk(tmp_path / "blobs"), _in(tmp_path / "snap")
    for name in ("m.onnx", "m.onnx.data"):
        (snap / name).symlink_to(made.parent / name)
    with pytest.raises(DestinationError, match="would not be found"):
        save_shared(load(snap / "m.onnx"), snap / "v.onnx")


@pytest.mark.parametrize("name", ["w..x.data", "w\\x.data"])
def test_a_shared_file_must_have_a_name_that_can_be_pointed_at(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(weight("w").tobytes())
    tensor = ir.ExternalTensor(
        name,
        0,
        None,
        ir.DataType.FLOAT,
        shape=ir.Shape([64, 64]),
        name="w",
        base_dir=str(tmp_path),
    )
    with pytest.raises(DestinationError, match="no location may have"):
        save_shared(with_weights({"w": tensor}), tmp_path / "v.onnx")


def _in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""`save_shared`: a variant beside a model, that writes only what is new."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    DestinationError,
    DestinationExistsError,
    SourceChangedError,
    StoragePolicy,
    load,
    save,
    save_shared,
)
from tests.align.snapshot import snapshot
from tests.corpus.running import run, same_outputs

from .models import contents, on_disk, stored_bytes, weight, with_weights


def locations(path: Path) -> dict[str, str]:
    """The data file of each external initializer."""
    return {
        tensor.name: {entry.key: entry.value for entry in tensor.external_data}["location"]
        for tensor in onnx.load(path, load_external_data=False).graph.initializer
        if tensor.external_data
    }


def variant(base: Path, name: str = "b") -> ir.Model:
    """The model with one weight replaced."""
    model = load(base)
    value = model.graph.initializers[name]
    assert value.const_value is not None
    shape = tuple(value.const_value.shape.numpy())
    value.const_value = ir.tensor(weight("new", shape), name=name)
    return model


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    before = snapshot(tmp_path)
    model = variant(base)
    report = save_shared(model, tmp_path / "v.onnx", verify=True).models[0]
    assert locations(tmp_path / "v.onnx") == {
        "a": "m.onnx.data",
        "b": "v.onnx.data",
        "c": "m.onnx.data",
    }
    assert (tmp_path / "v.onnx.data").stat().st_size == weight("new", (5, 1001)).nbytes
    assert report.external_tensors == 1
    assert report.referenced_tensors == 2
    after = snapshot(tmp_path)
    assert {name: after[name] for name in before} == before
    save(model, tmp_path / "full.onnx")
    assert same_outputs(run(tmp_path / "v.onnx"), run(tmp_path / "full.onnx"))
    assert stored_bytes(tmp_path / "v.onnx") == contents(model)


def test_no_file_is_made_when_nothing_is_new(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    model = load(base)
    model.graph.doc_string = "another text"
    save_shared(model, tmp_path / "v.onnx")
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data", "v.onnx"]
    assert stored_bytes(tmp_path / "v.onnx") == stored_bytes(base)


def test_weights_inside_the_onnx_are_new(tmp_path: Path) -> None:
    base = on_disk(tmp_path, inline=True)
    save_shared(load(base), tmp_path / "v.onnx")
    assert set(locations(tmp_path / "v.onnx").values()) == {"v.onnx.data"}


def test_a_variant_above_its_base_names_the_folder(tmp_path: Path) -> None:
    base = on_disk(tmp_path / "base")
    save_shared(variant(base), tmp_path / "v.onnx")
    assert set(locations(tmp_path / "v.onnx").values()) == {"base/m.onnx.data", "v.onnx.data"}
    assert run(tmp_path / "v.onnx")


@pytest.mark.parametrize("place", ["other/v.onnx", "base/deep/v.onnx"])
def test_a_reference_that_would_not_be_found_is_refused(place: str, tmp_path: Path) -> None:
    base = on_disk(tmp_path / "base")
    (tmp_path / place).parent.mkdir(parents=True)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="would not be found from the new place") as error:
        save_shared(load(base), tmp_path / place)
    assert error.value.tensor == "a"
    assert snapshot(tmp_path) == before


def test_the_files_of_the_base_are_never_written(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError, match="goes on pointing at"):
        save_shared(variant(base), tmp_path / "v.onnx", external_data="m.onnx.data", force=True)
    assert snapshot(tmp_path) == before


def test_a_variant_saved_over_itself_keeps_what_it_shares(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    path = tmp_path / "v.onnx"
    save_shared(variant(base), path)
    base.unlink()  # so that nothing but the variant names the base's data
    model = load(path)
    expected = contents(model)
    model.graph.doc_string = "again"
    save_shared(model, path)
    assert contents(load(path)) == expected
    for name in ("a", "c", "a"):
        changed = variant(path, name)
        save_shared(changed, path)
        assert contents(load(path)) == contents(changed)
    assert sorted(os.listdir(tmp_path)) == sorted(["v.onnx", *set(locations(path).values())])


def test_data_behind_a_linked_folder_is_kept(tmp_path: Path) -> None:
    base = on_disk(tmp_path / "real")
    os.rename(base, tmp_path / "m.onnx")
    (tmp_path / "link").symlink_to("real")
    proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for tensor in proto.graph.initializer:
        tensor.external_data[0].value = "link/m.onnx.data"
    onnx.save(proto, tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    expected = contents(model)
    model.graph.doc_string = "changed"
    save_shared(model, tmp_path / "m.onnx")
    assert stored_bytes(tmp_path / "m.onnx") == expected


def test_a_range_that_is_not_what_was_loaded_is_not_shared(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    save_shared(load(base), tmp_path / "v.onnx")
    model = load(tmp_path / "v.onnx")
    with (tmp_path / "m.onnx.data").open("r+b") as file:
        file.write(b"other")
    before = snapshot(tmp_path)
    for name in ("v.onnx", "w.onnx"):  # the one is there, to the byte what would be written
        with pytest.raises(SourceChangedError, match="since it was loaded"):
            save_shared(model, tmp_path / name)
    assert snapshot(tmp_path) == before


def test_the_policy_says_which_new_tensors_are_external(tmp_path: Path) -> None:
    base = on_disk(tmp_path)
    model = variant(base)
    save_shared(model, tmp_path / "v.onnx", storage=StoragePolicy(size_threshold_bytes=1 << 40))
    assert locations(tmp_path / "v.onnx") == {"a": "m.onnx.data", "c": "m.onnx.data"}
    (_, inline, _) = onnx.load(tmp_path / "v.onnx", load_external_data=False).graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(inline), weight("new", (5, 1001)))


def test_a_model_in_memory_alone_shares_nothing(tmp_path: Path) -> None:
    report = save_shared(with_weights(), tmp_path / "v.onnx").models[0]
    assert (report.external_tensors, report.referenced_tensors) == (3, 0)

"""Pipelines: passes, tags and the writer in one manager."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxscript.optimizer
import pytest
from onnx_ir.passes import common
from onnxscript.version_converter import ConvertVersionPass

from onnx_align_pass import (
    BrokenModelError,
    DestinationExistsError,
    LayoutPolicy,
    LossyLoadError,
    PassFailedError,
    StoragePolicy,
    TagExternalDataPass,
    UninitializedTensorError,
    UnknownPassError,
    UsageError,
    WriteAlignedPass,
    align_file,
    align_pipeline,
    load,
    parse_pass,
    tag_tensor,
)
from onnx_align_pass.with_passes import align_with_passes
from tests.align.snapshot import snapshot
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs

from .harness import model_of
from .models import contents, hung, on_disk, stored_bytes, weight, with_weights


def states(folder: Path) -> dict[str, os.stat_result]:
    return {name: (folder / name).stat() for name in os.listdir(folder)}


def test_the_writer_is_a_side_effect_and_gives_the_model_back(tmp_path: Path) -> None:
    model = with_weights()
    before = hung(model)
    write = WriteAlignedPass(tmp_path / "m.onnx")
    assert write.in_place
    assert not write.changes_input
    result = write(model)
    assert result.model is model
    assert not result.modified
    assert hung(model) == before
    assert stored_bytes(tmp_path / "m.onnx") == contents(model)


@pytest.mark.parametrize("rebind", [False, True])
def test_three_steps_that_may_stop_early_write_once(rebind: bool, tmp_path: Path) -> None:
    model, path = with_weights(), tmp_path / "m.onnx"
    write = WriteAlignedPass(path, rebind=rebind)
    seen: list[dict[str, os.stat_result]] = []

    class Watch(ir.passes.InPlacePass):
        def call(self, model: ir.Model) -> ir.passes.PassResult:
            seen.append(states(tmp_path))
            return ir.passes.PassResult(model, False)

    passes = [TagExternalDataPass(), write, Watch()]
    ir.passes.PassManager(passes, steps=3, early_stop=True)(model)
    assert len(seen) == 2  # the first step tags, the second finds nothing to do
    assert seen[0] == seen[1] == states(tmp_path)
    assert write.report is not None
    assert write.report.models[0].unchanged


def test_a_change_between_two_runs_is_written(tmp_path: Path) -> None:
    model, write = with_weights(), WriteAlignedPass(tmp_path / "m.onnx")
    write(model)
    model.graph.initializers["b"].const_value = ir.tensor(weight("b2", (5, 1001)))
    write(model)
    assert write.report is not None
    assert not write.report.models[0].unchanged
    assert stored_bytes(tmp_path / "m.onnx") == contents(model)


def test_tags_count_for_more_than_the_writers_policy(tmp_path: Path) -> None:
    model = with_weights()
    tag_tensor(model.graph.initializers["b"], alignment=65536, group="b.bin")
    TagExternalDataPass(StoragePolicy(inline=("a",)))(model)
    WriteAlignedPass(tmp_path / "m.onnx", storage=StoragePolicy(size_threshold_bytes=0))(model)
    initializers = load(tmp_path / "m.onnx").graph.initializers
    tensors = {name: value.const_value for name, value in initializers.items()}
    places = {name: (tensor.location, tensor.offset) for name, tensor in tensors.items()}  # type: ignore[union-attr]
    assert places == {"a": ("m.onnx", places["a"][1]), "b": ("b.bin", 0), "c": ("m.onnx.data", 0)}


def test_an_untagged_model_gets_the_writers_policy(tmp_path: Path) -> None:
    storage = StoragePolicy(external=("c",), inline=(".",))
    write = WriteAlignedPass(tmp_path / "m.onnx", storage=storage)
    write(with_weights())
    assert write.report is not None
    assert write.report.models[0].external_tensors == 0
    assert os.listdir(tmp_path) == ["m.onnx"]


def test_a_pipeline_composes_what_the_toolchain_has(tmp_path: Path) -> None:
    source = REAL["magika"].path()
    model = load(source)
    pipeline = align_pipeline(
        tmp_path / "m.onnx",
        before=[
            "lift-constants-to-initializers{lift_all_constants=true size_limit=0}",
            common.DeduplicateHashedInitializersPass(),
            "deduplicate-initializers{size_limit=4096}",
            "remove-unused-nodes",
        ],
        layout=LayoutPolicy(alignment=64),
    )
    assert isinstance(pipeline, ir.passes.PassManager)
    pipeline(model)
    assert pipeline.report is not None
    feeds = REAL["magika"].feeds()
    assert same_outputs(run(source, feeds), run(tmp_path / "m.onnx", feeds))


@pytest.mark.parametrize("fallback", [False, True])
def test_a_model_is_converted_to_another_opset_before(fallback: bool, tmp_path: Path) -> None:
    model = model_of()
    convert = ConvertVersionPass(target_version=21, fallback=fallback)
    storage = StoragePolicy(size_threshold_bytes=16)
    result = align_pipeline(tmp_path / "m.onnx", before=[convert], storage=storage)(model)
    assert result.model.opset_imports[""] == 21
    assert stored_bytes(tmp_path / "m.onnx") == contents(result.model)
    ir.save(model_of(), tmp_path / "plain.onnx")
    feeds = {"x": np.ones((2, 3), np.float32), "c": np.array(False)}
    assert same_outputs(run(tmp_path / "plain.onnx", feeds), run(tmp_path / "m.onnx", feeds))


def test_the_optimizer_runs_before_and_its_folds_are_written(tmp_path: Path) -> None:
    model = model_of()
    onnxscript.optimizer.optimize(model)
    align_pipeline(tmp_path / "m.onnx", storage=StoragePolicy(size_threshold_bytes=16))(model)
    assert stored_bytes(tmp_path / "m.onnx") == contents(model)
    ir.save(model_of(), tmp_path / "plain.onnx")
    feeds = {"x": np.ones((2, 3), np.float32), "c": np.array(True)}
    assert same_outputs(run(tmp_path / "plain.onnx", feeds), run(tmp_path / "m.onnx", feeds))


def test_a_pipeline_raises_our_errors_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "m.onnx.data").write_bytes(b"somebody's")
    with pytest.raises(DestinationExistsError):
        align_pipeline(tmp_path / "m.onnx")(with_weights())
    model = with_weights()
    model.graph.initializers["a"].const_value = None
    with pytest.raises(UninitializedTensorError):
        align_pipeline(tmp_path / "n.onnx")(model)
    bad = with_weights()
    bad.graph.outputs[0].shape = None
    bad.graph.outputs[0].type = None
    with pytest.raises(ir.passes.PassError) as error:
        align_pipeline(tmp_path / "n.onnx", before=["checker"])(bad)
    assert "CheckerPass" in str(error.value.__cause__)
    assert os.listdir(tmp_path) == ["m.onnx.data"]


def test_what_cannot_be_built_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnknownPassError, match="deduplicate-initializers"):
        align_pipeline(tmp_path / "m.onnx", before=["deduplicate-initializer"])
    with pytest.raises(UsageError, match="path is empty"):
        align_pipeline("")


@pytest.mark.parametrize(
    "text",
    [
        "tag-external-data",
        "tag-external-data{size_threshold_bytes=none inline=a.*,b}",
        "write-aligned{path=m.onnx}",
        "write-aligned{path=m.onnx alignment=64 data_name=w.bin rebind=true}",
    ],
)
def test_our_passes_print_as_the_text_that_builds_them(text: str) -> None:
    pass_ = parse_pass(text)
    assert str(pass_) == text
    assert parse_pass(str(pass_)) == pass_


def test_ensures_means_it(tmp_path: Path) -> None:
    write = WriteAlignedPass(tmp_path / "m.onnx")
    write(with_weights())
    os.truncate(tmp_path / "m.onnx.data", 5)
    with pytest.raises(ir.passes.PostconditionError, match=r"m\.onnx\.data"):
        write.ensures(with_weights())
    untagged = with_weights()
    with pytest.raises(ir.passes.PostconditionError, match="tensors without a tag: a, b, c"):
        TagExternalDataPass().ensures(untagged)


def test_through_no_pass_at_all_the_result_is_that_of_the_file_route(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    align_file(source, tmp_path / "a" / "m.onnx")
    report = align_with_passes(source, tmp_path / "b" / "m.onnx", before=[])
    assert report.models[0].source == source
    assert (tmp_path / "a/m.onnx.data").read_bytes() == (tmp_path / "b/m.onnx.data").read_bytes()


def test_duplicates_go_on_the_way(tmp_path: Path) -> None:
    twice = {name: ir.tensor(weight("same"), name=name) for name in ("a", "b")}
    ir.save(with_weights(twice), tmp_path / "m.onnx", external_data="w.bin")
    align_with_passes(
        tmp_path / "m.onnx", tmp_path / "n.onnx", before=["deduplicate-hashed-initializers"]
    )
    assert len(stored_bytes(tmp_path / "n.onnx")) == 1
    assert same_outputs(run(tmp_path / "m.onnx"), run(tmp_path / "n.onnx"))


def test_in_place_keeps_the_names_and_the_split(tmp_path: Path) -> None:
    tensors: dict[str, ir.TensorProtocol] = {
        name: ir.tensor(weight(name), name=name) for name in ("a", "b", "c", "gone")
    }
    model = with_weights(tensors)
    for name, group in (("a", "one.bin"), ("b", "two.bin"), ("gone", "three.bin")):
        tag_tensor(model.graph.initializers[name], group=group)
    path = tmp_path / "m.onnx"
    WriteAlignedPass(path, layout=LayoutPolicy(alignment=1))(model)
    node = next(one for one in model.graph if one.inputs[0].name == "gone")  # type: ignore[union-attr]
    before = stored_bytes(path)

    class Drop(ir.passes.InPlacePass):
        def call(self, model: ir.Model) -> ir.passes.PassResult:
            (one,) = [n for n in model.graph if n.outputs[0].name == node.outputs[0].name]
            model.graph.outputs.remove(one.outputs[0])
            model.graph.remove(one, safe=True)
            model.graph.initializers.pop("gone")
            return ir.passes.PassResult(model, True)

    align_with_passes(path, before=[Drop()])
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data", "one.bin", "two.bin"]
    assert list(stored_bytes(path).values()) == list(before.values())[:3]


def test_the_rules_for_destinations_hold(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    before = snapshot(tmp_path)
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    for destination, error in (("m.onnx", "is the source"), (None, "symlink")):
        target = None if destination is None else tmp_path / destination
        with pytest.raises(Exception, match=error):
            align_with_passes(
                tmp_path / "link.onnx" if target is None else source, target, before=[]
            )
    with pytest.raises(UsageError, match="this is a folder"):
        align_with_passes(tmp_path, before=[])
    (tmp_path / "link.onnx").unlink()
    on_disk(tmp_path / "there")
    with pytest.raises(DestinationExistsError, match="force it"):
        align_with_passes(source, tmp_path / "there", before=[])
    align_with_passes(source, tmp_path / "there", before=[], overwrite=True)
    after = snapshot(tmp_path)
    assert {name: after[name] for name in before} == before


def test_a_pass_that_fails_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    class Failing(ir.passes.InPlacePass):
        def call(self, model: ir.Model) -> ir.passes.PassResult:
            raise RuntimeError("it stumbled")

    source = on_disk(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(PassFailedError, match="it stumbled") as error:
        align_with_passes(source, tmp_path / "n.onnx", before=["remove-unused-nodes", Failing()])
    assert "Failing" in str(error.value)
    assert snapshot(tmp_path) == before


def test_a_pass_that_ends_the_program_has_failed(tmp_path: Path) -> None:
    class Leaving(ir.passes.InPlacePass):
        def call(self, model: ir.Model) -> ir.passes.PassResult:
            raise SystemExit(0)

    source = on_disk(tmp_path)
    with pytest.raises(PassFailedError, match="a pass ended the program"):
        align_with_passes(source, tmp_path / "n.onnx", before=[Leaving()])
    assert not (tmp_path / "n.onnx").exists()


def test_what_the_ir_would_lose_is_refused_on_the_way(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    with source.open("ab") as file:
        file.write(b"\xa2\x06\x01u")
    with pytest.raises(LossyLoadError, match="unknown fields"):
        align_with_passes(source, tmp_path / "n.onnx", before=[])
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    with pytest.raises(BrokenModelError):
        align_with_passes(tmp_path / "bad.onnx", tmp_path / "n.onnx", before=[])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("deduplicate-initializers", "Pass \\['deduplicate-initializers'\\]"),
        ([common.NameFixPass], "A class must be called"),
        ([lambda model: model], "is no pass"),
    ],
)
def test_what_is_no_list_of_passes_is_refused_when_it_is_composed(
    given: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        align_pipeline(tmp_path / "m.onnx", before=given)

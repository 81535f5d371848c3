"""Shared data files while other runs replace them, in every order; and after a kill."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationError,
    LayoutPolicy,
    SourceChangedError,
    UsageError,
    WriteAlignedPass,
    align_file,
    load,
    recover_folder,
    save,
    save_shared,
)
from onnx_align_pass.with_passes import align_with_passes

from .models import SHAPES, contents, stored_bytes, weight, with_weights

LAYOUT = LayoutPolicy(alignment=8192)


class At:
    """A progress that does something once, when a run begins or is about to publish."""

    def __init__(self, when: str, action: Callable[[], object]) -> None:
        self.when, self.action = when, action

    def _meet(self, now: str) -> None:
        if now == self.when:
            self.when = ""
            self.action()

    def begin(self, model: str, total_bytes: int) -> None:
        self._meet("begin")

    def advance(self, nbytes: int, tensor: str) -> None:
        pass

    def phase(self, text: str) -> None:
        self._meet(text)


def replace_by_file(path: Path, progress: At, name: str | None) -> None:
    layout = LayoutPolicy(alignment=8192, data_name=name)
    align_file(path, layout=layout, progress=progress, overwrite=True)


def replace_by_passes(path: Path, progress: At, name: str | None) -> None:
    layout = LayoutPolicy(alignment=8192, data_name=name)
    align_with_passes(path, before=[], layout=layout, progress=progress)


def replace_by_writer(path: Path, progress: At, name: str | None) -> None:
    layout = LayoutPolicy(alignment=8192, data_name=name)
    WriteAlignedPass(path, layout=layout, rebind=True, progress=progress)(load(path))


ROUTES = [replace_by_file, replace_by_passes, replace_by_writer]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
@pytest.mark.parametrize("name", [None, "new.data"])
@pytest.mark.parametrize("place", ["sub/v.onnx", "v.onnx"])
def test_a_variant_that_comes_while_its_data_is_replaced_stops_that(
    route: Callable[[Path, At, str | None], None], name: str | None, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "sub" / "m.onnx"
    path.parent.mkdir()
    save(with_weights(), path)
    expected = stored_bytes(path)
    other = load(path)
    with pytest.raises(DataFileSharedError):
        route(path, At("begin", lambda: save_shared(other, tmp_path / place)), name)
    assert stored_bytes(tmp_path / place) == expected
    assert stored_bytes(path) == expected
    assert sorted(one.name for one in path.parent.iterdir() if one.name[0] == ".") == []


@pytest.mark.parametrize("place", ["sub/v.onnx", "v.onnx"])
def test_a_variant_whose_data_was_replaced_before_it_is_published_is_not(
    place: str, tmp_path: Path
) -> None:
    path = tmp_path / "sub" / "m.onnx"
    path.parent.mkdir()
    save(with_weights(), path)
    expected, model = stored_bytes(path), load(path)
    progress = At("publishing", lambda: align_file(path, layout=LAYOUT))
    with pytest.raises(SourceChangedError):
        save_shared(model, tmp_path / place, progress=progress)
    assert not (tmp_path / place).exists()
    assert stored_bytes(path) == expected


@pytest.mark.parametrize("read", [load, ir.load], ids=["load", "ir.load"])
def test_what_another_run_published_meanwhile_is_not_taken_for_our_own(
    read: Callable[[Path], ir.Model], tmp_path: Path
) -> None:
    """The other model file is to the byte what we would write; its weights are other ones."""
    path = tmp_path / "m.onnx"
    ir.save(with_weights(), path, external_data="m.onnx.data")
    model = read(path)
    others = {
        name: ir.tensor(weight(f"other {name}", shape), name=name) for name, shape in SHAPES.items()
    }
    progress = At("publishing", lambda: save(with_weights(others), path))
    write = WriteAlignedPass(path, progress=progress)
    with pytest.raises(SourceChangedError):
        write(model)
    for value in model.graph.initializers.values():
        assert value.const_value is not None
        with pytest.raises((SourceChangedError, ValueError)):
            value.const_value.numpy()


@pytest.mark.parametrize("name", ["v.ort", "v", "v.model"])
def test_a_variant_must_be_seen_by_its_name(name: str, tmp_path: Path) -> None:
    save(with_weights(), tmp_path / "m.onnx")
    with pytest.raises(UsageError, match=r"does not end in \.onnx"):
        save_shared(load(tmp_path / "m.onnx"), tmp_path / name)


KILLED = """
import os, sys
from onnx_align_pass import LayoutPolicy, align_file
calls, real = 0, os.{call}
def dying(*arguments, **keywords):
    global calls
    calls += 1
    if calls == {number}:
        os._exit(9)
    return real(*arguments, **keywords)
os.{call} = dying
align_file(sys.argv[1], layout=LayoutPolicy(alignment=8192, data_name={name!r}))
"""


def kill_in_place(path: Path, call: str, number: int, name: str | None = None) -> None:
    """Repack in place, in a child that is gone when it would call this for the n-th time."""
    script = KILLED.format(call=call, number=number, name=name)
    done = subprocess.run([sys.executable, "-c", script, path], check=False, capture_output=True)
    assert done.returncode == 9, done.stderr


@pytest.fixture
def bridge(tmp_path: Path) -> Path:
    """A model that a killed run left pointing into its staging folder."""
    path = tmp_path / "m.onnx"
    save(with_weights(), path)
    kill_in_place(path, "replace", 2)
    locations = {
        entry.value
        for tensor in onnx.load(path, load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert any(".align-" in one for one in locations)
    return path


def test_a_variant_of_a_bridge_is_refused(bridge: Path) -> None:
    model = load(bridge)
    with pytest.raises(DestinationError, match="onnx-align recover"):
        save_shared(model, bridge.parent / "v.onnx")
    recover_folder(bridge.parent)
    save_shared(load(bridge), bridge.parent / "v.onnx")
    assert stored_bytes(bridge.parent / "v.onnx") == contents(with_weights())


def test_passes_in_place_heal_what_a_killed_run_left(bridge: Path) -> None:
    align_with_passes(bridge, before=[])
    assert stored_bytes(bridge) == contents(with_weights())
    assert sorted(one.name for one in bridge.parent.iterdir()) == ["m.onnx", "m.onnx.data"]


@pytest.mark.parametrize("place", ["v.onnx", "sub/v.ONNX"])
def test_recovery_spares_data_that_a_variant_has_come_to_use(place: str, tmp_path: Path) -> None:
    path = tmp_path / "sub" / "m.onnx"
    path.parent.mkdir()
    save(with_weights(), path)
    other = load(path)
    kill_in_place(path, "unlink", 1, "new.data")
    assert (path.parent / "m.onnx.data").exists()
    save_shared(other, tmp_path / place)
    recover_folder(path.parent)
    assert stored_bytes(tmp_path / place) == contents(with_weights())
    assert stored_bytes(path) == contents(with_weights())


def test_a_model_of_the_ir_is_checked_for_what_its_ends_say(tmp_path: Path) -> None:
    from onnx_align_pass.model.losses import losses

    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "local" : 1]>
        g (float[4] x) => (float[2] y) { y, z = Split (x) }
        <domain: "local", opset_import: ["" : 20]> f (i) => (o) { o = Relu (i) }
    """)
    info = onnx.helper.make_tensor_value_info("i", onnx.TensorProto.FLOAT, [4])
    proto.functions[0].value_info.append(info)
    proto.graph.node[0].output.append("")
    again = onnx.ModelProto()
    again.CopyFrom(proto)
    del again.functions[0].value_info[:]
    del again.graph.node[0].output[-1]
    assert losses(proto, again) == [
        "1 x output (at graph.node[0])",
        "1 x value_info (at functions[0].value_info[0])",
    ]
    said = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4], "a text")
    again.CopyFrom(proto)
    proto.graph.value_info.append(said)
    assert losses(proto, again) == ["1 x value_info (at graph.value_info[0])"]
    assert ir.from_proto(proto)

"""`save`: every kind of tensor, the keywords of onnx_ir.save, a model untouched whatever comes."""

from __future__ import annotations

import gc
import inspect
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    AlignReport,
    DestinationError,
    DestinationExistsError,
    ExternalDataError,
    LayoutPolicy,
    ModelError,
    ShortSourceError,
    StoragePolicy,
    TensorError,
    UninitializedTensorError,
    UnsafeDataFileError,
    UsageError,
    load,
    save,
    tag_tensor,
)
from tests.corpus.running import run, same_outputs

from .harness import model_of
from .models import SHAPES, contents, hung, on_disk, stored_bytes, weight, with_weights

FLOATS = weight("w", (40, 50))
ALL = StoragePolicy(size_threshold_bytes=0, external_if=lambda facts: True)


def _lazy(cache: bool) -> ir.LazyTensor:
    return ir.LazyTensor(
        lambda: ir.tensor(FLOATS), ir.DataType.FLOAT, ir.Shape(FLOATS.shape), cache=cache
    )


def _proto(**fields: Any) -> ir.TensorProtocol:
    return ir.serde.deserialize_tensor(onnx.TensorProto(name="w", **fields))


KINDS: dict[str, Callable[[], ir.TensorProtocol]] = {
    "float32": lambda: ir.tensor(FLOATS),
    "not contiguous": lambda: ir.tensor(FLOATS[::2, ::3]),
    "transposed": lambda: ir.tensor(FLOATS.T),
    "Fortran order": lambda: ir.tensor(np.asfortranarray(FLOATS)),
    "read-only": lambda: ir.tensor(np.frombuffer(FLOATS.tobytes(), np.float32)),
    "a scalar": lambda: ir.tensor(np.float32(3.5)),
    "bool": lambda: ir.tensor(FLOATS > 0),
    "int8": lambda: ir.tensor(FLOATS.astype(np.int8)),
    "uint64": lambda: ir.tensor(np.arange(99, dtype=np.uint64)),
    "float16": lambda: ir.tensor(FLOATS.astype(np.float16)),
    "float64": lambda: ir.tensor(FLOATS.astype(np.float64)),
    "complex64": lambda: ir.tensor(FLOATS.astype(np.complex64)),
    "bfloat16": lambda: ir.tensor(FLOATS.astype(ml_dtypes.bfloat16)),
    "float8": lambda: ir.tensor(FLOATS.astype(ml_dtypes.float8_e4m3fn)),
    "int4": lambda: ir.tensor(np.arange(-8, 7).astype(ml_dtypes.int4)),
    "uint4": lambda: ir.tensor(np.arange(15).astype(ml_dtypes.uint4)),
    "float4": lambda: ir.tensor(FLOATS[:3, :3].astype(ml_dtypes.float4_e2m1fn)),
    "packed int4": lambda: ir.PackedTensor(
        np.arange(100, dtype=np.uint8), ir.DataType.INT4, shape=ir.Shape([199])
    ),
    "raw_data": lambda: _proto(data_type=1, dims=FLOATS.shape, raw_data=FLOATS.tobytes()),
    "float_data": lambda: _proto(data_type=1, dims=[3], float_data=[1.0, 2.0, 3.0]),
    "float16 in int32_data": lambda: _proto(data_type=10, dims=[2], int32_data=[15360, 16384]),
    "int64_data": lambda: _proto(data_type=7, dims=[400], int64_data=range(-200, 200)),
    "lazy": lambda: _lazy(False),
    "lazy and cached": lambda: _lazy(True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", [ALL, StoragePolicy(size_threshold_bytes=1 << 40)])
def test_every_kind_of_tensor_is_written_as_its_bytes(
    kind: str, storage: StoragePolicy, tmp_path: Path
) -> None:
    tensor = KINDS[kind]()
    model = with_weights({"w": tensor})
    path = tmp_path / "m.onnx"
    report = save(model, path, storage=storage, verify=True)
    assert stored_bytes(path) == {"graph.initializer[0]": tensor.tobytes()}
    assert report.models[0].external_tensors == (1 if storage is ALL else 0)
    assert model.graph.initializers["w"].const_value is tensor


def test_strings_and_empty_tensors_are_inline_whatever_is_asked(tmp_path: Path) -> None:
    words = ir.StringTensor([b"a" * 2000, b"\xff"], shape=ir.Shape([2]))
    nothing = ir.tensor(np.zeros((0, 5), np.float32))
    model = with_weights({"words": words, "nothing": nothing})
    save(model, tmp_path / "m.onnx", storage=ALL)
    assert os.listdir(tmp_path) == ["m.onnx"]
    (first, second) = onnx.load(tmp_path / "m.onnx").graph.initializer
    assert list(first.string_data) == [b"a" * 2000, b"\xff"]
    assert list(second.dims) == [0, 5]


def test_external_tensors_are_streamed_from_several_folders(tmp_path: Path) -> None:
    tensors: dict[str, ir.TensorProtocol] = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "w.bin").write_bytes(b"pad" + weight(name).tobytes())
        tensors[name] = ir.ExternalTensor(
            "w.bin",
            3,
            None,
            ir.DataType.FLOAT,
            shape=ir.Shape([64, 64]),
            name=name,
            base_dir=str(tmp_path / name),
        )
    report = save(with_weights(tensors), tmp_path / "m.onnx")
    assert list(stored_bytes(tmp_path / "m.onnx").values()) == [
        weight(name).tobytes() for name in tensors
    ]
    assert report.models[0].moved["loaded"] == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"offset": 99999}, ShortSourceError),
        ({"length": 5}, TensorError),
        ({"location": "../w.bin"}, UnsafeDataFileError),
        ({"location": "/etc/passwd"}, UnsafeDataFileError),
        ({"location": "none.bin"}, ExternalDataError),
        ({"dtype": ir.DataType.STRING}, TensorError),
    ],
)
def test_an_external_tensor_that_cannot_be_followed_is_named(
    change: dict[str, Any], error: type[ModelError], tmp_path: Path
) -> None:
    (tmp_path / "w.bin").write_bytes(weight("w").tobytes())
    fields = {"location": "w.bin", "offset": 0, "length": None, "dtype": ir.DataType.FLOAT}
    tensor = ir.ExternalTensor(
        **{**fields, **change}, shape=ir.Shape([64, 64]), name="w", base_dir=str(tmp_path)
    )
    with pytest.raises(error, match="'w'"):
        save(with_weights({"w": tensor}), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == ["w.bin"]


def test_what_onnx_ir_has_invalidated_is_not_read(tmp_path: Path) -> None:
    model = ir.load(on_disk(tmp_path))
    tensor = model.graph.initializers["a"].const_value
    assert isinstance(tensor, ir.ExternalTensor)
    tensor.invalidate()
    with pytest.raises(ExternalDataError, match="overwritten"):
        save(model, tmp_path / "new.onnx")


def test_words_of_tensors_are_kept(tmp_path: Path) -> None:
    tensor = ir.tensor(FLOATS, name="w")
    tensor.doc_string = "what it is"
    tensor.metadata_props["made"] = "by hand"
    save(with_weights({"w": tensor}), tmp_path / "m.onnx")
    (stored,) = onnx.load(tmp_path / "m.onnx").graph.initializer
    assert stored.doc_string == "what it is"
    assert [(one.key, one.value) for one in stored.metadata_props] == [("made", "by hand")]


def test_one_tensor_in_two_places_is_one_range(tmp_path: Path) -> None:
    tensor = ir.tensor(FLOATS)
    model = with_weights({"a": tensor, "b": ir.tensor(FLOATS), "c": tensor})
    report = save(model, tmp_path / "m.onnx").models[0]
    assert report.external_tensors == 3
    assert report.tensor_bytes == 2 * FLOATS.nbytes
    loaded = load(tmp_path / "m.onnx").graph.initializers
    offsets = [loaded[name].const_value.offset for name in "abc"]  # type: ignore[union-attr]
    assert offsets[0] == offsets[2] != offsets[1]


def test_a_lazy_tensor_is_made_once_and_released_at_once(tmp_path: Path) -> None:
    alive: list[weakref.ref[Any]] = []
    most = 0

    def make(name: str) -> Callable[[], ir.TensorProtocol]:
        def made() -> ir.TensorProtocol:
            nonlocal most
            array = weight(name, (500, 500))
            alive.append(weakref.ref(array))
            gc.collect()
            most = max(most, sum(one() is not None for one in alive))
            return ir.tensor(array)

        return made

    model = with_weights(
        {
            name: ir.LazyTensor(make(name), ir.DataType.FLOAT, ir.Shape([500, 500]), cache=True)
            for name in ("a", "b", "c", "d")
        }
    )
    save(model, tmp_path / "m.onnx")
    assert len(alive) == 4
    assert most <= 2  # the one that is made, and the one before it until it is replaced
    gc.collect()
    assert not any(one() for one in alive)


@pytest.mark.parametrize("workers", [None, 1, 2, 8])
@pytest.mark.parametrize("budget", [1, 30_000, 1 << 30])
def test_threads_change_no_byte(workers: int | None, budget: int, tmp_path: Path) -> None:
    def lazies() -> ir.Model:
        def lazy(name: str) -> ir.TensorProtocol:
            return ir.LazyTensor(
                lambda: ir.tensor(weight(name)), ir.DataType.FLOAT, ir.Shape([64, 64])
            )

        model = with_weights({f"w{number}": lazy(f"w{number}") for number in range(20)})
        for number in range(0, 20, 3):
            tag_tensor(model.graph.initializers[f"w{number}"], group="third.data")
        return model

    save(lazies(), tmp_path / "serial.onnx")
    path = tmp_path / "n" / "serial.onnx"
    path.parent.mkdir()
    save(lazies(), path, max_workers=workers, max_in_flight_bytes=budget, verify=True)
    for file in ("serial.onnx", "serial.onnx.data", "third.data"):
        assert (tmp_path / file).read_bytes() == (path.parent / file).read_bytes()


@pytest.mark.parametrize("workers", [None, 4])
@pytest.mark.parametrize("raised", [ValueError("bad"), OSError(28, "hub down"), TensorError("own")])
def test_what_a_lazy_tensor_raises_is_a_named_error(
    workers: int | None, raised: Exception, tmp_path: Path
) -> None:
    def bad() -> ir.TensorProtocol:
        raise raised

    shape = ir.Shape([64, 64])
    lazy = ir.LazyTensor(bad, ir.DataType.FLOAT, shape, name="w")
    model = with_weights({"a": ir.tensor(weight("a")), "w": lazy})
    before = hung(model)
    with pytest.raises(TensorError):
        save(model, tmp_path / "m.onnx", max_workers=workers)
    assert os.listdir(tmp_path) == []
    assert hung(model) == before


@pytest.mark.parametrize("shape", [(64, 64), (3, 3)], ids=["large", "small"])
@pytest.mark.parametrize(
    "made", [ir.tensor(np.zeros((2, 2), np.float32)), ir.tensor(np.zeros((64, 64), np.int8)), None]
)
def test_a_lazy_tensor_must_keep_its_promise(
    shape: tuple[int, int], made: Any, tmp_path: Path
) -> None:
    lazy = ir.LazyTensor(lambda: made, ir.DataType.FLOAT, ir.Shape(shape), name="w")
    with pytest.raises(TensorError, match="'w'"):
        save(with_weights({"w": lazy}), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


class _Stop(BaseException):
    """Neither an error of ours nor an Exception: a signal."""


@pytest.mark.parametrize("when", ["lazy", "callback", "progress"])
def test_a_model_is_untouched_after_an_interrupt(when: str, tmp_path: Path) -> None:
    def stop(*_: Any) -> Any:
        raise _Stop

    model = model_of()
    for value in model.graph.initializers.values():
        tag_tensor(value, external=True)
    if when == "lazy":
        value = model.graph.initializers["w"]
        value.const_value = ir.LazyTensor(stop, ir.DataType.FLOAT, ir.Shape([2, 3]), name="w")
    before, proto = hung(model), b"" if when == "lazy" else ir.to_proto(model).SerializeToString()

    class Stopping:
        def begin(self, model: str, total_bytes: int) -> None:
            pass

        def advance(self, nbytes: int, tensor: str) -> None:
            if when == "progress":
                raise _Stop

        def phase(self, text: str) -> None:
            pass

    with pytest.raises(_Stop):
        save(
            model,
            tmp_path / "m.onnx",
            progress=Stopping(),
            callback=stop if when == "callback" else None,
        )
    assert hung(model) == before
    assert os.listdir(tmp_path) == []
    if when != "lazy":
        assert ir.to_proto(model).SerializeToString() == proto


def test_an_initializer_without_a_value_is_named_before_anything_is_written(tmp_path: Path) -> None:
    model = with_weights()
    model.graph.initializers["b"].const_value = None
    with pytest.raises(UninitializedTensorError, match="'b'"):
        save(model, tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


def test_what_onnx_ir_cannot_serialise_is_a_named_error(tmp_path: Path) -> None:
    model = with_weights()
    model.graph.outputs[0].name = None
    with pytest.raises(ModelError, match="onnx-ir cannot serialise the model"):
        save(model, tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


def test_the_keywords_of_onnx_ir_save_mean_what_they_mean_there(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int, int, str]] = []

    def callback(tensor: ir.TensorProtocol, info: ir.external_data.CallbackInfo) -> None:
        seen.append((tensor.name or "", info.total, info.index, info.offset, info.filename))

    model = with_weights()
    report = save(
        model,
        tmp_path / "m.onnx",
        format="protobuf",
        external_data="w.bin",
        size_threshold_bytes=256,
        callback=callback,
        alignment=8192,
        align_threshold=10_000,
        durable=False,
    )
    assert isinstance(report, AlignReport)
    assert seen == [
        ("a", 3, 0, 0, "w.bin"),
        ("b", 3, 1, 16384, "w.bin"),
        ("c", 3, 2, 40960, "w.bin"),
    ]
    if "alignment" not in inspect.signature(ir.save).parameters:
        return  # an older onnx-ir aligns in a fixed way
    ir.save(
        model, tmp_path / "theirs.onnx", external_data="t.bin", alignment=8192, align_threshold=0
    )
    assert (tmp_path / "w.bin").read_bytes() == (tmp_path / "t.bin").read_bytes()


def test_alignment_none_packs_densely_and_shards_are_numbered(tmp_path: Path) -> None:
    save(with_weights(), tmp_path / "m.onnx", external_data="w.bin", alignment=None)
    total = sum(weight(name, shape).nbytes for name, shape in SHAPES.items())
    assert (tmp_path / "w.bin").stat().st_size == total
    report = save(with_weights(), tmp_path / "s.onnx", max_shard_size_bytes=20_100).models[0]
    assert [file.name for file in report.data_files] == [
        f"s-0000{number}-of-00003.onnx.data" for number in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "keywords",
    [
        {"format": "textproto"},
        {"storage": StoragePolicy(), "size_threshold_bytes": 5},
        {"layout": LayoutPolicy(), "alignment": 64},
        {"layout": LayoutPolicy(), "external_data": "w"},
        {"max_workers": 0},
        {"max_in_flight_bytes": 0},
        {"alignment": 3},
        {"external_data": ""},
        {"external_data": "../w.bin"},
        {"external_data": "/w.bin"},
    ],
)
def test_a_bad_keyword_is_a_named_error(keywords: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        save(with_weights(), tmp_path / "m.onnx", **keywords)
    assert os.listdir(tmp_path) == []


def test_a_model_and_its_data_are_replaced_and_a_strangers_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    (tmp_path / "m.onnx.data").write_bytes(b"somebody's")
    with pytest.raises(DestinationExistsError, match="does not point at it"):
        save(with_weights(), path)
    assert (tmp_path / "m.onnx.data").read_bytes() == b"somebody's"
    save(with_weights(), path, force=True)
    save(with_weights({"z": ir.tensor(weight("z"))}), path)
    assert stored_bytes(path) == {"graph.initializer[0]": weight("z").tobytes()}
    other = on_disk(tmp_path, name="other.onnx")
    with pytest.raises(DestinationError, match="another model"):
        save(with_weights(), path, external_data="other.onnx.data", force=True)
    assert run(other)


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    save(with_weights(), path)
    before = {name: (tmp_path / name).stat() for name in os.listdir(tmp_path)}
    report = save(with_weights(), path).models[0]
    assert report.unchanged
    assert report.moved == {}
    assert {name: (tmp_path / name).stat() for name in os.listdir(tmp_path)} == before
    changed = with_weights()
    value = changed.graph.initializers["c"]
    value.const_value = ir.tensor(weight("c2"))
    assert not save(changed, path).models[0].unchanged
    assert stored_bytes(path)["graph.initializer[2]"] == weight("c2").tobytes()


def test_outputs_are_equal_in_onnxruntime(tmp_path: Path) -> None:
    model = with_weights()
    ir.save(model, tmp_path / "inline.onnx")
    save(model, tmp_path / "m.onnx")
    assert same_outputs(run(tmp_path / "inline.onnx"), run(tmp_path / "m.onnx"))
    assert contents(load(tmp_path / "m.onnx")) == contents(model)


@pytest.mark.parametrize(
    ("thing", "hint"),
    [(onnx.ModelProto(), "from_proto"), ("model.onnx", "align_file"), (None, "an onnx_ir.Model")],
)
def test_what_is_no_model_is_said(thing: Any, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=hint):
        save(thing, tmp_path / "m.onnx")

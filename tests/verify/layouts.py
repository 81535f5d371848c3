"""Ways to store a model's tensors: each gives a model that holds the same."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from onnx_align_pass import LayoutPolicy, StoragePolicy
from tests.corpus import oracle
from tests.corpus.attributes import constants
from tests.corpus.build import empty_graph, model_of, show
from tests.corpus.dtypes import BITS, raw_bytes, typed
from tests.corpus.sparse import sparse

__all__ = ["LAYOUTS", "random_model", "stored"]

LAYOUTS = {
    "all inline": (StoragePolicy(None, inline=(".*",)), LayoutPolicy()),
    "all external": (StoragePolicy(external=(".*",)), LayoutPolicy(alignment=64)),
    "default": (StoragePolicy(), LayoutPolicy()),
    "as it is": (StoragePolicy(None), LayoutPolicy(alignment=1)),
    "sharded": (StoragePolicy(0), LayoutPolicy(max_shard_size_bytes=3_000, data_name="s.{shard}")),
    "padded": (StoragePolicy(), LayoutPolicy(alignment=512, pad="tensor", data_name="d/w.bin")),
}
"""Storage and layout of a repack."""


def random_model(rng: random.Random) -> onnx.ModelProto:
    """A model of tensors of random types and sizes in several places, all in `raw_data`."""
    made = [_random_tensor(rng, f"w{index}") for index in range(rng.randint(1, 6))]
    graph = empty_graph(constants([_random_tensor(rng, f"c{n}") for n in range(rng.randint(0, 3))]))
    graph.initializer.extend(made)
    for tensor in made:
        show(graph, tensor.name, list(tensor.dims), tensor.data_type)
    if rng.random() < 0.5:
        graph.sparse_initializer.append(sparse("sparse", count=rng.randint(1, 400)))
    if rng.random() < 0.5:
        texts: Any = [b"text"] * 3
        graph.initializer.append(helper.make_tensor("s", TensorProto.STRING, [3], texts))
    model = model_of(graph)
    model.doc_string = "random"
    model.metadata_props.add(key="key", value="value")
    return model


def _random_tensor(rng: random.Random, name: str) -> TensorProto:
    dtype = rng.choice(sorted(BITS))
    dims = rng.choice([[], [1], [7], [3, 5], [rng.randint(0, 4_000)], [64, 33]])
    raw = raw_bytes(f"{name}{rng.random()}", dtype, math.prod(dims))
    return TensorProto(name=name, data_type=dtype, dims=dims, raw_data=raw)


def stored(
    model: onnx.ModelProto, folder: Path, rng: random.Random, *, plain: bool = False
) -> Path:
    """Write a model whose tensors are in `raw_data`, each of them stored in a random way.

    With `plain` none is put into a typed field: there some bits have no place.
    """
    folder.mkdir(parents=True)
    result = onnx.ModelProto.FromString(model.SerializeToString())
    for place, tensor in oracle.walk(result):
        if tensor.data_type == TensorProto.STRING:
            continue
        ways = [_leave, _move_out] if plain else [_leave, _move_out, _type]
        # The checker reads the indices of sparse tensors, where they are.
        (rng.choice(ways) if not place.endswith("indices") else _leave)(tensor, folder, rng)
    path = folder / "model.onnx"
    path.write_bytes(result.SerializeToString())
    return path


def _leave(tensor: TensorProto, folder: Path, rng: random.Random) -> None:
    if not tensor.raw_data and rng.random() < 0.5:
        tensor.ClearField("raw_data")


def _move_out(tensor: TensorProto, folder: Path, rng: random.Random) -> None:
    data, name = tensor.raw_data, rng.choice(["a.data", "b.data"])
    with (folder / name).open("ab") as file:
        file.write(rng.randbytes(rng.randrange(9)))
        offset = file.tell()
        file.write(data)
    entries = [("location", name), ("length", str(len(data)))]
    if offset or rng.random() < 0.5:
        entries.append(("offset", str(offset)))
    if rng.random() < 0.2:
        entries.remove(("length", str(len(data))))
    rng.shuffle(entries)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)


def _type(tensor: TensorProto, folder: Path, rng: random.Random) -> None:
    tensor.CopyFrom(typed(tensor, math.prod(tensor.dims)))

"""What the fuzzer starts from: models of the corpus, good and bad, and real ones, cut down."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import onnx

from onnx_align_pass.model.schema import ELEMENT_BITS
from tests.corpus import BAD, CASES, oracle
from tests.corpus.real import BACKEND, REAL, wheel_files

__all__ = ["models"]

MOST_BYTES = 6000
LEFT_NODES = 8
LEFT_BYTES = 64


def models() -> Iterator[bytes]:
    """Small models, each once."""
    seen: set[bytes] = set()
    for model in (*_corpus(), *_backend(), *_real()):
        if 0 < len(model) <= MOST_BYTES and model not in seen:
            seen.add(model)
            yield model


def _corpus() -> Iterator[bytes]:
    good = [case.build for case in CASES.values()]
    bad = [one.build for one in BAD.values() if not one.needs_root or os.geteuid() == 0]
    for build in (*good, *bad):
        with tempfile.TemporaryDirectory() as folder:
            path = build(Path(folder))
            if path.is_file() and path.stat().st_size <= MOST_BYTES:
                yield path.read_bytes()


def _backend() -> Iterator[bytes]:
    yield from (path.read_bytes() for _, path in sorted(BACKEND.items())[::40])


def _real() -> Iterator[bytes]:
    for one in REAL.values():
        for path in wheel_files(one.wheel, one.suffix):
            yield cut_down(onnx.load(path)).SerializeToString()


def cut_down(model: onnx.ModelProto) -> onnx.ModelProto:
    """The first nodes and weights of a model, the weights shrunk to a few bytes."""
    del model.graph.node[LEFT_NODES:], model.graph.initializer[LEFT_NODES:]
    model.graph.ClearField("value_info")
    for _, tensor in oracle.walk(model):
        bits = ELEMENT_BITS.get(tensor.data_type)
        if bits and len(tensor.raw_data) > LEFT_BYTES:
            tensor.raw_data = tensor.raw_data[:LEFT_BYTES]
            tensor.dims[:] = [LEFT_BYTES * 8 // bits]
    for graph in _bodies(model.graph):
        del graph.node[LEFT_NODES:]
    return model


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
                yield from _bodies(attribute.g)

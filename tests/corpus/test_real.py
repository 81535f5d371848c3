"""The real models tested: found, run, and read by the oracle as onnx reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import numpy_helper

from . import oracle, real, running
from .dtypes import BITS


@pytest.mark.parametrize("name", real.REAL)
def test_real_models_run_and_the_oracle_reads_them(name: str) -> None:
    model = real.REAL[name]
    path = model.path()
    feeds = model.feeds()
    assert sum(len(content.raw) for content in oracle.tensors(path).values()) > 1_000_000
    pytest.importorskip("onnxruntime")
    outputs = running.run(path, feeds)
    assert running.same_outputs(
        outputs, running.run(oracle.inlined(path).SerializeToString(), feeds)
    )


@pytest.mark.parametrize("name", real.BACKEND or [pytest.param("any", id="none installed")])
def test_the_oracle_reads_the_backend_test_models(name: str) -> None:
    path = real.backend_model(name)
    for place, tensor in oracle.walk(oracle.parse(path)):
        if tensor.data_type in BITS:
            content = oracle.content(tensor, path.parent)
            assert len(content.raw) == numpy_helper.to_array(tensor).nbytes, place


def test_the_oracle_reads_the_node_test_models_as_onnx_does() -> None:
    count = 0
    for name, model in real.node_models().items():
        for place, tensor in oracle.walk(model):
            if BITS.get(tensor.data_type, 0) >= 8:
                raw = oracle.content(tensor, Path()).raw
                assert raw == numpy_helper.to_array(tensor).tobytes(), (name, place)
                count += 1
    assert count > 1_000


def test_an_absent_wheel_is_a_skip_that_says_how_to_get_it() -> None:
    absent = real.RealModel("absent", "no-such-wheel", "pip install it", "/model.onnx")
    with pytest.raises(pytest.skip.Exception, match="no-such-wheel: pip install it"):
        absent.path()

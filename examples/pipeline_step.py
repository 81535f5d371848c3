"""Optimise a model and write it aligned, in one onnx-ir pass manager.

Run it: `python examples/pipeline_step.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import DeduplicateHashedInitializersPass

from onnx_align_pass import LayoutPolicy, StoragePolicy, align_pipeline, load


def make_model(path: Path) -> None:
    """Write a model in which two layers have equal weights, and a constant is inline."""
    weights = np.random.default_rng(0).standard_normal((256, 256), np.float32)
    x = ir.val("x", ir.DataType.FLOAT, (1, 256))
    first, second = (
        ir.val(name, const_value=ir.tensor(weights, name=name)) for name in ("first", "second")
    )
    scale = ir.node("Constant", [], {"value": ir.tensor(np.full((1, 256), 2, np.float32))})
    one = ir.node("MatMul", [x, first])
    two = ir.node("MatMul", [one.outputs[0], second])
    end = ir.node("Mul", [two.outputs[0], scale.outputs[0]])
    end.outputs[0].name = "y"
    end.outputs[0].type, end.outputs[0].shape = x.type, x.shape
    nodes, inside = [scale, one, two, end], [first, second]
    graph = ir.Graph(
        [x], end.outputs, nodes=nodes, initializers=inside, opset_imports={"": 21}, name="g"
    )
    ir.save(ir.Model(graph, ir_version=10), path)


def main(folder: Path) -> None:
    """Load lazily, run passes, tag, write."""
    make_model(folder / "model.onnx")
    pipeline = align_pipeline(
        folder / "optimised.onnx",
        before=[DeduplicateHashedInitializersPass(), "lift-constants{size_limit=0}"],
        storage=StoragePolicy(size_threshold_bytes=512),
        layout=LayoutPolicy(alignment=65536),
    )
    pipeline(load(folder / "model.onnx"))
    assert pipeline.report is not None
    print(f"{pipeline.report.models[0].external_tensors} external tensors")
    print(f"{pipeline.report.data_bytes:,} bytes of weights and padding")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))

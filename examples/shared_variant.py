"""Two models over one set of weights: a variant that stores only what it changed.

Run it: `python examples/shared_variant.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx_ir as ir

from onnx_align_pass import load, save, save_shared


def make_model() -> ir.Model:
    """A base with a large weight, and a small one that is tuned."""
    rng = np.random.default_rng(0)
    x = ir.val("x", ir.DataType.FLOAT, (1, 512))
    large, head = (
        ir.val(name, const_value=ir.tensor(rng.standard_normal(shape, np.float32), name=name))
        for name, shape in (("large", (512, 512)), ("head", (512, 16)))
    )
    first = ir.node("MatMul", [x, large])
    last = ir.node("MatMul", [first.outputs[0], head])
    y = last.outputs[0]
    y.name, y.type, y.shape = "y", x.type, ir.Shape([1, 16])
    graph = ir.Graph(
        [x],
        [y],
        nodes=[first, last],
        initializers=[large, head],
        opset_imports={"": 21},
        name="base",
    )
    return ir.Model(graph, ir_version=10)


def main(folder: Path) -> None:
    """Save the base, tune a copy of it, save the variant beside it."""
    save(make_model(), folder / "base.onnx")

    variant = load(folder / "base.onnx")  # the weights stay on disk
    tuned = np.zeros((512, 16), np.float32)
    variant.graph.initializers["head"].const_value = ir.tensor(tuned, name="head")
    report = save_shared(variant, folder / "tuned.onnx").models[0]

    print(f"{report.referenced_tensors} tensor shared, {report.external_tensors} written")
    for file in sorted(folder.glob("*.data")):
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))

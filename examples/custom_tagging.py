"""Say for single tensors where they lie: on another boundary, in another file, or inline.

Run it: `python examples/custom_tagging.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir

from onnx_align_pass import TagExternalDataPass, WriteAlignedPass, decision_of, tag_tensor


def make_model() -> ir.Model:
    """A model with an embedding, a projection and a table of positions."""
    shapes = {"embedding": (512, 64), "projection": (64, 64), "positions": (32, 64)}
    rng = np.random.default_rng(0)
    values = [
        ir.val(name, const_value=ir.tensor(rng.standard_normal(shape, np.float32), name=name))
        for name, shape in shapes.items()
    ]
    graph = ir.Graph(
        [], [], nodes=[], initializers=values, opset_imports={"": 21}, name="custom_tagging"
    )
    return ir.Model(graph, ir_version=10)


def main(folder: Path) -> None:
    """Tag, look at the decisions, write."""
    model = make_model()
    initializers = model.graph.initializers
    tag_tensor(initializers["embedding"], alignment=65536, group="{stem}.embedding")
    tag_tensor(initializers["positions"], external=False)

    TagExternalDataPass()(model)
    for name, value in initializers.items():
        decision = decision_of(value)
        assert decision is not None
        print(f"{name}: {'external' if decision.external else 'inline'}, {decision.reason}")

    WriteAlignedPass(folder / "tagged.onnx")(model)
    for tensor in onnx.load(folder / "tagged.onnx", load_external_data=False).graph.initializer:
        lies = {entry.key: entry.value for entry in tensor.external_data}
        print(f"{tensor.name}: {lies.get('location', 'tagged.onnx')} @ {lies.get('offset', '-')}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))

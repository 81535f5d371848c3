"""Export a small torch model, its weights aligned to 64 KiB and mapped straight from the file.

Needs the extra: `pip install 'onnx-align-pass[torch]'`. Run it: `python examples/torch_hook.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import onnx
import torch

from onnx_align_pass.hooks.torch import export_aligned, save_program


class Words(torch.nn.Module):
    """A bigram model whose head is its embedding: one weight, used twice."""

    def __init__(self, words: int = 1000, width: int = 256) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.mix = torch.nn.Linear(width, width)
        self.head = torch.nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Score the next word for each of `ids`."""
        return self.head(torch.relu(self.mix(self.embedding(ids))))


def main(folder: Path) -> None:
    """Write the model twice: in one call, and in two."""
    model, ids = Words().eval(), torch.tensor([[1, 2, 3]])

    report = export_aligned(model, (ids,), folder / "words.onnx", alignment=65536)
    print(f"{report.data_bytes:,} bytes of weights and padding")
    proto = onnx.load(folder / "words.onnx", load_external_data=False)
    for tensor in proto.graph.initializer:
        if tensor.external_data:
            lies = {entry.key: entry.value for entry in tensor.external_data}
            print(f"{tensor.name}: {lies['location']} @ {lies['offset']}")

    # In two steps, to look at the program, change it, or write it in several ways.
    program = torch.onnx.export(model, (ids,), dynamo=True)
    assert program is not None
    save_program(program, folder / "structure.onnx", include_initializers=False)
    print(f"structure alone: {(folder / 'structure.onnx').stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))

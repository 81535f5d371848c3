"""Small torch models, one for each thing that an export does differently. Imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

__all__ = ["MODELS", "Example", "OneMemory", "export", "mlp"]


@dataclass(frozen=True)
class Example:
    """A model in evaluation mode, its inputs, and how close a runtime's output must be."""

    model: nn.Module
    args: tuple[torch.Tensor, ...]
    tolerance: float = 1e-5
    options: dict[str, Any] = field(default_factory=dict)


def export(example: Example, **options: Any) -> Any:
    """What `torch.onnx.export` makes of an example."""
    given = {"dynamo": True, "verbose": False, **example.options, **options}
    return torch.onnx.export(example.model, example.args, **given)


def mlp() -> Example:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    return Example(layers.eval(), (torch.randn(4, 64),))


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        parts = self.into(self.norm(x)).chunk(3, dim=-1)
        query, key, value = (part.reshape(split).transpose(1, 2) for part in parts)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self, words: int = 512, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.block = Block(width, 4)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.embedding(ids)))


def transformer() -> Example:
    torch.manual_seed(0)
    ids = torch.randint(0, 512, (2, 7))
    shapes = {"ids": {1: torch.export.Dim("length", min=2, max=64)}}
    return Example(Transformer().eval(), (ids,), 1e-4, {"dynamic_shapes": shapes})


class Branches(nn.Module):
    """One of two layers, chosen by the input."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.one(x), lambda x: self.two(x) * 2, (x,))


def branches() -> Example:
    torch.manual_seed(0)
    return Example(Branches().eval(), (torch.randn(4, 64),))


def half() -> Example:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).half()
    return Example(layers.eval(), (torch.randn(4, 64).half(),), 1e-2)


class Brain(nn.Module):
    """Weights in bfloat16, the work in float32: few runtimes multiply bfloat16 on a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(128, 128).bfloat16())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.float()


def brain() -> Example:
    torch.manual_seed(0)
    return Example(Brain().eval(), (torch.randn(4, 128),), 1e-4)


class OneMemory(nn.Module):
    """Parameters and a buffer over one storage: the same bytes, or another view of them."""

    def __init__(self) -> None:
        super().__init__()
        base = torch.randn(128, 128)
        self.first, self.second = nn.Parameter(base), nn.Parameter(base.detach())
        self.register_buffer("buffer", base)
        self.turned, self.turned_too = nn.Parameter(base.t()), nn.Parameter(base.t())
        self.upper = nn.Parameter(base[:64])
        self.lower = nn.Parameter(base[64:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        whole = x @ self.first + x @ self.second - x @ self.buffer * 0.5
        turned = x @ self.turned + x @ self.turned_too * 2
        return whole + turned + x[:, :64] @ self.upper + x[:, 64:] @ self.lower


def one_memory() -> Example:
    torch.manual_seed(0)
    return Example(OneMemory().eval(), (torch.randn(4, 128),), 1e-3)


MODELS = {made.__name__: made for made in (mlp, transformer, branches, half, brain, one_memory)}

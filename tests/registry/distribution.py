"""A small distribution of its own that registers passes, as pip would leave it on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["PASSES", "write_distribution"]

PASSES = '''
"""Passes of somebody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Optional

import onnx_ir as ir

if TYPE_CHECKING:
    from somewhere import Unknown


class FrobnicatePass(ir.passes.InPlacePass):
    """Frobnicate :class:`~onnx_ir.Node` by ``force``, as
    ``frob`` does. It may take long.
    """

    def __init__(
        self,
        ratio: float = 0.5,
        mode: Literal["soft", "hard", "none"] = "soft",
        label: Optional[str] = None,
        names: tuple[str, ...] = ("a", "b"),
        folder: Path | None = None,
        plain=7,
        chunk_bytes: int = 4096,
        maybe: tuple[str, ...] | None = None,
        *,
        seen: Unknown = None,
        accept: Callable[[ir.Node], bool] = lambda node: True,
        **rest: int,
    ) -> None:
        self.ratio, self.mode, self.label, self.names = ratio, mode, label, names
        self.folder, self._plain, self.chunk_bytes, self.maybe = folder, plain, chunk_bytes, maybe
        self.accept = accept

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        return ir.passes.PassResult(model, False)

    def __str__(self) -> str:
        from onnx_align_pass.registry.spec import describe_pass

        return describe_pass(self)


class NeedsCodePass(FrobnicatePass):
    def __init__(self, accept: Callable[[ir.Node], bool]) -> None:
        super().__init__(accept=accept)


class RefusesPass(FrobnicatePass):
    def __init__(self, size: int = 0) -> None:
        if size:
            raise OSError("no such luck")
        super().__init__()


@dataclass(frozen=True)
class Policy:
    limit: int = 1
    names: tuple[str, ...] = field(default_factory=lambda: ("a",))


def twice(limit: int = 2, policy: Policy = Policy()) -> FrobnicatePass:
    return FrobnicatePass()


@dataclass(frozen=True)
class PolicyPass(ir.passes.InPlacePass):
    policy: Policy = Policy(limit=3)
    others: tuple[str, ...] = field(default_factory=lambda: ("b",))

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        return ir.passes.PassResult(model, False)


def gentle(times: int = 1) -> FrobnicatePass:
    """Frobnicate, but gently."""
    return FrobnicatePass(ratio=0.25 * times)


def nothing() -> None:
    """Make nothing."""


number = 7
'''


def write_distribution(
    folder: Path,
    name: str,
    registered: Mapping[str, str],
    modules: Mapping[str, str] | None = None,
    *,
    group: str = "onnx_align_pass.passes",
) -> Path:
    """Install a distribution into a folder, to be put on `sys.path`.

    Args:
        folder: Where to; made if it is not there.
        name: The distribution's name.
        registered: Names, and where each is: `module:attribute`.
        modules: Module names and their source.
        group: What is registered: the group of entry points.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{entry} = {place}" for entry, place in registered.items()]
    text = "\n".join([f"[{group}]", *lines, ""])
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    for module, source in (modules or {}).items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    return folder

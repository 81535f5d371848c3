"""The source as a graph: which module imports which, read from the text, never by importing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import onnx_align_pass

__all__ = ["CLI", "PACKAGE", "imports_of", "modules", "reachable", "roots"]

PACKAGE = Path(onnx_align_pass.__file__).parent
CLI = PACKAGE.parent / "cli" / "onnx_align_cli"


@cache
def modules() -> dict[str, Path]:
    """Every module of the project and of its command line, by its dotted name."""
    return {name(path): path for top in (PACKAGE, CLI) for path in sorted(top.rglob("*.py"))}


def name(path: Path) -> str:
    top = PACKAGE.parent if path.is_relative_to(PACKAGE) else CLI.parent
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(module: str, *, at_import_only: bool = False) -> frozenset[str]:
    """Dotted names that a module imports, anywhere in it, for types alone too.

    `from a import b` counts as `a.b` where that is a module of the project, else as `a`.

    Args:
        module: A name from `modules`.
        at_import_only: Only what runs when the module is imported: not in functions, not under
            `TYPE_CHECKING`.
    """
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    nodes = run_at_import(tree) if at_import_only else ast.walk(tree)
    return frozenset(found for node in nodes for found in imported(node, module))


def imported(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}: imports are absolute here"
        base = node.module or ""
        for alias in node.names:
            full = f"{base}.{alias.name}"
            yield full if full in modules() else base


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from run_at_import(child)


def roots(module: str) -> frozenset[str]:
    """Top-level names that a module imports: `onnx` for `onnx.helper`."""
    return frozenset(one.partition(".")[0] for one in imports_of(module))


def reachable(module: str) -> frozenset[str]:
    """Modules of the project that run when this one is used, itself among them."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one in modules() and one not in seen:
            seen.add(one)
            waiting += imports_of(one)
    return frozenset(seen)

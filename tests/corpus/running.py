"""Running a model: onnxruntime's outputs for inputs that depend on the model's signature alone."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DYNAMIC", "Feeds", "feeds_of", "run", "same_outputs"]

Feeds = Mapping[str, npt.NDArray[Any]]
DYNAMIC = 3
"""What each dynamic dimension becomes."""


def run(model: Path | bytes, feeds: Feeds | None = None) -> list[npt.NDArray[Any]]:
    """The outputs of the model at this path; `feeds` replaces some or all of the inputs.

    Outputs are arrays; a sequence is the arrays in it, one after the other.
    """
    session = session_of(model)
    outputs = session.run(None, feeds_of(session, feeds or {}))
    return [np.asarray(part) for output in outputs for part in parts(output)]


def parts(output: Any) -> list[Any]:
    """The arrays, or maps, that an output is made of; an absent optional has none."""
    if output is None:
        return []
    return list(output) if isinstance(output, list) else [output]


def session_of(model: Path | bytes) -> Any:
    """A quiet, single-threaded session: the same outputs each time."""
    runtime = importlib.import_module("onnxruntime")  # it has no type stubs
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    source = model if isinstance(model, bytes) else str(model)
    return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def feeds_of(session: Any, given: Feeds) -> dict[str, npt.NDArray[Any]]:
    """An array for each input of the session."""
    rng = np.random.default_rng(0)
    feeds = {}
    for wanted in session.get_inputs():
        dims = [dim if isinstance(dim, int) and dim > 0 else DYNAMIC for dim in wanted.shape]
        made = made_up(rng, wanted.type, dims)
        feeds[wanted.name] = given.get(wanted.name, made)
    return feeds


def made_up(rng: np.random.Generator, kind: str, dims: list[int]) -> npt.NDArray[Any]:
    """An array of onnxruntime's type `kind`, such as `tensor(float)`."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    if name == "string":
        return np.full(dims, "text", object)
    if name == "bool":
        return rng.integers(0, 2, dims).astype(bool)
    names = {"float": "float32", "double": "float64", "float16": "float16"}
    if name in names:
        return rng.standard_normal(dims).astype(names[name])
    return rng.integers(0, 3, dims).astype(name)


def same_outputs(left: list[npt.NDArray[Any]], right: list[npt.NDArray[Any]]) -> bool:
    """Equal in number, dtype, shape and every bit, NaN included."""
    return len(left) == len(right) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
        for a, b in zip(left, right, strict=True)
    )

"""Real models: those in installed wheels, found through the wheels' metadata, never imported."""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest

from .running import Feeds

__all__ = [
    "BACKEND",
    "REAL",
    "RealModel",
    "backend_model",
    "node_model",
    "node_models",
    "wheel_files",
]


def wheel_files(wheel: str, suffix: str = ".onnx") -> list[Path]:
    """The installed files of a wheel that end so, sorted; empty when it is absent."""
    try:
        files = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    paths = (Path(str(file.locate())) for file in files if str(file).endswith(suffix))
    return sorted(path for path in paths if path.is_file())


def no_feeds() -> Feeds:
    """No input of its own: `running.run` makes all of them up."""
    return {}


@dataclass(frozen=True, slots=True)
class RealModel:
    """A model in a wheel; `str(model)` is its name."""

    name: str
    wheel: str
    """The distribution that carries it."""
    install: str
    """How to get it."""
    suffix: str
    """How the model's path ends."""
    feeds: Callable[[], Feeds] = no_feeds
    """Inputs for `running.run`, where made-up ones would not do."""

    def __str__(self) -> str:
        return self.name

    def path(self) -> Path:
        """Where the model is; skips the running test, saying why, when it is not installed."""
        found = wheel_files(self.wheel, self.suffix)
        if not found:
            pytest.skip(f"no {self.suffix} of the wheel {self.wheel}: {self.install}")
        return found[0]


def speech(samples: int) -> Callable[[], Feeds]:
    """The inputs of silero_vad with its choice of sampling rate."""

    def feeds() -> Feeds:
        rng = np.random.default_rng(0)
        return {
            "input": rng.standard_normal((1, samples)).astype(np.float32),
            "state": np.zeros((2, 1, 128), np.float32),
            "sr": np.array(16_000, np.int64),
        }

    return feeds


SILERO = "pip install --no-deps silero-vad"

REAL: dict[str, RealModel] = {
    model.name: model
    for model in (
        RealModel("silero_vad", "silero-vad", SILERO, "/silero_vad.onnx", speech(576)),
        RealModel("silero_half", "silero-vad", SILERO, "/silero_vad_half.onnx", speech(576)),
        RealModel("silero_op15", "silero-vad", SILERO, "/silero_vad_16k_op15.onnx", speech(576)),
        RealModel(
            "silero_ifless", "silero-vad", SILERO, "/silero_vad_op18_ifless.onnx", speech(576)
        ),
        RealModel(
            "silero_openvino", "silero-vad", SILERO, "/silero_vad_openvino_16k.onnx", speech(576)
        ),
        RealModel("magika", "magika", "pip install --no-deps magika", "/model.onnx"),
    )
}
"""Models of some megabytes, by name. silero_vad: all weights in If bodies; silero_openvino: all
in Constant attributes; magika: scalars and dynamic shapes. `--no-deps`, for they want torch."""


def backend_name(path: Path) -> str:
    """`simple/test_shrink` for `.../onnx/backend/test/data/simple/test_shrink/model.onnx`."""
    named = path.parent if path.stem == "model" else path.with_suffix("")
    return named.as_posix().partition("backend/test/data/")[2]


BACKEND: dict[str, Path] = {
    backend_name(path): path
    for path in wheel_files("onnx")
    if "backend/test/data/" in path.as_posix()
}
"""The backend test models that the onnx wheel carries, by name; empty when it carries none."""


def backend_model(name: str) -> Path:
    """The path of a backend test model; skips the running test when there are none."""
    if name not in BACKEND:
        pytest.skip(f"the installed onnx carries no backend test model {name}")
    return BACKEND[name]


@functools.cache
def node_models() -> dict[str, onnx.ModelProto]:
    """The models of onnx's node test cases, by name: about 1,900, made in some seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they overflow and divide by zero on purpose
        from onnx.backend.test.case.node import collect_testcases

        needs_op_type = bool(inspect.signature(collect_testcases).parameters)  # before onnx 1.21
        cases = collect_testcases(None) if needs_op_type else collect_testcases()
    return {case.name: case.model for case in cases if case.model is not None}


def node_model(name: str, folder: Path) -> Path:
    """Write the model of a node test case into the folder."""
    path = folder / f"{name}.onnx"
    path.write_bytes(node_models()[name].SerializeToString(deterministic=True))
    return path

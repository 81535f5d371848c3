"""The two names that every model of the bench has."""

from pathlib import Path

__all__ = ["MODEL_NAME", "data_file_of"]

MODEL_NAME = "model.onnx"


def data_file_of(model: Path) -> Path:
    """Where a model keeps its external data: its name plus `.data`."""
    return model.with_name(f"{model.name}.data")

"""Any bytes: read as protobuf reads them as a model, or refused by a named error where it does.

The first byte chooses how large a weight is left in the file; the rest is the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.support import assert_cuts_hold, assert_read_as_protobuf_does, parsed

from .edits import Editor
from .scratch import scratch
from .seeds import models

__all__ = ["HEAD", "edited", "one_input", "seeds"]

HEAD = 1
CUTS = (0, 1, 16, 1024)


def one_input(data: bytes) -> None:
    """Read a model, write it again, and hold both against protobuf."""
    if len(data) < HEAD:
        return
    path, content = scratch() / "model.onnx", data[HEAD:]
    path.write_bytes(content)
    skeleton = assert_read_as_protobuf_does(path, content, CUTS[data[0] % len(CUTS)])
    model = parsed(content)
    if skeleton is not None and model is not None:
        assert_cuts_hold(skeleton, model)


def edited(body: bytes, most: int, seed: int) -> bytes:
    """The model with some of its fields edited."""
    return Editor(seed).edited(body, most)


def seeds() -> Iterator[bytes]:
    """Real and odd models, each with all its weights left in the file, and with none."""
    for model in models():
        yield b"\0" + model
        yield b"\3" + model

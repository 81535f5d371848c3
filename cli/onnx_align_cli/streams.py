"""The standard streams: there, unable to crash on a character, and quiet when the reader goes."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any, Final

from onnx_align_pass.report import SCHEMA_VERSION

__all__ = ["hint", "json_text", "prepare_streams", "say", "say_json", "silence_stdout"]

_LONG_LIST: Final = 100


def prepare_streams() -> None:
    """Open what is closed, and escape what an encoding cannot say.

    A file that is opened while descriptor 1 or 2 is free would get the output of libraries.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # else its lines would go to stdout
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write a line of the result to stdout."""
    print(text)  # noqa: T201


def say_json(values: dict[str, Any]) -> None:
    """Write the result to stdout as one object. Its characters are ASCII.

    Raises:
        ValueError: The result says that it is of another schema.
    """
    version = values.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise ValueError(f"an object of schema {version} in one of schema {SCHEMA_VERSION}")
    say(json_text({"schema_version": SCHEMA_VERSION, **values}))


def json_text(value: Any, margin: str = "\n") -> str:
    """Write a value as JSON, indented; an item of a long list is one line.

    Python indents in Python: for the rows of ten thousands of tensors it takes four times as long.

    Args:
        value: What `json.dumps` takes; the keys are texts.
        margin: The line break and the blanks in front of its last line.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key)}: {json_text(one, inner)}" for key, one in value.items()]
        return f"{{{inner}{f',{inner}'.join(lines)}{margin}}}"
    if isinstance(value, list) and value:
        is_long = len(value) > _LONG_LIST
        lines = [json.dumps(one) if is_long else json_text(one, inner) for one in value]
        return f"[{inner}{f',{inner}'.join(lines)}{margin}]"
    return json.dumps(value)


def hint(text: str) -> None:
    """Write a line that is not the result, at once, to stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def silence_stdout() -> None:
    """Send what is still buffered nowhere: else the interpreter complains at its end."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)

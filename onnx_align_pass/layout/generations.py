"""Names for data files of which each is used once: no reader takes one for another.

A token stands before the last suffix: `model.onnx.data` becomes `model.onnx.gen-5f3a9c01d27e.data`,
and the next time `model.onnx.gen-e08b7d24610c.data`.
"""

from __future__ import annotations

import re

__all__ = ["TOKEN_BYTES", "token_of", "with_token"]

TOKEN_BYTES = 6
"""Random bytes of a token; written in hexadecimal digits."""
_TOKEN = re.compile(r"(?<=[^/])\.gen-[0-9a-f]{12}(?=(?:\.\w+)?\Z)")
_SUFFIX = re.compile(r"(?<=[^/])(?:\.\w+)?\Z")


def token_of(name: str) -> str | None:
    """The token in a data file's name; None where there is none."""
    found = _TOKEN.search(name)
    return found[0].rpartition("-")[2] if found else None


def with_token(name: str, token: str) -> str:
    """Give a data file's name another token, or its first one."""
    return _SUFFIX.sub(rf".gen-{token}\g<0>", _TOKEN.sub("", name), count=1)

"""Sizes as people write and read them."""

from __future__ import annotations

import re
from typing import Final

from onnx_align_pass.errors import SizeError

__all__ = ["format_bytes", "parse_size"]

_FACTORS: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
}
_SIZE: Final = re.compile(r"\s*(\d{1,30}(?:\.\d{1,20})?)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Read a size such as `4096`, `64KiB`, `2GB` or `1.5M` as a number of bytes.

    `kB`, `MB` ... are powers of ten; `KiB`, `MiB` ... and the bare letters are powers of two.

    Raises:
        SizeError: The text is not a size, or not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise SizeError(text)
    whole, _, decimals = match[1].partition(".")
    # In integers: as a float, 1.005 kB is no whole number of bytes.
    size, rest = divmod(int(whole + decimals) * factor, int("1" + "0" * len(decimals)))
    if rest:
        raise SizeError(text)
    return size


def format_bytes(count: int) -> str:
    """Say a number of bytes with the binary unit in which it reads best: `1.5 MiB`."""
    if abs(count) < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if abs(value) < 1023.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} TiB"

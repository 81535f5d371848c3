"""Damage done to a file: what a bad disk, a cut download or a bad tool makes of a good model."""

from __future__ import annotations

import random

__all__ = ["damaged"]

WORDS = (b"\x00", b"\x0b", b"\x7f", b"\x80", b"\xff", b"\xff" * 4 + b"\x07", b"\xff" * 9 + b"\x01")
"""A group's tag, and numbers that are too small, too large or not at an end."""


def damaged(content: bytes, seed: int) -> bytes:
    """`content` with one to three changes."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(content) + 1)
        size = rng.choice((1, 1, 2, 5, 100))
        kind = rng.randrange(5)
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content = content[:at] + content[at + size :]
        elif kind == 2:
            content = content[:at] + rng.choice(WORDS) + content[at:]
        elif kind == 3:
            content = content[:at] + rng.randbytes(size) + content[at + size :]
        else:
            start = rng.randrange(len(content) + 1)
            content = content[:at] + content[start : start + size] + content[at:]
    return content

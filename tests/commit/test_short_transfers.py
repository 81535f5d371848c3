"""The system may move fewer bytes than it is asked for, at any call: the result is the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass.digesting import digest_of
from onnx_align_pass.transfer import kernel
from tests.commit.judge import Judge
from tests.commit.kills import Wrongs
from tests.commit.perform import perform
from tests.commit.scenes import INLINE, SCENES

SEEDS = range(4)
ONE_BYTE = -1
"""A seed: every call moves one byte."""


class Short:
    """Passes calls on, each for a part of the bytes that it was asked for."""

    def __init__(self, seed: int) -> None:
        self.cut = 0
        self._seed = seed
        self._random = random.Random(seed)

    def part(self, count: int) -> int:
        """At least one byte of `count`, if there is one."""
        if count <= 1:
            return count
        self.cut += 1
        if self._seed == ONE_BYTE and count < 1 << 14:
            return 1
        return self._random.randint(1, count) if self._random.random() < 0.8 else count

    def views(self, buffers: Any) -> list[memoryview]:
        """The first bytes of some buffers."""
        views = [memoryview(one).cast("B") for one in buffers]
        left, taken = self.part(sum(map(len, views))), []
        for view in views:
            taken.append(view[:left])
            left -= len(taken[-1])
        return taken


@contextmanager
def short(seed: int, *, refused: tuple[str, ...] = ()) -> Iterator[Short]:
    """Cut short what is read, written, copied and spliced, and interrupt every other ioctl.

    Args:
        seed: Of how much is cut.
        refused: Calls that the file system does not have.
    """
    result, calls = Short(seed), {name: getattr(os, name) for name in CALLS}
    changed: dict[str, Callable[..., Any]] = {
        "pread": lambda fd, count, at: calls["pread"](fd, result.part(count), at),
        "preadv": lambda fd, views, at: calls["preadv"](fd, result.views(views), at),
        "pwrite": lambda fd, data, at: calls["pwrite"](fd, data[: result.part(len(data))], at),
        "pwritev": lambda fd, views, at: calls["pwritev"](fd, result.views(views), at),
        "splice": lambda a, b, count, **ends: calls["splice"](a, b, result.part(count), **ends),
        "copy_file_range": lambda a, b, count, *at: calls["copy_file_range"](
            a, b, result.part(count), *at
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, call in changed.items():
            patch.setattr(os, name, call)
        for name in refused:
            patch.delattr(os, name)
        assert kernel.fcntl is not None
        patch.setattr(kernel.fcntl, "ioctl", _interrupted(kernel.fcntl.ioctl))
        yield result


CALLS = ("pread", "preadv", "pwrite", "pwritev", "splice", "copy_file_range")


def _interrupted(ioctl: Callable[..., Any]) -> Callable[..., Any]:
    seen = [0]

    def call(*args: Any) -> Any:
        seen[0] += 1
        if seen[0] % 2:
            raise InterruptedError
        return ioctl(*args)

    return call


@pytest.mark.parametrize("refused", [(), ("splice",), ("splice", "copy_file_range")])
@pytest.mark.parametrize("name", ["fresh_in_shards", "in_place_three", "large", "inline"])
def test_short_transfers_change_nothing(
    name: str, refused: tuple[str, ...], tmp_path: Path
) -> None:
    one, root = Judge.of({**SCENES, "inline": INLINE}[name], tmp_path / "once"), tmp_path / "at"
    wrongs = Wrongs()
    for seed in (*SEEDS, *([] if name == "large" else [ONE_BYTE])):
        one.rebuild(root)
        with short(seed, refused=refused) as found:
            result = perform(one.scene.task(root, durable=False, verify=bool(seed % 2)))
        with wrongs.at(f"seed {seed}"):
            assert result == {"done": ["written"], "leaked": []}
            one.is_after(root)
            assert found.cut > 5
    wrongs.none()


def test_short_reads_change_no_digest(tmp_path: Path) -> None:
    SCENES["large"].build(tmp_path)
    model = tmp_path / SCENES["large"].source
    wanted = digest_of(model)
    for seed in SEEDS:
        with short(seed):
            assert digest_of(model) == wanted

"""A process that does anything to the models of a folder, in any order: `wanderer.py ROOT SEED`."""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from onnx_align_pass import (
    AlignError,
    LayoutPolicy,
    align_file,
    digest_of,
    inline_file,
    inspect_folder,
    prune_file,
    recover_folder,
    rename_file,
    repair_file,
    verify_file,
)

PLACES = ("m.onnx", "n.onnx", "below/m.onnx")
NAMES = (None, None, "{model}.data", "x/{stem}.bin", "{stem}.safetensors", "w.data")


class Wanderer:
    """What can be done, each on a model that is there, if one is."""

    def __init__(self, root: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self._root, self._folder = root, root / "folder"

    def step(self) -> str:
        """Do one thing; say what came of it, in a line."""
        act: Callable[[], object] = self._chance.choice(
            [
                *[self._align, self._rename] * 3,
                *(self._inline, self._prune, self._repair, self._recover, self._look, self._all),
            ]
        )
        try:
            act()
        except AlignError as error:
            return f"{act.__name__} {type(error).__name__}"
        except BaseException:  # noqa: BLE001 - the test judges it
            return f"WRONG {act.__name__} {traceback.format_exc()!r}"
        return f"{act.__name__} done"

    def _model(self) -> Path:
        places = [self._folder / name for name in PLACES]
        return self._chance.choice([one for one in places if one.exists()] or places)

    def _layout(self) -> LayoutPolicy:
        size = self._chance.choice((None, 8000, 20000))
        name, alignment = self._chance.choice(NAMES), 1 << self._chance.randrange(4, 13)
        return LayoutPolicy(alignment=alignment, max_shard_size_bytes=size, data_name=name)

    def _align(self) -> None:
        keep = self._chance.random() < 0.3
        align_file(self._model(), layout=self._layout(), keep_old_data=keep, durable=False)

    def _all(self) -> None:
        align_file(self._folder, layout=self._layout(), durable=False)

    def _rename(self) -> None:
        target = self._folder / self._chance.choice(PLACES)
        rename_file(self._model(), target, durable=False)

    def _inline(self) -> None:
        inline_file(self._model(), durable=False)

    def _prune(self) -> None:
        prune_file(self._model())

    def _repair(self) -> None:
        repaired = self._root / f"repaired{self._chance.randrange(2)}.onnx"
        repair_file(self._model(), repaired, overwrite=True, durable=False)

    def _recover(self) -> None:
        recover_folder(self._folder)
        recover_folder(self._folder / "below")

    def _look(self) -> None:
        inspect_folder(self._folder)
        verify_file(self._model(), against=self._root / "original.onnx")
        digest_of(self._model())


if __name__ == "__main__":
    wanderer = Wanderer(Path(sys.argv[1]), int(sys.argv[2]))
    while True:
        sys.stdout.write(wanderer.step().replace("\n", " ") + "\n")
        sys.stdout.flush()

"""Run a target under the fuzzer: `python -m tests.fuzz TARGET [folder ...] [-option=value ...]`.

The only file that needs atheris. Options are libFuzzer's, such as `-max_total_time=600`; with
`-merge=1 TO FROM` it keeps what covers all that is covered. The first folder gets what is found;
seeds are made anew each time.
"""

from __future__ import annotations

import random
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import atheris

CASUAL = 0.25
"""How often bytes are mutated without regard for what they mean."""
LIMITS = ["-timeout=20", "-rss_limit_mb=1500", "-max_len=8000", "-print_final_stats=1"]


def mutator_of(target: Any) -> Any:
    """What makes new inputs: mostly the target's own edits."""

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < CASUAL or len(data) <= target.HEAD:
            return bytes(atheris.Mutate(data, most))
        head, body = data[: target.HEAD], data[target.HEAD :]
        if rng.random() < 0.15 and target.HEAD:
            at = rng.randrange(target.HEAD)
            head = head[:at] + rng.randbytes(1) + head[at + 1 :]
            return head + body
        return bytes(head + target.edited(body, most - target.HEAD, seed))

    return mutate


def main(name: str, *arguments: str) -> None:
    """Fuzz until an input fails, or the time is over."""
    with atheris.instrument_imports(include=["onnx_align_pass"]):
        target = import_module(f"tests.fuzz.fuzz_{name}")
    # To merge, libFuzzer starts itself anew, by what it takes for its own name.
    command = [f"{sys.executable} -m tests.fuzz {name}", *LIMITS, *arguments]
    with tempfile.TemporaryDirectory() as seeds:
        if not any(one.startswith("-merge") or Path(one).is_file() for one in arguments):
            for index, seed in enumerate(target.seeds()):
                Path(seeds, f"seed-{index}").write_bytes(seed)
            command.append(seeds)
        atheris.Setup(command, target.one_input, custom_mutator=mutator_of(target))
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])

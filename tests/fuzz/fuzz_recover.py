"""What a killed run left, with any journal: settled or left alone, and nothing else touched.

The first bytes choose how far the run came; the rest is its journal, with `@NAME@` for states.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnx_align_pass import AlignError, recover_folder
from tests.align.snapshot import snapshot
from tests.corpus import oracle

from .leftovers import DATA, HEAD, STAGING, Left, leave
from .scratch import assert_fit_to_show, fresh

__all__ = ["HEAD", "edited", "one_input", "seeds"]

Snapshot = dict[str, tuple[object, ...]]
WORDS = (
    *("model.onnx", DATA, "other.onnx", "other.data", "README.md", "out/secret", "out/below", "."),
    *("out", "out/empty", "out/new", "new", "new/deep", "a/./b", f"{STAGING}/model", STAGING),
    *("a/../b", "../outside/secret", "/etc/victim", "", "\\ud800", "\\u0000", "x" * 300, "link"),
)
"""Names for a journal to hold."""
STATES = (
    *("null", "1", "[]", "{}", '{"inode":1,"size":2,"mtime_ns":3}', '"x"', "1e400", "9" * 5000),
    *("@folder/model.onnx@", f"@folder/{DATA}@", f"@folder/{STAGING}/model@", "@outside/secret@"),
    *(f"@folder/{STAGING}/bridge@", f"@folder/{STAGING}/data/{DATA}@", "@folder/other.data@"),
)


def one_input(data: bytes) -> None:
    """Recover, twice, and hold the folder to be whole."""
    if len(data) < HEAD:
        return
    root = fresh("left")
    left = leave(root, data[:HEAD], data[HEAD:])
    before, pair = snapshot(root), content(left.folder)
    try:
        outcomes = [one.outcome for one in recover_folder(left.folder)]
        again = [one.outcome for one in recover_folder(left.folder)]
        assert again == outcomes or not left.staging.exists()
    except AlignError as error:
        assert_fit_to_show(error)
    after = snapshot(root)
    named = names_in(left)
    for name, facts in before.items():
        if not is_theirs(name, named):
            assert without_links(after.get(name)) == without_links(facts), name
    if pair is not None and not promised(left):
        assert content(left.folder) == pair


def without_links(facts: tuple[object, ...] | None) -> object:
    """An entry, whatever its number of links: those in the staging folder go with it."""
    return facts and (*facts[:3], *facts[4:])


def is_theirs(name: str, named: set[str]) -> bool:
    """Whether a recovery may change an entry: it is staged, named by the journal, or above such."""
    inside = name.removeprefix("folder/")
    if inside.startswith(STAGING) or name == "folder":
        return True
    return inside != name and any(one == inside or one.startswith(f"{inside}/") for one in named)


def names_in(left: Left) -> set[str]:
    """Every text in a journal, as the name of a file in the folder; none where it is no JSON."""
    try:
        values = json.loads(left.journal)
    except (ValueError, RecursionError):
        return set()
    return {os.path.normpath(one) for one in texts(values)}


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from (one for part in value.values() for one in texts(part))
    elif isinstance(value, list):
        yield from (one for part in value for one in texts(part))


def promised(left: Left) -> bool:
    """Whether a journal has the pair's data removed, or its model: only we could lie so."""
    return DATA in names_in(left) or b'"model_after": null' in left.journal


def content(folder: Path) -> object:
    """What the model holds; None where it, or its data, is not whole."""
    try:
        return oracle.tensors(folder / "model.onnx"), oracle.rest(folder / "model.onnx")
    except (OSError, ValueError):
        return None


def edited(body: bytes, most: int, seed: int) -> bytes:
    """The journal with another name or state in it, or one field less or more."""
    rng = random.Random(seed)
    text = body.decode("latin-1")
    for _ in range(rng.choice((1, 1, 2, 4))):
        quoted = [index for index, letter in enumerate(text) if letter == '"']
        states = [index for index, letter in enumerate(text) if letter == ":"]
        kind = rng.randrange(5)
        if kind < 2 and len(quoted) > 1:
            start = rng.randrange(0, len(quoted) - 1)
            low, high = quoted[start] + 1, quoted[start + 1]
            text = text[:low] + rng.choice(WORDS) + text[high:]
        elif kind < 4 and states:
            low = rng.choice(states) + 1
            ends = [text.find(end, low) for end in ",}" if text.find(end, low) >= 0]
            text = text[:low] + rng.choice(STATES) + text[min(ends, default=low) :]
        elif kind == 4:
            depth = rng.choice((1, 3, 2000))
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(("[" * depth, '{"a":' * depth, ",", "]")) + text[at:]
    return text.encode("latin-1")[:most]


def journal(**changes: object) -> bytes:
    """A journal as a run in place writes it, or with other fields."""
    staged, final = f"@folder/{STAGING}/data/{DATA}@", f"@folder/{DATA}@"
    fields = {
        "model": "model.onnx",
        "model_before": "@folder/model.onnx@",
        "model_after": f"@folder/{STAGING}/model@",
        "bridge": f"@folder/{STAGING}/bridge@",
        "data_before": {DATA: final},
        "data_after": {DATA: staged},
        "superseded": {},
        "new_folders": [],
    }
    text = json.dumps({**fields, **changes})
    return text.replace('"@', "@").replace('@"', "@").encode()


def seeds() -> Iterator[bytes]:
    """Journals of each kind of commit, at each of its steps."""
    fresh_names = {"data_before": {"new/w.data": None}, "new_folders": ["new"], "bridge": None}
    staged = {"new/w.data": f"@folder/{STAGING}/data/{DATA}@"}
    kinds = (
        journal(),
        journal(superseded={"other.data": "@folder/other.data@"}),
        journal(data_before={}, data_after={}, bridge=None),
        journal(model="model.onnx", model_before=None, data_after=staged, **fresh_names),
        journal(model_after=None, bridge=None, data_before={}, data_after={}),
        b"{",
    )
    for index, kind in enumerate(kinds):
        for how in (0, 1, 3, 7, 15, 23, 55):
            yield bytes((how, 0)) + kind
        yield bytes((7, 1 << index)) + kind

"""A whole run on a model of any bytes: refused and nothing changed, or done and nothing lost.

The first bytes choose the call and its policies; the rest is the model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path

import onnx

from onnx_align_pass import (
    AlignError,
    AlignReport,
    VerifyReport,
    align_external_data_streaming,
    align_file,
    inline_file,
    inspect_file,
    rename_file,
    verify_file,
)
from tests.align.snapshot import snapshot
from tests.corpus import oracle

from . import scene
from .asked import HEAD, Asked, asked_by
from .edits import Editor
from .scratch import assert_fit_to_show, fresh
from .seeds import models

__all__ = ["HEAD", "edited", "one_input", "seeds"]

Contents = dict[str, oracle.TensorContent | bytes]
MOST_ELEMENTS = 1 << 20
"""Of a tensor that the oracle looks at: no file of the scene holds more."""


def one_input(data: bytes) -> None:
    """Repack a model as asked, and hold what came of it to the promises."""
    if len(data) <= HEAD:
        return
    asked, model = asked_by(data[:HEAD]), data[HEAD:]
    root = fresh("run")
    source = scene.build(root, model, neighbour=asked.neighbour)
    before = snapshot(root)
    looked_at(source)
    assert snapshot(root) == before
    result = source if asked.in_place else root / "result" / scene.MODEL
    try:
        run(asked, source, result)
    except AlignError as error:
        assert_fit_to_show(error)
        done = False
    else:
        done = True
    if done:
        assert_done(asked, root, result, before, model)
    else:
        assert snapshot(root) == before


def looked_at(path: Path) -> None:
    """Inspect a model, whatever it is."""
    try:
        inspect_file(path)
    except AlignError as error:
        assert_fit_to_show(error)


def run(asked: Asked, source: Path, result: Path) -> None:
    """The call."""
    target = None if asked.in_place else result
    if asked.call == "stream":
        align_external_data_streaming(source, result, result.with_name("w.data"), durable=False)
    elif asked.call == "inline":
        inline_file(source, target, verify=asked.verify, durable=False)
    elif asked.call == "rename":
        rename_file(source, result, durable=False)
    else:
        aligned(asked, source, target)


def aligned(asked: Asked, source: Path, target: Path | None, *, again: bool = False) -> AlignReport:
    """The call with all its options."""
    return align_file(
        source,
        target,
        storage=asked.storage,
        layout=asked.layout,
        verify=asked.verify,
        overwrite=again,
        durable=False,
    )


def assert_done(
    asked: Asked, root: Path, result: Path, before: dict[str, tuple[object, ...]], model: bytes
) -> None:
    """Hold a run that succeeded to all that it promises."""
    assert not list(root.rglob(".*.align-*"))
    original = scene.build(fresh("original"), model, neighbour=asked.neighbour)
    after = snapshot(root)
    moved = asked.in_place or asked.call == "rename"
    untouched = "outside" if moved else ("outside", "folder")
    assert under(after, untouched) == under(before, untouched)
    if asked.call == "align":
        source, target = root / "folder" / scene.MODEL, None if asked.in_place else result
        again = aligned(asked, source, target, again=True)
        assert again.models[0].unchanged or not asked.in_place
        assert snapshot(root) == after
    inspect_file(result)
    scene.disarm(root)
    scene.disarm(original.parent.parent)
    assert oracle.rest(result) == oracle.rest(original)
    assert contents(result) == contents(original)
    assert_verifies(result, original)
    if loads(original):
        assert loads(result)


def under(found: dict[str, tuple[object, ...]], folders: str | tuple[str, ...]) -> object:
    """What of a snapshot lies in these folders."""
    return {name: facts for name, facts in found.items() if name.startswith(folders)}


def contents(path: Path) -> Contents:
    """Every tensor by its place; where the oracle finds no bytes of it, as it stands."""
    found: Contents = {}
    for place, tensor in oracle.walk(oracle.parse(path)):
        try:
            if math.prod(tensor.dims) > MOST_ELEMENTS:
                raise ValueError(tensor.dims)
            found[place] = oracle.content(tensor, path.parent)
        except (ValueError, OSError, KeyError):
            found[place] = tensor.SerializeToString(deterministic=True)
    return found


def assert_verifies(result: Path, original: Path) -> None:
    """Hold `verify_file` to find nothing in the result that is not wrong with the original.

    Of a model with faults onnx's checker says one alone, and looks less at tensors outside.
    """
    wrong = errors_of(verify_file(original))
    new = errors_of(verify_file(result, against=original)) - wrong
    assert not new - ({"checker"} if wrong else set()), new


def errors_of(report: VerifyReport) -> set[str]:
    """The codes of the errors in a report."""
    return {one.code for one in report.findings if one.severity == "error"}


def loads(path: Path) -> bool:
    """Whether onnx loads a model with its weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            onnx.load(path)
        except Exception:  # noqa: BLE001  it raises all kinds
            return False
    return True


def edited(body: bytes, most: int, seed: int) -> bytes:
    """The model with some of its fields edited."""
    return Editor(seed).edited(body, most)


def seeds() -> Iterator[bytes]:
    """Real and odd models, their data in files of the scene, under policies that take turns."""
    for index, model in enumerate(models()):
        for turn in range(2):
            yield bytes((index + part * (turn + 3)) % 256 for part in range(HEAD)) + moved(model)


def moved(model: bytes) -> bytes:
    """A model that points at files of the scene, where it is a model that points at any."""
    try:
        proto = onnx.ModelProto.FromString(model)
    except Exception:  # noqa: BLE001  of protobuf, which names its error otherwise in each release
        return model
    found: dict[str | bytes, str] = {}
    for _, tensor in oracle.walk(proto):
        for entry in tensor.external_data:
            if entry.key == "location":
                name = found.setdefault(entry.value, scene.NAMES[len(found) % len(scene.NAMES)])
                entry.value = name
    return proto.SerializeToString() if found else model

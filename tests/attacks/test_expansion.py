"""Small models that would become huge ones: refused by whoever would write, or read, all of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import LayoutPolicy, align_file, load, plan_file, save
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.errors import ExpansionError
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.repairing import find_repairs, repair_file
from onnx_align_pass.shared import align_shared
from onnx_align_pass.transfer import hashing
from onnx_align_pass.transfer.parts import parts_of
from onnx_align_pass.verifying import verify_file
from tests.align.snapshot import snapshot
from tests.cli.child import run_child

from .expansions import MIB, naming, overlapping, tied

SAFETENSORS = LayoutPolicy(data_name="w.safetensors")
Call = Callable[..., Any]

WRITERS: dict[str, Call] = {
    "fresh": lambda model, out, **how: align_file(model, out / "r.onnx", durable=False, **how),
    "in place": lambda model, out, **how: align_file(model, durable=False, **how),
    "folder": lambda model, out, **how: align_file(model.parent, out / "r", durable=False, **how),
    "dedupe": lambda model, out, **how: align_file(
        model, out / "r.onnx", layout=LayoutPolicy(dedupe=True), durable=False, **how
    ),
    "inline": lambda model, out, **how: inline_file(model, out / "r.onnx", durable=False, **how),
    "shared": lambda model, out, **how: align_shared(
        [model], out / "r", shared_data="d", durable=False, **how
    ),
}

APART: dict[str, Call] = {
    "safetensors": partial(align_file, layout=SAFETENSORS),
    "inline": inline_file,
}


@pytest.fixture(autouse=True)
def _nothing_huge_stays(tmp_path: Path) -> Iterator[None]:
    """Pytest keeps the folders of three runs: a gigabyte each."""
    yield
    shutil.rmtree(tmp_path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize("name", WRITERS)
def test_ten_thousand_overlapping_tensors_are_refused(name: str, tmp_path: Path, out: Path) -> None:
    model = overlapping(tmp_path / "source", 10_000, MIB)
    before = snapshot(tmp_path)
    with pytest.raises(ExpansionError) as error:
        WRITERS[name](model, out)
    assert error.value.nbytes == 10_000 * MIB
    assert error.value.held_bytes == MIB + 9_999 * 16
    assert "10,485,760,000" in str(error.value)
    assert "--force" in str(error.value)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", WRITERS)
def test_it_is_written_by_force(name: str, tmp_path: Path, out: Path) -> None:
    model = overlapping(tmp_path / "source", 70, MIB)
    with pytest.raises(ExpansionError):
        WRITERS[name](model, out)
    WRITERS[name](model, out, overwrite=True)
    written = tmp_path / "source" if name == "in place" else out
    least = MIB if name in ("dedupe", "shared") else 70 * MIB  # the same zeros, stored once
    assert sum(one.stat().st_size for one in written.rglob("*") if one.is_file()) >= least


def test_a_plan_and_a_repair_refuse_it_too(tmp_path: Path, out: Path) -> None:
    model = overlapping(tmp_path / "source", 10_000, MIB)
    with pytest.raises(ExpansionError):
        plan_file(model)
    assert {one.code for one in find_repairs(model).remaining} == {"overlap"}
    with pytest.raises(Exception, match="shares some bytes"):
        repair_file(model, out / "r.onnx")


def test_what_was_loaded_is_not_saved_without_force(tmp_path: Path, out: Path) -> None:
    model = load(overlapping(tmp_path / "source", 70, MIB))
    with pytest.raises(ExpansionError):
        save(model, out / "r.onnx", durable=False)
    assert not list(out.iterdir())
    save(model, out / "r.onnx", durable=False, force=True)


def test_a_look_warns_and_compares_no_bytes(tmp_path: Path) -> None:
    report = inspect_file(overlapping(tmp_path, 10_000, MIB))
    found = {one.code: one for one in report.findings}
    assert found["expansion"].severity == "warning"
    assert "overlap" in found
    assert not report.duplicates
    assert "nobody looked for tensors of equal bytes" in report.notes


def test_there_is_no_digest_of_it_and_it_is_compared_with_nothing(
    tmp_path: Path, out: Path
) -> None:
    model, copy = (overlapping(tmp_path / name, 10_000, MIB) for name in ("one", "other"))
    with pytest.raises(ExpansionError):
        digest_of(model)
    (found,) = verify_file(model, against=copy).models
    assert found.bytes_compared == 0
    assert "expansion" in {one.code for one in found.findings if one.severity == "error"}


def test_tied_tensors_are_read_and_written_once(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    def counted(*of: Any) -> Any:
        nonlocal read
        for at, part in parts_of(*of):
            read += len(part)
            yield at, part

    model = tied(tmp_path / "one", 10_000, MIB)
    monkeypatch.setattr(hashing, "parts_of", counted)
    wanted = digest_of(model)
    assert read == MIB
    report = align_file(model, out / "r.onnx", layout=LayoutPolicy(pad="tensor"), durable=False)
    assert report.data_bytes == MIB
    assert digest_of(out / "r.onnx") == wanted
    (checked,) = verify_file(model, against=out / "r.onnx").models
    assert checked.ok
    assert checked.bytes_compared == MIB


@pytest.mark.parametrize("name", APART)
def test_tied_tensors_that_would_be_written_apart_are_refused(
    name: str, tmp_path: Path, out: Path
) -> None:
    model = tied(tmp_path / "source", 10_000, MIB)
    with pytest.raises(ExpansionError):
        APART[name](model, out / "r.onnx")
    assert not list(out.iterdir())


def test_weights_that_two_share_may_be_written_apart(tmp_path: Path, out: Path) -> None:
    model = tied(tmp_path / "source", 2, 80 * MIB)
    report = align_file(model, out / "r.onnx", layout=SAFETENSORS, durable=False)
    assert report.data_bytes >= 160 * MIB


def test_a_safetensors_file_of_overlapping_tensors_is_refused(tmp_path: Path, out: Path) -> None:
    with pytest.raises(ExpansionError):
        align_file(
            overlapping(tmp_path / "source", 10_000, MIB), out / "r.onnx", layout=SAFETENSORS
        )


@pytest.mark.parametrize("links", [False, True], ids=["one name", "hard links"])
def test_a_folder_of_many_models_of_one_data_file_is_refused(
    links: bool, tmp_path: Path, out: Path
) -> None:
    source = tmp_path / "source"
    for index in range(100):
        folder = source / str(index) if links else source
        folder.mkdir(parents=True, exist_ok=True)
        if links and index:
            os.link(source / "0" / "w.data", folder / "w.data")
        naming(folder, [(0, MIB)], name=f"m{index}.onnx")
    with pytest.raises(ExpansionError, match="--shared-data"):
        align_file(source, out / "r")
    assert not list(out.iterdir())
    align_file(source, out / "r", durable=False, overwrite=True)


def test_the_command_line_says_how_much_and_lets_force_do_it(tmp_path: Path, out: Path) -> None:
    model = overlapping(tmp_path / "source", 70, MIB)
    refused = run_child("align", model, out / "r.onnx", "--json")
    assert refused.returncode == 3
    said = json.loads(refused.stdout)["error"]
    assert said["error"] == "ExpansionError"
    assert "73,400,320 bytes" in said["found"]
    forced = run_child("align", model, out / "r.onnx", "--force", "--no-durable")
    assert forced.returncode == 0, forced.stderr

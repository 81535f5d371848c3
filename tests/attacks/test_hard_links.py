"""Data files with several names: read when they are the model owner's, else only when allowed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import (
    LayoutPolicy,
    ModelError,
    UnsafeDataFileError,
    align_file,
    load,
    plan_file,
)
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.inspecting import inspect_file, inspect_folder
from onnx_align_pass.renaming import rename_file
from onnx_align_pass.repairing import find_repairs, repair_file
from onnx_align_pass.shared import align_shared
from onnx_align_pass.verifying import verify_file
from onnx_align_pass.with_passes import align_with_passes
from tests.align.snapshot import snapshot
from tests.cli.child import run_child
from tests.corpus import BAD
from tests.corpus.bad_paths import SECRET

ROOT = os.getuid() == 0
pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.skipif(not ROOT, reason="needs root, to give a file away"),
]
NOBODY = 65_534
STRANGER = 12_345
"""Owner of the file that the case links to."""

ELSEWHERE = LayoutPolicy(data_name="plain.data")

Call = Callable[..., Any]
READERS: dict[str, Call] = {
    "plan": lambda model, out, **how: plan_file(model, **how),
    "digest": lambda model, out, **how: digest_of(model, **how),
    "load": lambda model, out, **how: load(model, **how),
}
WRITERS: dict[str, Call] = {
    "fresh": lambda model, out, **how: align_file(model, out / "r.onnx", **how),
    "in place": lambda model, out, **how: align_file(model, layout=ELSEWHERE, **how),
    "folder": lambda model, out, **how: align_file(model.parent, out / "r", **how),
    "inline": lambda model, out, **how: inline_file(model, out / "r.onnx", **how),
    "rename": lambda model, out, **how: rename_file(model, out / "r.onnx", **how),
    "shared": lambda model, out, **how: align_shared([model], out / "r", shared_data="d", **how),
    "passes": lambda model, out, **how: align_with_passes(
        model, out / "r.onnx", before=["common-subexpression-elimination"], **how
    ),
}


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A model whose data file is another name of a stranger's file."""
    (tmp_path / "source").mkdir()
    (tmp_path / "out").mkdir()
    return BAD["data_link_of_another_owner"].build(tmp_path / "source")


@pytest.mark.parametrize("name", [*READERS, *WRITERS])
def test_a_strangers_file_under_another_name_is_refused(
    name: str, linked: Path, tmp_path: Path
) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(UnsafeDataFileError, match="another owner") as error:
        {**READERS, **WRITERS}[name](linked, tmp_path / "out")
    assert error.value.code == "data-file-foreign-links"
    assert "--allow-hard-links" in str(error.value)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [*READERS, *WRITERS])
def test_it_is_read_where_that_is_allowed(name: str, linked: Path, tmp_path: Path) -> None:
    {**READERS, **WRITERS}[name](linked, tmp_path / "out", allow_hard_links=True)
    secret = tmp_path / "source" / "secret.data"
    assert secret.read_bytes() == SECRET
    assert secret.stat().st_uid == STRANGER
    where = linked.parent if name == "in place" else tmp_path / "out"
    written = [path for path in where.rglob("*") if path.is_file()]
    assert bool(written) is (name in WRITERS or name == "in place")
    if name not in ("rename", *READERS):
        assert all(path.stat().st_nlink == 1 for path in written)


def test_what_was_loaded_is_read_as_it_was_allowed(linked: Path) -> None:
    model = load(linked, allow_hard_links=True)
    assert model.graph.initializers["w"].const_value.tobytes() == SECRET  # type: ignore[union-attr]


def test_a_look_finds_it_unless_it_is_allowed(linked: Path) -> None:
    codes = {one.code for one in inspect_file(linked).findings}
    assert "data-file-foreign-links" in codes
    allowed = {one.code for one in inspect_file(linked, allow_hard_links=True).findings}
    assert "data-file-foreign-links" not in allowed
    assert "hard-link" in allowed, "onnx refuses it still"
    (report,) = inspect_folder(linked.parent, allow_hard_links=True)
    assert {one.code for one in report.findings} == allowed
    assert not verify_file(linked).ok
    assert verify_file(linked, allow_hard_links=True, with_digest=True).ok


def test_a_repair_reads_it_only_where_it_is_allowed(linked: Path, tmp_path: Path) -> None:
    assert find_repairs(linked).remaining
    assert not find_repairs(linked, allow_hard_links=True).remaining
    with pytest.raises(ModelError):
        repair_file(linked, tmp_path / "out" / "r.onnx")
    assert not repair_file(linked, tmp_path / "out" / "r.onnx", allow_hard_links=True).repairs


@pytest.mark.parametrize(
    "command",
    [
        ["align", "{}", "out/r.onnx"],
        ["align", "{}", "--in-place"],
        ["align", "{}", "out/r.onnx", "--before", "common-subexpression-elimination"],
        ["align", "{}", "out", "--shared-data", "all.data", "--no-durable"],
        ["plan", "{}"],
        ["verify", "{}", "--show-digest"],
        ["repair", "{}", "--dry-run"],
        ["inline", "{}", "out/r.onnx"],
        ["rename", "{}", "out/r.onnx"],
    ],
    ids=" ".join,
)
def test_each_command_that_reads_has_the_option(
    command: list[str], linked: Path, tmp_path: Path
) -> None:
    typed = [word.format(linked) for word in command]
    done = run_child(*typed, "--allow-hard-links", cwd=tmp_path)
    assert done.returncode == 0, done


def test_the_command_that_looks_has_it_too(linked: Path) -> None:
    refused = json.loads(run_child("inspect", linked, "--digest", "--json").stdout)
    allowed = run_child("inspect", linked, "--digest", "--json", "--allow-hard-links").stdout
    assert refused["models"][0]["digest"] is None
    assert json.loads(allowed)["models"][0]["digest"]


def test_the_owner_that_counts_is_the_models_not_the_one_who_runs(open_folder: Path) -> None:
    """Another user, who may read both, is refused and allowed as root is."""
    linked = BAD["data_link_of_another_owner"].build(open_folder)
    assert _as_nobody(lambda: _is_refused(linked))
    os.chown(linked, STRANGER, STRANGER)  # now the model and its data have one owner
    assert _as_nobody(lambda: not _is_refused(linked))


def test_a_file_of_the_models_owner_is_read_with_a_note(linked: Path) -> None:
    os.chown(linked, STRANGER, STRANGER)
    assert any("2 links" in note for note in plan_file(linked).notes)


def _is_refused(model: Path) -> bool:
    try:
        plan_file(model)
    except UnsafeDataFileError:
        return True
    return False


def _as_nobody(ask: Callable[[], bool]) -> bool:
    """Whether something is so for another user, in a child that has become that one."""
    child = os.fork()
    if child == 0:
        answer = 2
        try:
            signal.alarm(20)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            answer = 0 if ask() else 1
        finally:
            os._exit(answer)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0

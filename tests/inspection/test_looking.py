"""How a look is taken: at files that change, at folders, at much of everything."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onnx_align_pass import (
    ExternalDataError,
    ModelNotFoundError,
    SourceChangedError,
    UsageError,
    inspecting,
)
from onnx_align_pass.inspecting import inspect_file, inspect_folder
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.repack_folder import models_below
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.cli.models import sparse_model
from tests.corpus import BAD
from tests.corpus.build import MODEL

DATA = f"{MODEL}.data"
linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")


def test_a_folder_is_looked_at_in_the_order_in_which_it_is_repacked(tmp_path: Path) -> None:
    for name in ("z.onnx", "a/x.ONNX", "a-b/y.onnx"):
        external_model(tmp_path / name)
    before = snapshot(tmp_path)
    reports = inspect_folder(tmp_path)
    assert [one.model for one in reports] == models_below(tmp_path)
    assert all(one.is_readable and not one.findings for one in reports)
    assert snapshot(tmp_path) == before


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        inspect_folder(tmp_path)
    with pytest.raises(ModelNotFoundError):
        inspect_file(tmp_path)
    with pytest.raises(UsageError):
        inspect_file("")


def test_a_path_may_be_a_text_and_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    external_model(tmp_path / MODEL)
    monkeypatch.chdir(tmp_path)
    report = inspect_file(MODEL)
    assert report.findings == ()
    assert report.files[0].name == DATA
    assert report.to_json()["model"] == MODEL


def test_a_model_that_goes_away_under_a_folder_is_reported(tmp_path: Path) -> None:
    external_model(tmp_path / "a.onnx")
    (tmp_path / "b.onnx").symlink_to("gone.onnx")
    good, bad = inspect_folder(tmp_path)
    assert (good.is_readable, bad.is_readable) == (True, False)
    assert [one.code for one in bad.findings] == ["model-not-found"]
    assert bad.model_bytes == 0


def test_a_disk_that_fails_is_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = external_model(tmp_path / MODEL)
    real = os.pread

    def failing(fd: int, count: int, offset: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".data"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, count, offset)

    monkeypatch.setattr(os, "pread", failing)
    with pytest.raises(ExternalDataError) as error:
        inspect_file(source)
    assert error.value.file == str(tmp_path / DATA)
    assert error.value.code == "data-file-unreadable"


@pytest.mark.parametrize("name", [MODEL, DATA])
def test_a_file_that_changes_meanwhile_is_a_named_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = external_model(tmp_path / MODEL)

    def changing(inventory: Inventory) -> list[list[int]]:
        with (tmp_path / name).open("ab") as file:
            file.write(b"more")
        return []

    monkeypatch.setattr(inspecting, "duplicate_groups", changing)
    with pytest.raises(SourceChangedError) as error:
        inspect_file(source)
    assert error.value.file == str(tmp_path / name)


@pytest.mark.parametrize("name", ["data_is_a_fifo", "model_is_a_fifo"])
def test_a_pipe_holds_nobody_up(name: str, tmp_path: Path) -> None:
    source = BAD[name].build(tmp_path)
    code = "import sys; from onnx_align_pass.inspecting import inspect_folder; " + (
        "print([one.code for report in inspect_folder(sys.argv[1]) for one in report.findings])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(source.parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() in ("['data-file-irregular']", "['model-not-found']")


IN_CHILD = """
import sys
from pathlib import Path
from onnx_align_pass.inspecting import inspect_file

def peak_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

small, large = sys.argv[1:]
inspect_file(small)
Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
before = peak_kib()
report = inspect_file(large)
print(peak_kib() - before, report.external.nbytes, len(report.duplicates[0].tensors))
"""


@linux
def test_looking_at_512_mib_of_equal_weights_takes_under_3_mib(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    sources = [str(sparse_model(small, 8 << 20)), str(sparse_model(large, 512 << 20))]
    done = subprocess.run(
        [sys.executable, "-c", IN_CHILD, *sources],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    kib, nbytes, alike = map(int, done.stdout.split())
    assert (nbytes, alike) == (512 << 20, 128)
    assert kib < 3 << 10


def test_neither_the_ir_nor_a_terminal_library_is_loaded(tmp_path: Path) -> None:
    source = external_model(tmp_path / MODEL)
    code = "import sys; from onnx_align_pass.inspecting import inspect_file; " + (
        "inspect_file(sys.argv[1]); print(sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(source)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = set(done.stdout.split("'"))
    assert "onnx" in loaded
    assert not loaded & {"onnx_ir", "onnxscript", "typer", "rich", "onnxruntime"}

"""Faults that the kernel itself reports, injected into a real process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transfer.support import noise

pytestmark = pytest.mark.needs_strace

PROGRAM = """
import sys
from pathlib import Path
from onnx_align_pass.progress import SILENT
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles

folder, length = Path(sys.argv[1]), int(sys.argv[2])
with (
    open(folder / "target", "xb+") as file,
    SourceFiles(roots=(folder,), owner_uid=None) as sources,
    Ladder(chunk_size=1 << 20) as ladder,
):
    pieces = [Piece(FileSpan(folder / "source", 100, length), 0, "w")]
    write_pieces(
        file.fileno(), pieces, length,
        sources=sources, ladder=ladder, progress=SILENT, durable=True,
    )
"""
LENGTH = 5_000_000


@pytest.fixture(scope="module")
def strace() -> str:
    program = shutil.which("strace")
    if program is None or subprocess.run([program, "true"], capture_output=True).returncode:
        pytest.skip("needs strace, and leave to trace")
    return program


def run(strace: str, folder: Path, *faults: str) -> subprocess.CompletedProcess[str]:
    (folder / "source").write_bytes(noise(100 + LENGTH))
    options = [part for fault in faults for part in ("-e", f"inject={fault}")]
    log = folder / "log"
    traced = "trace=ioctl,splice,copy_file_range,preadv,pwrite64,ftruncate,fsync"
    command = [strace, "-f", "-o", str(log), "-e", traced, *options]
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM, str(folder), str(LENGTH)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not faults or "(INJECTED)" in log.read_text(), "the fault did not fire"
    return done


@pytest.mark.parametrize(
    "faults",
    [
        ["splice:error=EINVAL:when=1"],
        ["splice:error=EINVAL:when=2"],
        ["splice:error=EINVAL:when=6"],
        ["splice:error=EPERM"],
        ["splice:error=ENOSYS", "copy_file_range:error=EXDEV:when=2+"],
        ["splice:error=ENOSYS", "copy_file_range:retval=0:when=1"],
        ["ioctl:error=ENOTTY"],
        ["ioctl:error=EINTR:when=1..3"],
    ],
    ids=" ".join,
)
def test_a_refused_call_costs_no_byte(strace: str, tmp_path: Path, faults: list[str]) -> None:
    done = run(strace, tmp_path, *faults)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "target").read_bytes() == (tmp_path / "source").read_bytes()[100:]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("splice:error=EIO:when=3", r"source'"),
        ("splice:error=ENOSPC:when=4", "No space left"),
        ("ftruncate:error=EFBIG:when=1", "File too large"),
        ("fsync:error=EIO:when=1", "Input/output error"),
    ],
)
def test_a_failed_call_is_an_error(strace: str, tmp_path: Path, fault: str, told: str) -> None:
    done = run(strace, tmp_path, fault)
    assert done.returncode == 1
    assert told in done.stderr

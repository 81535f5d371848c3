"""A quota that ends a run, told by the system as such: on a btrfs, where root has one too."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.align.snapshot import snapshot
from tests.cli.child import run_child
from tests.commit.judge import content
from tests.commit.mounts import attached, image, mounted
from tests.commit.perform import perform
from tests.commit.scenes import SCENES

pytestmark = pytest.mark.needs_btrfs
DONE = {"done": ["written"], "leaked": []}
KIB = 1 << 10
ENOUGH = "1T"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A subvolume that may be limited."""
    base = tmp_path_factory.mktemp("quota")
    if shutil.which("btrfs") is None:
        pytest.skip("needs btrfs")
    made = image(base / "image", 128 << 20, "mkfs.btrfs", "-q")
    with attached(made) as device, mounted(base / "mounted", "mount", device) as root:
        subprocess.run(["btrfs", "quota", "enable", root], check=True, capture_output=True)
        subprocess.run(
            ["btrfs", "subvolume", "create", root / "mine"], check=True, capture_output=True
        )
        yield root / "mine"
    made.unlink()


def limit(folder: Path, size: str) -> None:
    subprocess.run(["sync", "-f", folder], check=True)
    # By way of the root: what is over its quota may not even be given another.
    number = f"0/{volume_of(folder)}"
    command = ["btrfs", "qgroup", "limit", size, number, str(folder.parent)]
    subprocess.run(command, check=True, capture_output=True)


def volume_of(folder: Path) -> str:
    command = ["btrfs", "inspect-internal", "rootid", str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def used(folder: Path) -> int:
    """Bytes that count for the quota."""
    subprocess.run(["sync", "-f", folder], check=True)
    command = ["btrfs", "qgroup", "show", "--raw", "-f", str(folder)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[-1].split()[1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fresh", "overwrite", "in_place", "in_place_three", "large"])
def test_wherever_the_quota_ends_the_run_the_pair_is_whole(name: str, limited: Path) -> None:
    one, root = SCENES[name], limited / name
    one.build(root)
    before, wanted = snapshot(root), content(root / one.source)
    taken, refused, step = used(limited), 0, 256 * KIB if name == "large" else 8 * KIB
    try:
        for more in range(0, 1 << 30, step):
            limit(limited, str(taken + more))
            told = perform(one.task(root))
            if told == DONE:
                break
            refused += 1
            assert told["error"] == "DiskFullError", told
            assert "quota exceeded" in told["text"].lower(), told
            assert "a quota allows less" in told["text"], told
            assert told["leaked"] == []
            limit(limited, ENOUGH)
            assert snapshot(root) == before
        assert content(root / one.model) == wanted
        assert refused > 2
    finally:
        limit(limited, ENOUGH)
        shutil.rmtree(root)


def test_the_command_line_says_that_it_is_a_quota_and_ends_with_4(limited: Path) -> None:
    SCENES["large"].build(limited / "told")
    folder = limited / "told" / "folder"
    before = snapshot(folder)
    limit(limited, str(used(limited) + 512 * KIB))
    try:
        done = run_child("align", "model.onnx", "--in-place", cwd=folder)
    finally:
        limit(limited, ENOUGH)
    assert done.returncode == 4
    assert "Disk quota exceeded (needed 2," in done.stderr
    assert "of which a quota allows less" in done.stderr
    assert "hint: Free some of what counts for the quota" in done.stderr
    assert snapshot(folder) == before
    shutil.rmtree(limited / "told")

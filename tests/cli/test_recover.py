"""`onnx-align recover`: what killed runs left, named with what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onnx_align_cli import main

from .child import environment, tree
from .models import MODEL, write_model

Capture = pytest.CaptureFixture[str]
KILLED_WHILE_COPYING = """
import os, signal, sys
from onnx_align_cli import main, watch
watch._Watch.advance = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


def leave_something(folder: Path, name: str = MODEL) -> Path:
    """A run into the folder that is killed while it copies; the staging folder it leaves."""
    source = write_model(folder / "source", name=name)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_COPYING, "align", source, folder / name],
        env=environment(),
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    (left,) = (folder / entry for entry in os.listdir(folder) if ".align-" in entry)
    return left


def test_nothing_to_do_is_a_success(tmp_path: Path, capsys: Capture) -> None:
    assert main(["recover", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("nothing to recover\n", "")


def test_the_working_directory_is_where_it_looks_unless_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave_something(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["recover"]) == 0
    assert left.name in capsys.readouterr().out
    assert not left.exists()


def test_what_was_discarded_is_named(tmp_path: Path, capsys: Capture) -> None:
    left = leave_something(tmp_path)
    assert main(["recover", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[0] == "1 discarded"
    assert out.splitlines()[1].startswith(f"  discarded {left}: ")


def test_a_model_means_only_its_own_leftovers_even_if_it_is_missing(
    tmp_path: Path, capsys: Capture
) -> None:
    left = leave_something(tmp_path)
    assert main(["recover", str(tmp_path / "other.onnx")]) == 0
    assert left.exists()
    assert main(["recover", str(tmp_path / MODEL)]) == 0
    assert not left.exists()
    capsys.readouterr()


def test_folders_below_are_looked_at_but_not_through_symlinks(
    tmp_path: Path, capsys: Capture
) -> None:
    left = leave_something(tmp_path / "models" / "below")
    elsewhere = leave_something(tmp_path / "elsewhere")
    (tmp_path / "models" / "link").symlink_to(tmp_path / "elsewhere")
    assert main(["recover", str(tmp_path / "models")]) == 0
    assert not left.exists()
    assert elsewhere.exists()
    capsys.readouterr()


def test_what_is_not_ours_is_left_and_said(tmp_path: Path, capsys: Capture) -> None:
    foreign = tmp_path / f".{MODEL}.align-0123abcd"
    foreign.mkdir()
    (foreign / "evil\x1b[31m").touch()
    assert main(["recover", str(tmp_path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema_version"] == 1
    assert values["totals"] == {"finished": 0, "discarded": 0, "live": 0, "untrusted": 1}
    assert values["leftovers"][0]["outcome"] == "untrusted"
    assert foreign.exists()


def test_a_run_recovers_its_own_destination(tmp_path: Path, capsys: Capture) -> None:
    left = leave_something(tmp_path)
    source = tmp_path / "source" / MODEL
    assert main(["align", str(source), str(tmp_path / MODEL)]) == 0
    assert "discarded" in capsys.readouterr().out
    assert not left.exists()
    assert not any(".align-" in name for name in tree(tmp_path))

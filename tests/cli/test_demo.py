"""`onnx-align demo`, with a tiny model: builds, repacks, proves, measures, cleans up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_align_cli import main

Capture = pytest.CaptureFixture[str]
TINY = ("--side", "16", "--repeat", "1")


def test_it_says_what_it_did_and_cleans_up(tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", "--dir", str(tmp_path), *TINY]) == 0
    out, err = capsys.readouterr()
    assert "29 of 29 tensors aligned, 29 of 29 equal" in out
    assert "ours / in memory" in out
    assert out.splitlines()[-1].startswith("  next      onnx-align plan ")
    assert err.startswith("building a model in ")
    assert list(tmp_path.iterdir()) == []


def test_json_holds_the_proof_and_the_numbers(tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", "--dir", str(tmp_path), "--json", *TINY]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    values = json.loads(out)
    assert values["schema_version"] == 1
    assert values["alignment"] == 4096
    assert values["proven"] == {"aligned": 29, "equal": 29}
    assert 0 < values["unaligned_before"] < 29
    ours, theirs = values["measured"]
    assert len(ours["seconds"]) == len(theirs["seconds"]) == 1
    assert ours["problem"] is None
    assert theirs["problem"] is None
    assert list(tmp_path.iterdir()) == []


def test_a_tensor_off_its_boundary_is_found_out(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx_align_cli.proof.ALIGNMENT", 64)
    from onnx_align_pass import align

    real = align.align_file

    def careless(*args: object, layout: object, **kwargs: object) -> object:
        from onnx_align_pass.policy import LayoutPolicy

        return real(*args, layout=LayoutPolicy(alignment=1), **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(align, "align_file", careless)
    assert main(["demo", "--dir", str(tmp_path), *TINY]) == 1
    assert "off its boundary" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

"""`onnx-align passes`: what can be named, its options, and what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_pass.registry.listing import list_passes
from tests.registry.distribution import write_distribution

from .child import environment, run_child

Capture = pytest.CaptureFixture[str]
CHATTY = "print('hello from a stranger')\nraise RuntimeError('\\x1b[2J is [red]not[/red] here')\n"


def test_a_row_says_name_origin_options_and_purpose(capsys: Capture) -> None:
    assert main(["passes"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "passes"
    assert lines[1].split() == ["name", "from", "options", "what", "it", "does"]
    row = next(line for line in lines if line.startswith("lift-constants-to-initializers "))
    assert " ".join(row.split()) == (
        "lift-constants-to-initializers onnx-ir lift_all_constants=false size_limit=16 "
        "Lift constants to initializers. Also: lift-constants."
    )
    assert len(lines) == 2 + len(list_passes()) + 3
    assert "deduplicate-initializers{size_limit=4096}" in lines[-1]


def test_json_is_the_list_of_the_core(capsys: Capture) -> None:
    assert main(["passes", "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert err == ""
    assert values["schema_version"] == 1
    found = {one["name"]: one for one in values["passes"]}
    assert list(found) == [one.name for one in list_passes()]
    assert found["convert-version"]["origin"] == "onnxscript"
    assert found["convert-version"]["options"] == [
        {"name": "target_version", "type": "int", "required": True, "default": None},
        {"name": "fallback", "type": "bool", "required": False, "default": False},
    ]
    options = {one["name"]: one for one in found["tag-external-data"]["options"]}
    assert options["size_threshold_bytes"]["default"] == 1024
    assert options["external"] == {
        "name": "external",
        "type": "str,...",
        "required": False,
        "default": [],
    }
    assert all(one["problem"] is None for one in values["passes"])


@pytest.mark.parametrize("arguments", [["passes"], ["passes", "--json"]])
def test_a_package_that_fails_is_listed_with_the_reason_and_breaks_nothing(
    arguments: list[str], tmp_path: Path
) -> None:
    write_distribution(tmp_path, "stranger", {"chatty": "chatty:Pass"}, {"chatty": CHATTY})
    path = f"{tmp_path}:{environment()['PYTHONPATH']}"
    done = run_child(*arguments, env={"PYTHONPATH": path})
    assert done.returncode == 0
    assert done.stderr == "hello from a stranger\n"
    if "--json" in arguments:
        last = json.loads(done.stdout)["passes"][-1]
        assert (last["name"], last["origin"]) == ("chatty", "stranger")
        assert last["problem"] == "RuntimeError: \\x1b[2J is [red]not[/red] here"
        assert (last["summary"], last["options"], last["aliases"]) == ("", [], [])
    else:
        row = next(line for line in done.stdout.splitlines() if line.startswith("chatty "))
        wanted = "stranger not usable: RuntimeError: \\x1b[2J is [red]not[/red] here"
        assert " ".join(row.split()) == f"chatty {wanted}"


def test_a_default_that_json_has_no_word_for_is_a_text(tmp_path: Path) -> None:
    source = (
        "from pathlib import Path\n"
        "def make(folder: Path = Path('x'), ratio: float = float('inf')): ...\n"
    )
    write_distribution(tmp_path, "stranger", {"odd": "odd:make"}, {"odd": source})
    path = f"{tmp_path}:{environment()['PYTHONPATH']}"
    done = run_child("passes", "--json", env={"PYTHONPATH": path})
    last = json.loads(done.stdout, parse_constant=pytest.fail)["passes"][-1]
    assert [one["default"] for one in last["options"]] == ["x", "inf"]


def test_a_terminal_gets_a_drawn_table() -> None:
    done = run_child("passes", env={"FORCE_COLOR": "1", "COLUMNS": "100"})
    assert done.returncode == 0
    assert "──" in done.stdout

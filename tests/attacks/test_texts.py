"""What a stranger's texts do to whoever looks at them: nothing, by any command, on any stream."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.child import COMMAND, environment, run_child
from tests.corpus.bad_paths import pointing

from .texts import FORBIDDEN, HOSTILE, hostile

COMMANDS = {
    "plan": ["plan", "{}"],
    "plan text": ["plan", "{}", "--text"],
    "plan json": ["plan", "{}", "--json"],
    "plan rules": ["plan", "{}", "--rule", ".*: alignment=64", "--dedupe"],
    "plan safetensors": ["plan", "{}", "--external-data", "x.safetensors", "--text"],
    "inspect": ["inspect", "{}", "--tensors", "--digest"],
    "inspect json": ["inspect", "{}", "--json"],
    "inspect folder": ["inspect", "source", "--tensors"],
    "verify": ["verify", "{}", "--preset", "windows"],
    "verify json": ["verify", "{}", "--json", "--show-digest"],
    "align": ["align", "{}", "out/"],
    "align json": ["align", "{}", "out/", "--json", "--verify"],
    "align before": ["align", "{}", "out/r.onnx", "--before", "name-fix"],
    "align folder": ["align", "source", "out/all"],
    "align in place": ["align", "{}", "--in-place"],
    "align shared": ["align", "{}", "out", "--shared-data", "d"],
    "repair": ["repair", "{}", "--dry-run"],
    "inline": ["inline", "{}", "out/r.onnx"],
    "rename": ["rename", "{}", "out/"],
    "rename json": ["rename", "{}", "out/r.onnx", "--json"],
    "recover": ["recover", "source"],
    "refused": ["align", "{}", "{}"],
    "an option": ["align", "{}", "out/r.onnx", "--preset", "\x1b[31mx\u202e"],
}


CODES = {"verify": 1, "an option": 2, "refused": 3}
"""Exit codes that are not 0."""
QUICK = {"plan", "inspect", "verify json", "align", "align before", "rename", "refused"}
ALL = [pytest.param(one, marks=() if one in QUICK else pytest.mark.exhaustive) for one in COMMANDS]


@pytest.mark.parametrize("name", ALL)
def test_no_stream_gets_what_a_terminal_acts_on(name: str, tmp_path: Path) -> None:
    model = hostile(tmp_path / "source", for_ir=name == "align before")
    (tmp_path / "out").mkdir()
    typed = [word.replace("{}", str(model)) for word in COMMANDS[name]]
    done = run_child(*typed, cwd=tmp_path, text=False)  # as text, CR would become a line's end
    assert done.returncode == CODES.get(name, 0), done.stderr
    for stream in (done.stdout, done.stderr):
        text = os.fsdecode(stream)
        assert not FORBIDDEN & set(text), text
        assert "Traceback" not in text
        assert not any(line.startswith((".onnx", "\t")) for line in text.splitlines())
    if "json" in name:
        assert json.loads(done.stdout)


@pytest.mark.parametrize("location", [HOSTILE, "missing [red]\u202e.data"])
@pytest.mark.parametrize("command", ["plan", "inspect"])
def test_no_error_says_a_location_as_it_is(location: str, command: str, tmp_path: Path) -> None:
    model = pointing(tmp_path, location)
    done = run_child(command.split()[0], model, *command.split()[1:])
    assert done.returncode in (0, 1, 3)
    assert not FORBIDDEN & set(done.stdout + done.stderr)


def test_the_page_holds_no_script_but_its_own(tmp_path: Path) -> None:
    model, page = hostile(tmp_path / "source"), tmp_path / "page.html"
    done = run_child("inspect", model, "--html", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert not FORBIDDEN - {"\t"} & set(text)
    assert "alert(1)" in text, "it is shown, as text"
    assert "<script>alert" not in text
    assert "<img" not in text
    assert len(re.findall("<script", text)) == len(re.findall("</script>", text)) <= 2


@pytest.mark.parametrize("name", ["align", "inspect"])
def test_a_terminal_gets_colours_but_none_of_the_models(name: str, tmp_path: Path) -> None:
    model = hostile(tmp_path / "source")
    (tmp_path / "out").mkdir()
    typed = [word.replace("{}", str(model)) for word in COMMANDS[name]]
    shown = _on_a_terminal(typed, tmp_path)
    assert "]0;owned" not in shown.replace("\\x1b]0;owned", "")
    assert "\x1b[2J" not in shown
    assert not set("\x00\x7f\x85\x9b\u202e\u2066\u200b") & set(shown)
    assert "\x1b]8;" not in shown, "a link that the model asks for"


def _on_a_terminal(typed: list[str], folder: Path) -> str:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, *typed],
        cwd=folder,
        env=environment(COLUMNS="200"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    child.wait(timeout=60)
    return b"".join(parts).decode(errors="replace")

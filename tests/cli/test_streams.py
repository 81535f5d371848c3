"""What becomes of stdout: a reader that goes, a full disk, a closed descriptor."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_cli.streams import json_text, say_json
from tests.align.small_models import external_model

from .child import COMMAND, environment, run_child
from .models import MODEL, write_model


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "--json"], ["plan", "--text"], ["align", "--force"]]
)
def test_a_reader_that_has_gone_ends_it_quietly(arguments: list[str], tmp_path: Path) -> None:
    source = write_model(tmp_path)
    more = [tmp_path / "out.onnx"] if arguments[0] == "align" else []
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments, source, *more],
            env=environment(),
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
    assert (tmp_path / "out.onnx").exists() == bool(more)


def test_a_reader_that_takes_one_line_ends_it_quietly(tmp_path: Path) -> None:
    source = many_tensors(tmp_path, 2_000)
    with subprocess.Popen(
        [*COMMAND, "inspect", source, "--json"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"{\n"
        child.stdout.close()  # what `| head -1` does
        assert (child.wait(), child.stderr.read()) == (141, b"")


def many_tensors(folder: Path, count: int) -> Path:
    """A model whose report does not fit into a pipe."""
    names = (f"a_tensor_with_a_name_{number}" for number in range(count))
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (300,))
    return external_model(folder / MODEL, shapes)


def test_a_reader_of_the_help_text_that_has_gone_ends_it_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run_child("align", "--help", capture_output=False, stdout=writer, stderr=-1)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["plan"], ["plan", "--json"]])
def test_a_full_disk_behind_stdout_ends_with_4(arguments: list[str], tmp_path: Path) -> None:
    source = write_model(tmp_path)
    with open("/dev/full", "w") as full:
        done = run_child(*arguments, source, capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 4
    assert done.stderr == "error: No space left on device\n"


def test_closed_descriptors_are_never_given_to_data_files(tmp_path: Path) -> None:
    source = write_model(tmp_path)
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *COMMAND, "align", source, "out/"],
        env=environment(),
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "out" / MODEL).stat().st_size > 0


texts = st.text(max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


@given(value=json_values)
def test_short_lists_are_indented_as_python_does(value: Any) -> None:
    assert json_text(value) == json.dumps(value, indent=2)


@given(items=st.lists(json_values, min_size=1, max_size=3), times=st.integers(40, 60))
def test_an_item_of_a_long_list_is_a_line(items: list[Any], times: int) -> None:
    values = {"many": items * times, "few": [1, {"a": [2]}]}
    text = json_text(values)
    assert json.loads(text) == values
    if len(items) * times > 100:
        first = text.splitlines().index('  "many": [') + 1
        rows = text.splitlines()[first : first + len(items) * times]
        assert [json.loads(row.rstrip(",")) for row in rows] == values["many"]


def test_a_result_of_another_schema_is_not_said_to_be_of_this_one() -> None:
    with pytest.raises(ValueError, match="schema 2"):
        say_json({"schema_version": 2})

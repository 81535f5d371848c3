"""The corpus tested: what each case says of itself is true of the peers.

A flag that is true must hold on any version of the peers. A flag that is false tells what the
peers refused when it was measured, so it is held only against the versions of `MEASURED`.
"""

from __future__ import annotations

import importlib.metadata
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from . import BAD, CASES, BadCase, Case, oracle, running
from .params import bad_cases, cases

MEASURED = {"onnx": "1.23.2", "onnxruntime": "1.32.0"}
each_case = pytest.mark.parametrize("case", cases())
Built = Callable[[Case], Path]


def succeeds(action: Callable[[], object]) -> str | None:
    """None, or why the action failed. What a peer warns of is not our concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except Exception as error:  # noqa: BLE001  peers raise what they like
            return f"{type(error).__name__}: {error}"
    return None


def hold(declared: bool, peer: str, action: Callable[[], object]) -> None:
    """Check that the peer's action succeeds or fails as declared."""
    version = importlib.metadata.version(peer)
    if not declared and version != MEASURED[peer]:
        pytest.skip(f"measured with {peer} {MEASURED[peer]}, this is {version}")
    failure = succeeds(action)
    if failure and version != MEASURED[peer]:
        pytest.skip(f"measured with {peer} {MEASURED[peer]}; {version} says {failure}")
    assert (failure is None) == declared, failure


@each_case
def test_checker_accepts_the_cases_that_say_so(case: Case, built: Built) -> None:
    path = str(built(case))
    hold(case.checker, "onnx", lambda: onnx.checker.check_model(path))


@each_case
def test_onnx_loads_the_cases_that_say_so(case: Case, built: Built) -> None:
    hold(case.onnx_load, "onnx", lambda: load_and_compare(built(case)))


def load_and_compare(path: Path) -> None:
    """Load the model with onnx; every tensor that it has loaded must be what the oracle read."""
    expected = oracle.tensors(path)
    for place, tensor in oracle.walk(onnx.load(path)):
        if tensor.data_location != TensorProto.EXTERNAL:
            assert oracle.content(tensor, path.parent) == expected[place], place


@each_case
def test_onnxruntime_runs_the_cases_that_say_so(case: Case, built: Built) -> None:
    path = built(case)

    def run() -> None:
        outputs = running.run(path)
        expected = running.run(oracle.inlined(path).SerializeToString())
        assert outputs
        assert running.same_outputs(outputs, expected)

    pytest.importorskip("onnxruntime")
    hold(case.runs, "onnxruntime", run)


@each_case
def test_in_place_means_regular_files_of_one_link_inside_the_folder(
    case: Case, built: Built
) -> None:
    path = built(case)
    folder = path.parent
    locations = {
        oracle.entries_of(tensor)["location"]
        for _, tensor in oracle.walk(oracle.parse(path))
        if tensor.data_location == TensorProto.EXTERNAL
    }
    files = [path, *(folder / location for location in locations)]
    plain = all(
        stat.S_ISREG(os.lstat(file).st_mode)
        and os.lstat(file).st_nlink == 1
        and folder.resolve() in file.resolve().parents
        for file in files
    )
    itself = any(os.path.samefile(path, file) for file in files[1:])
    assert case.in_place == (plain and not itself)


def test_every_dtype_of_onnx_has_a_case() -> None:
    named = set(TensorProto.DataType.keys()) - {"UNDEFINED", "STRING"}
    assert {f"dtype_{name}" for name in named} == {n for n in CASES if n.startswith("dtype_")}
    assert "strings" in CASES


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, size and first 64 KiB of everything in a folder; of a link, its target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISREG(status.st_mode):
            with path.open("rb") as file:
                content = file.read(65_536)
        elif stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        content = content.replace(os.fsencode(folder), b"<folder>")
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        found[str(path.relative_to(folder))] = (status.st_mode, size, content)
    return found


def test_builders_write_the_same_bytes_each_time(tmp_path: Path) -> None:
    """For each case in turn, in folders that are as long as each other."""
    blocks = 0
    everything: dict[str, Case | BadCase] = {**CASES, **BAD}
    for name, case in everything.items():
        if isinstance(case, BadCase) and case.needs_root and os.geteuid() != 0:
            continue
        folders = [tmp_path / f"{name}-{index}" for index in range(2)]
        for folder in folders:
            folder.mkdir()
            case.build(folder)
        first, second = map(tree, folders)
        assert first == second, name
        blocks += sum(path.lstat().st_blocks for path in folders[0].rglob("*"))
    assert blocks * 512 < 50_000_000


@pytest.mark.parametrize("bad", bad_cases())
def test_protobuf_parses_just_the_bad_cases_that_say_so(bad: BadCase, tmp_path: Path) -> None:
    path = bad.build(tmp_path)
    assert bad.wrong.endswith(".")
    if path.is_fifo():
        assert bad.blocks
        assert not bad.parses
    else:
        assert (succeeds(lambda: oracle.parse(path)) is None) == bad.parses


def test_the_corpus_never_imports_the_project() -> None:
    for path in Path(__file__).parent.glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        imports = [line for line in lines if line.lstrip().startswith(("import ", "from "))]
        assert not [line for line in imports if "onnx_align" in line], path

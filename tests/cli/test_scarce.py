"""Little of everything: descriptors, address space, no /proc, no home, nowhere to put a file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.corpus import oracle
from tests.corpus.build import external, showing, tensor, write

from .child import COMMAND, environment

FILES = 200
WITHOUT_PROC = ("unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh")


def many_files(folder: Path) -> Path:
    """A model with a data file for each of its tensors."""
    folder.mkdir()
    tensors = [tensor(f"w{number}", [500]) for number in range(FILES)]
    return write(folder, showing([external(one, folder, f"{one.name}.data") for one in tensors]))


def run(*arguments: str | Path, limits: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line from a shell that limits itself first."""
    return subprocess.run(
        ["sh", "-c", f'{limits}\nexec "$@"', "sh", *COMMAND, *arguments],
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("limits", ["ulimit -n 24", "ulimit -v 1000000"])
def test_many_data_files_need_few_descriptors_and_little_address_space(
    limits: str, tmp_path: Path
) -> None:
    model = many_files(tmp_path / "in")
    wanted = oracle.tensors(model)
    out, alone = tmp_path / "out.onnx", {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for arguments in (["align", str(model), str(out)], ["align", str(model), "--in-place"]):
        done = run(*arguments, limits=limits, **alone)
        assert done.returncode == 0, done.stderr
    done = run("verify", out, "--against", model, limits=limits, **alone)
    assert done.returncode == 0, done.stderr
    assert oracle.tensors(model) == oracle.tensors(out) == wanted


@pytest.mark.parametrize("most", [7, 8, 9])
def test_hardly_any_descriptors_are_enough_or_that_is_told_and_nothing_left(
    most: int, tmp_path: Path
) -> None:
    model, out = many_files(tmp_path / "in"), tmp_path / "out.onnx"
    done = run("align", model, out, limits=f"ulimit -n {most}")
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]
        assert oracle.tensors(out) == oracle.tensors(model)
    else:
        assert "Raise the limit of open files" in done.stderr
        assert os.listdir(tmp_path) == ["in"]


def test_too_few_descriptors_are_told_and_what_is_left_can_be_recovered(tmp_path: Path) -> None:
    model, out = many_files(tmp_path / "in"), tmp_path / "out.onnx"
    wanted = oracle.tensors(model)
    done = run("align", model, out, limits="ulimit -n 5")
    assert done.returncode in (3, 4), done.stderr
    assert "Traceback" not in done.stderr
    assert "Too many open files" in done.stderr
    assert run("recover", tmp_path).returncode == 0
    assert os.listdir(tmp_path) == ["in"]
    assert oracle.tensors(model) == wanted


def test_neither_a_home_nor_a_folder_for_temporaries_is_needed(tmp_path: Path) -> None:
    model = many_files(tmp_path / "in")
    nowhere = str(tmp_path / "nowhere")
    limits = "unset HOME USER LANG; LC_ALL=C; export LC_ALL"
    out = tmp_path / "out.onnx"
    for arguments in (["align", str(model), str(out)], ["inspect", str(model), "--digest"]):
        done = run(*arguments, limits=limits, TMPDIR=nowhere, XDG_CACHE_HOME=nowhere)
        assert done.returncode == 0, done.stderr
    assert oracle.tensors(model) == oracle.tensors(out)


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_a_locale_that_knows_no_letters_but_ascii_ends_nothing(
    command: str, tmp_path: Path
) -> None:
    model = many_files(tmp_path / "mod\u00e8les")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(command, model, **plain)
    assert done.returncode == 0, done.stderr
    done = run(command, tmp_path / "mod\u00e8les" / "no.onnx", **plain)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.needs_mount
def test_without_proc_a_model_is_repacked_and_strange_paths_are_refused(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*WITHOUT_PROC, "true"]).returncode:
        pytest.skip("needs unshare, and leave to unmount /proc")
    model = many_files(tmp_path / "in")
    (tmp_path / "secret").mkdir()
    graph = showing([external(tensor("w", [1000]), tmp_path / "secret", "s.data")])
    graph.initializer[0].external_data[0].value = "below/s.data"
    strange = write(tmp_path / "strange", graph, "strange.onnx")
    (tmp_path / "strange" / "below").symlink_to(tmp_path / "secret")

    def without(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [*WITHOUT_PROC, *COMMAND, *arguments]
        return subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )

    done = without("align", model, tmp_path / "out.onnx", "--verify")
    assert done.returncode == 0, done.stderr
    assert oracle.tensors(tmp_path / "out.onnx") == oracle.tensors(model)
    done = without("align", strange, tmp_path / "stolen.onnx")
    assert done.returncode == 3
    assert "leaves the model's folder" in done.stderr
    assert not (tmp_path / "stolen.onnx").exists()

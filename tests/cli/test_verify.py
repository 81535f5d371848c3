"""`onnx-align verify`: a line for a person, an object for a program, an exit code for a gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_pass import align_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.presets import PRESETS
from onnx_align_pass.verifying import verify_file
from tests.align.small_models import external_model
from tests.corpus import CASES
from tests.corpus.build import point, showing, tensor, write

from .child import run_child, tree

Capture = pytest.CaptureFixture[str]


def aligned(folder: Path, preset: str = "windows") -> Path:
    source = external_model(folder / "source" / "m.onnx")
    result = folder / "aligned" / "m.onnx"
    chosen = PRESETS[preset]
    align_file(source, result, storage=chosen.storage, layout=chosen.layout, durable=False)
    return result


def lines(capsys: Capture) -> list[str]:
    out, err = capsys.readouterr()
    assert err == ""
    return [line.rstrip() for line in out.splitlines() if not line.startswith("  time ")]


def test_a_model_that_is_whole_says_what_was_checked(tmp_path: Path, capsys: Capture) -> None:
    model = aligned(tmp_path)
    before = tree(tmp_path)
    other = tmp_path / "source" / "m.onnx"
    assert main(["verify", str(model), "--preset", "windows", "--against", str(other)]) == 0
    assert lines(capsys) == [
        f"ok       {model}",
        "  checked   bounds, overlap, sizes, preset windows, hazards, checker, against",
        "  tensors   3",
        "  compared  44.6 KiB in each model",
    ]
    assert tree(tmp_path) == before


def test_findings_are_shown_with_what_to_do_and_exit_with_1(
    tmp_path: Path, capsys: Capture
) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (301,), "b": (300,)})
    assert main(["verify", str(model), "-a", "4KiB"]) == 1
    out = lines(capsys)
    assert out[0] == f"FAILED   {model}"
    assert out[1] == (
        f"  error     misaligned: tensor 'b': {model}.data: it does not start on its boundary "
        "(needed a multiple of 4,096, found offset 1,204, 1,204 bytes past one)"
    )
    assert out[2].startswith("            `onnx-align align` with this layout")
    assert "  checked   bounds, overlap, sizes, layout, hazards, checker" in out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-a", "4"], 0),
        (["-a", "4096", "--align-threshold", "1MiB", "--small-alignment", "4"], 0),
        (["-a", "4096", "--align-threshold", "1MiB"], 1),
        (["--preset", "ort"], 1),
        (["--preset", "ort", "--small-alignment", "4", "--pad", "none"], 0),
        (["--preset", "ort", "--small-alignment", "8"], 1),
        (["--pad", "file", "-a", "4"], 0),
        (["--pad", "tensor", "-a", "4", "--small-alignment", "4"], 0),
        (["--pad", "file", "-a", "4096", "--align-threshold", "1202", "--small-alignment", "4"], 1),
    ],
)
def test_layout_options_say_how_the_model_should_lie(
    options: list[str], expected: int, tmp_path: Path, capsys: Capture
) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (301,), "b": (300,)})
    assert main(["verify", str(model), *options]) == expected, capsys.readouterr().out


def test_many_findings_of_a_kind_are_shown_in_part_and_given_whole(
    tmp_path: Path, capsys: Capture
) -> None:
    model = external_model(tmp_path / "m.onnx", {f"w{index}": (301,) for index in range(50)})
    assert main(["verify", str(model), "-a", "4096"]) == 1
    out = lines(capsys)
    assert sum("misaligned: tensor" in line for line in out) == 12
    assert sum("`onnx-align align` with" in line for line in out) == 1
    assert "            misaligned: 37 more (all of them with --json)" in out
    assert main(["verify", str(tmp_path), "-a", "4096"]) == 1
    out = lines(capsys)
    assert sum("misaligned: tensor" in line for line in out) == 3
    assert "            misaligned: 46 more (all of them with --json)" in out
    assert main(["verify", str(model), "-a", "4096", "--json"]) == 1
    values = json.loads(capsys.readouterr().out)
    assert len(values["models"][0]["findings"]) == 49


def test_a_folder_is_a_line_for_each_model_and_a_summary(tmp_path: Path, capsys: Capture) -> None:
    good, bad = aligned(tmp_path), tmp_path / "aligned" / "z.onnx"
    bad.write_bytes(b"no model")
    assert main(["verify", str(tmp_path / "aligned"), "--preset", "windows"]) == 1
    out = lines(capsys)
    assert out[0] == f"ok       {good}"
    assert out[1] == f"FAILED   {bad}"
    assert out[2].startswith(f"  error     not-a-model: {bad}: ")
    assert out[4:] == [
        "checked 2 models: 1 ok, 1 failed",
        "  checked   bounds, overlap, sizes, preset windows, hazards, checker",
        "  findings  1 error, 0 warnings",
    ]


def test_a_folder_of_whole_models_passes_the_gate(tmp_path: Path, capsys: Capture) -> None:
    aligned(tmp_path)
    assert main(["verify", str(tmp_path / "aligned"), "--preset", "windows", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["verify", str(tmp_path), "--preset", "windows", "-q"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_the_object_is_that_of_the_core(tmp_path: Path, capsys: Capture) -> None:
    model = aligned(tmp_path)
    other = tmp_path / "source" / "m.onnx"
    assert main(["verify", str(model), "--against", str(other), "--show-digest", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    values = json.loads(out)
    expected = verify_file(model, against=other, with_digest=True).to_json()
    for each in (values, expected):
        del each["totals"]["seconds"], each["models"][0]["seconds"]
    assert values == expected
    assert values["models"][0]["digest"] == digest_of(other)


def test_a_warning_counts_when_it_is_strict(tmp_path: Path, capsys: Capture) -> None:
    model = CASES["prepacked"].build(tmp_path)
    assert main(["verify", str(model)]) == 0
    out = lines(capsys)
    assert out[0].startswith("ok ")
    assert out[1].startswith("  warning   prepacked-key: tensor 'w0'")
    assert main(["verify", str(model), "--strict"]) == 1
    assert lines(capsys)[0].startswith("FAILED ")
    assert main(["verify", str(tmp_path)]) == 0
    out = lines(capsys)
    assert out[1:] == [
        "  warnings  prepacked-key, dead-bytes",
        "checked 1 model: 1 ok, 0 failed",
        "  checked   bounds, overlap, sizes, hazards, checker",
        "  findings  0 errors, 2 warnings",
        "            Verify a model by itself, or with --json, to see what its warnings say.",
    ]
    assert main(["verify", str(tmp_path), "--strict"]) == 1
    out = lines(capsys)
    assert out[1].startswith("  warning   prepacked-key: tensor 'w0'")
    assert out[-1] == "  findings  0 errors, 2 warnings"
    assert main(["verify", str(model), "--strict", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["totals"]["warnings"] == 2


def test_errors_come_before_warnings_and_no_kind_hides_another(
    tmp_path: Path, capsys: Capture
) -> None:
    names = [f"x..{index}" for index in range(40)]  # each gives a warning, its tensor an error
    made = [point(tensor(name, [3]), [("location", name), ("offset", "4")]) for name in names]
    for name in names:
        (tmp_path / name).write_bytes(bytes(16))
    keys = [("location", names[0]), ("location", names[0]), ("odd", "1"), ("prepacked", "1")]
    made.append(point(tensor("key", [3]), keys))
    made.append(point(tensor("gone", [3]), [("location", "gone")]))
    model = write(tmp_path, showing(made))
    assert main(["verify", str(model), "-a", "64"]) == 1
    out = lines(capsys)
    assert [line.split(":")[0].split() for line in out if line[2] != " "][1:-2] == [
        ["error", "data-file-missing"],
        ["error", "overlap"],
        *[["error", "misaligned"]] * 4,
        ["warning", "unknown-key"],
        ["warning", "prepacked-key"],
        ["warning", "key-twice"],
        ["warning", "length-absent"],
        ["warning", "offset-absent"],
        ["warning", "dots-in-location"],
    ]
    assert "            dots-in-location: 39 more (all of them with --json)" in out
    assert "            and dead-bytes (39) (all of them with --json)" in out
    assert len(out) < 32


def test_a_digest_is_shown_and_taken_back(tmp_path: Path, capsys: Capture) -> None:
    model = aligned(tmp_path)
    assert main(["verify", str(model), "--show-digest"]) == 0
    (line,) = [line for line in lines(capsys) if line.startswith("  digest ")]
    source = str(tmp_path / "source" / "m.onnx")
    assert main(["verify", source, "--digest", line.split()[1].upper()]) == 0
    assert main(["verify", str(tmp_path / "source"), "--show-digest"]) == 0
    assert line in lines(capsys)
    assert main(["verify", source, "--digest", "0" * 64]) == 1
    assert "digest-differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ["--digest", "abc"],
        ["--preset", "nothing"],
        ["-a", "3"],
        ["-a", "big"],
        ["--pad", "x"],
        ["--against", ""],
    ],
)
def test_what_cannot_be_asked_is_usage(options: list[str], tmp_path: Path, capsys: Capture) -> None:
    model = external_model(tmp_path / "m.onnx")
    assert main(["verify", str(model), *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")


def test_other_models_that_are_not_there_are_models_that_are_missing(
    tmp_path: Path, capsys: Capture
) -> None:
    model = external_model(tmp_path / "m.onnx")
    assert main(["verify", str(model), "--against", str(tmp_path / "gone.onnx")]) == 3
    assert "gone.onnx" in capsys.readouterr().err


def test_no_bar_is_drawn_where_there_is_no_terminal(tmp_path: Path) -> None:
    model = aligned(tmp_path)
    done = run_child("verify", model, "--against", tmp_path / "source")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ok       ")


def test_a_finding_is_an_exit_code_of_the_process(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (301,), "b": (300,)})
    done = run_child("verify", model, "-a", "4096")
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAILED" in done.stdout

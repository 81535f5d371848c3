"""Who may import whom: the house of the design, held against the source."""

from __future__ import annotations

import ast
import sys

import pytest

from .source import imports_of, modules, reachable, roots

ALL = sorted(modules())
CORE = [name for name in ALL if name.startswith("onnx_align_pass")]
HEAVY = {"onnx", "numpy", "onnx_ir", "onnxscript", "torch", "onnxruntime", "google", "ml_dtypes"}
GROUND_FLOOR = {
    f"onnx_align_pass.{name}"
    for name in (
        *("checks", "cures", "dtypes", "errors", "findings", "policy", "presets", "printable"),
        *(
            "progress",
            "report",
            "rule_words",
            "rules",
            "rules_text",
            "spans",
            "spelling",
            "tensors",
        ),
        *("units", "verify_report"),
    )
}
ONNX_OUTSIDE_MODEL = (
    *("prepare", "ir.prepare", "loading", "references", "inspection", "mending", "bench", "hooks"),
)
"""Beside `model`, who may name onnx: for types, to measure, to export."""
ABOVE_PASSES = tuple(
    f"onnx_align_pass.{name}"
    for name in ("align", "saving", "ir", "loading", "pipeline", "with_passes", "hooks", "origin")
)
"""What stands on the room of passes; a pass of these is named, and loaded when it is used."""
OPTIONAL = ("onnx_align_pass.bench", "onnx_align_pass.hooks")
"""The bench is a program of its own; both import what they measure or hook into, if it is there."""
MAY_IMPORT_ALIGN = (
    *("onnx_align_pass", "onnx_align_pass.bench", "onnx_align_pass.hooks"),
    "onnx_align_cli",
)
"""The composition root is the top of the house: nothing stands on it but these."""


def room(name: str) -> list[str]:
    return [one for one in CORE if one.startswith(f"onnx_align_pass.{name}")]


def is_in(module: str, *rooms: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in rooms)


def test_the_source_is_found() -> None:
    assert {"onnx_align_pass", "onnx_align_pass.model.wire", "onnx_align_cli.app"} <= set(ALL)
    assert "onnx_align_pass.spans" in imports_of("onnx_align_pass.layout.planner")
    assert "onnx" in roots("onnx_align_pass.model.walk")


@pytest.mark.parametrize("module", room("layout"))
def test_layout_is_arithmetic_alone(module: str) -> None:
    banned = HEAVY | {"os", "io", "pathlib", "time", "random", "logging", "mmap", "fcntl", "shutil"}
    assert not roots(module) & banned
    assert not [one for one in imports_of(module) if is_in(one, "onnx_align_pass.transfer")]
    assert not [one for one in imports_of(module) if is_in(one, "onnx_align_pass.model")]


@pytest.mark.parametrize("module", room("transfer"))
def test_transfer_knows_descriptors_and_no_graph(module: str) -> None:
    assert not roots(module) & HEAVY
    upstairs = [f"onnx_align_pass.{one}" for one in ("model", "layout", "passes", "prepare")]
    assert not [one for one in imports_of(module) if is_in(one, *upstairs)]


@pytest.mark.parametrize("module", [*room("passes"), *room("registry")])
def test_the_passes_know_the_ir_and_nothing_above_them(module: str) -> None:
    assert not roots(module) & (HEAVY - {"onnx_ir", "onnxscript", "numpy"})
    assert not [one for one in imports_of(module) if is_in(one, *ABOVE_PASSES)]
    at_import = {one.partition(".")[0] for one in imports_of(module, at_import_only=True)}
    assert "onnxscript" not in at_import


@pytest.mark.parametrize("module", [one for one in CORE if one.split(".")[1:2] != ["model"]])
def test_only_the_model_room_knows_onnx(module: str) -> None:
    allowed = [f"onnx_align_pass.{one}" for one in ONNX_OUTSIDE_MODEL]
    assert "onnx" not in roots(module) or is_in(module, *allowed)


@pytest.mark.parametrize("module", CORE)
def test_nothing_but_the_command_line_knows_typer_or_rich(module: str) -> None:
    assert not roots(module) & {"typer", "rich", "click", "onnx_align_cli"}


@pytest.mark.parametrize("module", ALL)
def test_nothing_imports_click_which_typer_carries_inside(module: str) -> None:
    assert "click" not in roots(module)


@pytest.mark.parametrize("module", ALL)
def test_nothing_stands_on_the_composition_root(module: str) -> None:
    if "onnx_align_pass.align" in imports_of(module):
        assert module == "onnx_align_pass" or is_in(module, *MAY_IMPORT_ALIGN[1:])


@pytest.mark.parametrize("module", [one for one in CORE if one in GROUND_FLOOR])
def test_the_ground_floor_stands_on_itself(module: str) -> None:
    assert {one for one in imports_of(module) if is_in(one, "onnx_align_pass")} <= GROUND_FLOOR
    assert not roots(module) & HEAVY


def test_the_file_route_knows_neither_the_ir_nor_an_exporter() -> None:
    used = reachable("onnx_align_pass.align")
    assert "onnx_align_pass.transfer.engine" in used
    for module in used:
        assert not roots(module) & {"onnx_ir", "onnxscript", "torch", "optimum", "olive"}, module


def test_no_two_modules_import_each_other() -> None:
    """Whatever one imports when it is imported never leads back to it."""
    for module in ALL:
        seen: set[str] = set()
        waiting = list(imports_of(module, at_import_only=True))
        while waiting:
            one = waiting.pop()
            if one in modules() and one not in seen:
                seen.add(one)
                waiting += imports_of(one, at_import_only=True)
        assert module not in seen, module


@pytest.mark.parametrize("module", [one for one in CORE if not is_in(one, *OPTIONAL)])
def test_only_declared_dependencies_are_imported(module: str) -> None:
    declared = {"onnx", "onnxscript", "onnx_ir", "numpy", "google"}
    others = roots(module) - set(sys.stdlib_module_names) - declared
    assert others <= {"onnx_align_pass"}


@pytest.mark.parametrize("module", [one for one in CORE if not is_in(one, *OPTIONAL[:1])])
def test_the_core_prints_nothing(module: str) -> None:
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not [one for one in calls if isinstance(one, ast.Name) and one.id in ("print", "input")]

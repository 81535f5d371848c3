"""The text and the JSON of a plan, word for word.

`ONNX_ALIGN_REGENERATE=1 pytest tests/layout/test_golden.py` writes them anew; read the difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import LayoutPolicy, StoragePolicy, plan_file, plan_json, plan_text
from onnx_align_pass.layout.plan import LayoutPlan
from tests.corpus import CASES

GOLDEN = Path(__file__).parent / "golden"
EVERYTHING = StoragePolicy(size_threshold_bytes=1, external=(".*",))
SHARDED = LayoutPolicy(
    alignment=4096,
    align_threshold=1000,
    small_alignment=64,
    pad="file",
    max_shard_size_bytes=6000,
    data_name="{stem}_data.bin",
)
SAFETENSORS = LayoutPolicy(alignment=256, pad="tensor", data_name="{stem}.safetensors")
LIMITED = LayoutPolicy(
    alignment=16, max_shard_size_bytes=1000, max_file_bytes=6000, data_name="{model}_data{_n}"
)
Planner = Callable[[Path], LayoutPlan]

PLANS: dict[str, tuple[str, Planner]] = {
    "mixed": ("mixed", plan_file),
    "subgraphs": ("if_branches", plan_file),
    "functions": ("function_constants", plan_file),
    "sparse": ("sparse_external", plan_file),
    "training": ("training_external", plan_file),
    "tied": ("tied", plan_file),
    "typed-fields": ("dtype_UINT32", plan_file),
    "notes": ("checksum", plan_file),
    "names": ("tensor_names_control", plan_file),
    "not-utf8": ("tensor_name_not_utf8", plan_file),
    "everything-packed": (
        "dtype_FLOAT16",
        lambda path: plan_file(
            path, storage=EVERYTHING, layout=LayoutPolicy(alignment=1, element_floor=True)
        ),
    ),
    "sharded": ("mixed", lambda path: plan_file(path, storage=EVERYTHING, layout=SHARDED)),
    "safetensors": ("tied", lambda path: plan_file(path, storage=EVERYTHING, layout=SAFETENSORS)),
    "limits": ("mixed", lambda path: plan_file(path, layout=LIMITED)),
    "in-place": ("location_nested", lambda path: plan_file(path, in_place=True)),
}
"""A model of the corpus and how it is planned, by the name of the golden files."""


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_reads_as_it_did(name: str, tmp_path: Path) -> None:
    case, planner = PLANS[name]
    plan = planner(CASES[case].build(tmp_path))
    assert_golden(GOLDEN / f"{name}.txt", plan_text(plan))
    assert_golden(GOLDEN / f"{name}.json", json.dumps(plan_json(plan), indent=1) + "\n")


def assert_golden(path: Path, text: str) -> None:
    if os.environ.get("ONNX_ALIGN_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(PLANS)


CHILD = """
import json, sys
from pathlib import Path
from onnx_align_pass import plan_file, plan_json, plan_text

for name in sys.argv[1:]:
    plan = plan_file(name)
    sys.stdout.write(plan_text(plan) + json.dumps(plan_json(plan)) + "\\n")
"""


def test_the_text_is_the_same_in_another_process_and_another_folder(tmp_path: Path) -> None:
    names = [case for case, planner in PLANS.values() if planner is plan_file]
    paths = []
    for name in names:
        (tmp_path / name).mkdir()
        paths.append(CASES[name].build(tmp_path / name))
    plans = [plan_file(path) for path in paths]
    here = "".join(f"{plan_text(plan)}{json.dumps(plan_json(plan))}\n" for plan in plans)
    for seed, folder in (("1", tmp_path), ("2", tmp_path / "mixed")):
        spelled = [os.path.relpath(path, folder) for path in paths]
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *spelled],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode() == here


def test_a_plan_has_no_path_of_the_machine_in_it(tmp_path: Path) -> None:
    for case, planner in PLANS.values():
        folder = tmp_path / case
        folder.mkdir(exist_ok=True)
        plan = planner(CASES[case].build(folder))
        assert str(tmp_path) not in plan_text(plan) + json.dumps(plan_json(plan))

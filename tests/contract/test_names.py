"""What is listed exists, and what exists is listed."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import onnx_align_pass
from onnx_align_pass import errors

from .source import PACKAGE, modules

PUBLIC = [
    name
    for name in sorted(modules())
    if name.startswith("onnx_align_pass.")
    and not any(part.startswith("_") for part in name.split("."))
    and not name.startswith(("onnx_align_pass.bench", "onnx_align_pass.hooks"))
]
CONTRACT = {
    "align_external_data_streaming",
    "align_file",
    "plan_file",
    "StoragePolicy",
    "LayoutPolicy",
    "AlignError",
}
"""Names of section 4 of the design that exist; the list grows with the project."""


def test_dir_is_all() -> None:
    assert dir(onnx_align_pass) == sorted(onnx_align_pass.__all__)
    assert len(set(onnx_align_pass.__all__)) == len(onnx_align_pass.__all__)
    assert set(onnx_align_pass.__all__) >= CONTRACT


@pytest.mark.parametrize("name", onnx_align_pass.__all__)
def test_every_name_of_the_contract_can_be_imported(name: str) -> None:
    value = getattr(onnx_align_pass, name)
    assert value is getattr(onnx_align_pass, name)
    home = getattr(value, "__module__", "onnx_align_pass")
    assert home.startswith("onnx_align_pass")


def test_no_name_is_that_of_a_module_which_would_take_its_place_when_it_is_imported() -> None:
    inside = {name.split(".")[1] for name in modules() if name.startswith("onnx_align_pass.")}
    assert "loading" in inside
    assert not inside & set(onnx_align_pass.__all__)


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = onnx_align_pass.nothing


def test_names_for_type_checkers_are_those_that_are_imported_when_used() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {
        name: f"onnx_align_pass.{module}" for name, module in onnx_align_pass._MODULE_OF.items()
    }
    assert typed == lazy
    assert set(lazy) | {"__version__"} == set(onnx_align_pass.__all__)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_module_lists_what_it_offers(module: str) -> None:
    found = importlib.import_module(module)
    if Path(found.__file__ or "").name == "__init__.py":
        return  # a room: its modules are the offer
    listed = found.__all__
    assert len(set(listed)) == len(listed)
    assert all(hasattr(found, name) for name in listed)
    assert not [name for name in listed if name.startswith("_")]


@pytest.mark.parametrize("module", PUBLIC)
def test_no_module_takes_what_another_does_not_list(module: str) -> None:
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "") in modules():
            other = importlib.import_module(str(node.module))
            for alias in node.names:
                assert not alias.name.startswith("_") or alias.name == "__version__", alias.name
                assert hasattr(other, alias.name)


def test_every_error_is_in_one_tree_and_is_part_of_the_contract() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.AlignError)
        assert name in onnx_align_pass.__all__


def test_the_version_is_one() -> None:
    parts = onnx_align_pass.__version__.split(".")
    assert len(parts) >= 3
    assert all(part.isdigit() for part in parts[:2])


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()

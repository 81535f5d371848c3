"""The calls that others build on, word for word."""

from __future__ import annotations

import inspect
from dataclasses import fields

import onnx_ir as ir
import pytest

import onnx_align_pass
from onnx_align_pass import LayoutPolicy, StoragePolicy, TagExternalDataPass, WriteAlignedPass
from onnx_align_pass.progress import SILENT

Parameters = list[tuple[str, str, object]]
NONE = inspect.Parameter.empty
POLICIES = [("storage", "keyword", StoragePolicy()), ("layout", "keyword", LayoutPolicy())]

SIGNATURES: dict[str, tuple[Parameters, str]] = {
    "align_external_data_streaming": (
        [
            ("src_onnx_path", "any", NONE),
            ("dst_onnx_path", "any", NONE),
            ("dst_weights_path", "any", NONE),
            ("alignment", "any", 4096),
            ("chunk_size", "any", 4 * 1024 * 1024),
            ("durable", "keyword", True),
        ],
        "int",
    ),
    "align_file": (
        [
            ("source", "any", NONE),
            ("destination", "any", None),
            *POLICIES,
            ("progress", "keyword", SILENT),
            ("verify", "keyword", False),
            ("overwrite", "keyword", False),
            ("keep_old_data", "keyword", False),
            ("durable", "keyword", True),
            ("allow_hard_links", "keyword", False),
        ],
        "AlignReport",
    ),
    "load": (
        [
            ("path", "any", NONE),
            ("allow_loss", "keyword", False),
            ("allow_hard_links", "keyword", False),
        ],
        "ir.Model",
    ),
    "save_shared": (
        [
            ("model", "any", NONE),
            ("path", "any", NONE),
            ("external_data", "keyword", None),
            ("storage", "keyword", None),
            ("layout", "keyword", None),
            ("progress", "keyword", SILENT),
            ("verify", "keyword", False),
            ("force", "keyword", False),
            ("durable", "keyword", True),
        ],
        "AlignReport",
    ),
    "plan_file": (
        [
            ("source", "any", NONE),
            *POLICIES,
            ("in_place", "keyword", False),
            ("allow_hard_links", "keyword", False),
        ],
        "LayoutPlan",
    ),
}
KINDS: dict[inspect._ParameterKind, str] = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_call_of_the_contract_has_its_signature(name: str) -> None:
    parameters, returns = SIGNATURES[name]
    signature = inspect.signature(getattr(onnx_align_pass, name))
    found = [(one.name, KINDS[one.kind], one.default) for one in signature.parameters.values()]
    assert found == parameters
    assert signature.return_annotation == returns


def test_save_takes_the_keywords_of_onnx_ir_save() -> None:
    ours = inspect.signature(onnx_align_pass.save).parameters
    theirs = inspect.signature(ir.save).parameters
    assert list(theirs)[:2] == list(ours)[:2] == ["model", "path"]
    assert set(theirs) <= set(ours)
    own = {"storage", "layout", "progress", "verify", "force", "keep_old_data", "durable"}
    newer = {"max_workers", "max_in_flight_bytes", "alignment", "align_threshold"}
    assert set(ours) - set(theirs) - newer == own
    assert all(one.kind is one.KEYWORD_ONLY for one in list(ours.values())[2:])


def test_the_passes_and_the_pipeline_have_their_fields() -> None:
    assert [one.name for one in fields(TagExternalDataPass)] == ["storage"]
    shown = [one.name for one in fields(WriteAlignedPass) if one.init]
    assert shown[:4] == ["path", "storage", "layout", "rebind"]
    parameters = inspect.signature(onnx_align_pass.align_pipeline).parameters
    assert list(parameters)[:4] == ["path", "before", "storage", "layout"]
    assert parameters["before"].default == ()


def test_storage_policy_has_its_fields_and_defaults() -> None:
    assert {one.name: one.default for one in fields(StoragePolicy)} == {
        "size_threshold_bytes": 1024,
        "convert_attribute": True,
        "external": (),
        "inline": (),
        "external_if": None,
        "inline_if": None,
        "rules": (),
    }


def test_layout_policy_has_its_fields_and_defaults() -> None:
    assert {one.name: one.default for one in fields(LayoutPolicy)} == {
        "alignment": 4096,
        "align_threshold": 0,
        "small_alignment": 64,
        "element_floor": False,
        "pad": "none",
        "max_shard_size_bytes": None,
        "max_file_bytes": None,
        "max_files": None,
        "data_name": None,
        "dedupe": False,
    }


def test_a_call_documents_each_of_its_parameters() -> None:
    for name, (parameters, _) in SIGNATURES.items():
        text = inspect.getdoc(getattr(onnx_align_pass, name)) or ""
        for parameter, _, _ in parameters:
            assert f"    {parameter}: " in text, f"{name}: {parameter}"

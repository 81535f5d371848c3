"""Repack the external data of ONNX models: aligned, streamed, crash-safe.

Everything that others may build on is listed in `__all__`; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onnx_align_pass._version import __version__

if TYPE_CHECKING:
    from onnx_align_pass.align import align_external_data_streaming, align_file, plan_file
    from onnx_align_pass.digesting import digest_of
    from onnx_align_pass.errors import (
        AlignError,
        BrokenModelError,
        BrokenPassError,
        DataFileSharedError,
        DestinationError,
        DestinationExistsError,
        DestinationIsSourceError,
        DiskFullError,
        ExpansionError,
        ExternalDataError,
        FileLimitError,
        LossyLoadError,
        MissingExporterError,
        ModelError,
        ModelNotFoundError,
        PassFailedError,
        PassOptionError,
        PassTextError,
        PlanError,
        PolicyError,
        PresetError,
        RuleTextError,
        ShortSourceError,
        SizeError,
        SourceChangedError,
        SpanError,
        TensorError,
        UninitializedTensorError,
        UnknownPassError,
        UnsafeDataFileError,
        UsageError,
        VerifyError,
        WriteError,
    )
    from onnx_align_pass.findings import Finding
    from onnx_align_pass.inlining import inline_file
    from onnx_align_pass.inspecting import inspect_file, inspect_folder
    from onnx_align_pass.inspection.report import (
        DataFileReport,
        ModelReport,
        PresetReport,
        TensorReport,
    )
    from onnx_align_pass.layout.plan import LayoutPlan
    from onnx_align_pass.layout.render import plan_json, plan_text
    from onnx_align_pass.loading import load
    from onnx_align_pass.passes.tag_external import TagExternalDataPass
    from onnx_align_pass.passes.tags import decision_of, tag_tensor
    from onnx_align_pass.pipeline import WriteAlignedPass, align_pipeline
    from onnx_align_pass.policy import LayoutPolicy, StorageDecision, StoragePolicy
    from onnx_align_pass.presets import PRESETS, Preset
    from onnx_align_pass.progress import Progress
    from onnx_align_pass.pruning import PrunedFile, PruneReport, prune_file
    from onnx_align_pass.recovering import Leftover, recover_folder
    from onnx_align_pass.registry.listing import list_passes
    from onnx_align_pass.registry.presets import PresetInfo, find_preset, list_presets
    from onnx_align_pass.registry.spec import parse_pass, pass_text
    from onnx_align_pass.rename_report import RenamedFile, RenameReport
    from onnx_align_pass.renaming import rename_file
    from onnx_align_pass.repair_report import Repair, RepairReport
    from onnx_align_pass.repairing import find_repairs, repair_file
    from onnx_align_pass.report import AlignReport, DataFile, ModelAlignment
    from onnx_align_pass.rules import Rule
    from onnx_align_pass.rules_text import parse_rule, rule_text
    from onnx_align_pass.saving import save, save_shared
    from onnx_align_pass.shared import align_shared
    from onnx_align_pass.tensors import TensorFacts
    from onnx_align_pass.verify_report import ModelVerification, VerifyReport
    from onnx_align_pass.verifying import verify_file

_HOME = {
    "align": ("align_external_data_streaming", "align_file", "plan_file"),
    "digesting": ("digest_of",),
    "errors": (
        "AlignError",
        "BrokenModelError",
        "BrokenPassError",
        "DataFileSharedError",
        "DestinationError",
        "DestinationExistsError",
        "DestinationIsSourceError",
        "DiskFullError",
        "ExpansionError",
        "ExternalDataError",
        "FileLimitError",
        "LossyLoadError",
        "MissingExporterError",
        "ModelError",
        "ModelNotFoundError",
        "PassFailedError",
        "PassOptionError",
        "PassTextError",
        "PlanError",
        "PolicyError",
        "PresetError",
        "RuleTextError",
        "ShortSourceError",
        "SizeError",
        "SourceChangedError",
        "SpanError",
        "TensorError",
        "UninitializedTensorError",
        "UnknownPassError",
        "UnsafeDataFileError",
        "UsageError",
        "VerifyError",
        "WriteError",
    ),
    "findings": ("Finding",),
    "inlining": ("inline_file",),
    "inspecting": (
        "inspect_file",
        "inspect_folder",
    ),
    "inspection.report": (
        "DataFileReport",
        "ModelReport",
        "PresetReport",
        "TensorReport",
    ),
    "layout.plan": ("LayoutPlan",),
    "layout.render": ("plan_json", "plan_text"),
    "loading": ("load",),
    "passes.tag_external": ("TagExternalDataPass",),
    "passes.tags": ("decision_of", "tag_tensor"),
    "pipeline": ("WriteAlignedPass", "align_pipeline"),
    "policy": ("LayoutPolicy", "StorageDecision", "StoragePolicy"),
    "presets": ("PRESETS", "Preset"),
    "progress": ("Progress",),
    "pruning": (
        "PruneReport",
        "PrunedFile",
        "prune_file",
    ),
    "registry.listing": ("list_passes",),
    "registry.presets": ("PresetInfo", "find_preset", "list_presets"),
    "registry.spec": ("parse_pass", "pass_text"),
    "rename_report": (
        "RenameReport",
        "RenamedFile",
    ),
    "renaming": ("rename_file",),
    "repair_report": (
        "Repair",
        "RepairReport",
    ),
    "repairing": (
        "find_repairs",
        "repair_file",
    ),
    "report": ("AlignReport", "DataFile", "ModelAlignment"),
    "rules": ("Rule",),
    "rules_text": ("parse_rule", "rule_text"),
    "saving": ("save", "save_shared"),
    "shared": ("align_shared",),
    "tensors": ("TensorFacts",),
    "recovering": ("Leftover", "recover_folder"),
    "verify_report": (
        "ModelVerification",
        "VerifyReport",
    ),
    "verifying": ("verify_file",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PRESETS",
    "AlignError",
    "AlignReport",
    "BrokenModelError",
    "BrokenPassError",
    "DataFile",
    "DataFileReport",
    "DataFileSharedError",
    "DestinationError",
    "DestinationExistsError",
    "DestinationIsSourceError",
    "DiskFullError",
    "ExpansionError",
    "ExternalDataError",
    "FileLimitError",
    "Finding",
    "LayoutPlan",
    "LayoutPolicy",
    "Leftover",
    "LossyLoadError",
    "MissingExporterError",
    "ModelAlignment",
    "ModelError",
    "ModelNotFoundError",
    "ModelReport",
    "ModelVerification",
    "PassFailedError",
    "PassOptionError",
    "PassTextError",
    "PlanError",
    "PolicyError",
    "Preset",
    "PresetError",
    "PresetInfo",
    "PresetReport",
    "Progress",
    "PruneReport",
    "PrunedFile",
    "RenameReport",
    "RenamedFile",
    "Repair",
    "RepairReport",
    "Rule",
    "RuleTextError",
    "ShortSourceError",
    "SizeError",
    "SourceChangedError",
    "SpanError",
    "StorageDecision",
    "StoragePolicy",
    "TagExternalDataPass",
    "TensorError",
    "TensorFacts",
    "TensorReport",
    "UninitializedTensorError",
    "UnknownPassError",
    "UnsafeDataFileError",
    "UsageError",
    "VerifyError",
    "VerifyReport",
    "WriteAlignedPass",
    "WriteError",
    "__version__",
    "align_external_data_streaming",
    "align_file",
    "align_pipeline",
    "align_shared",
    "decision_of",
    "digest_of",
    "find_preset",
    "find_repairs",
    "inline_file",
    "inspect_file",
    "inspect_folder",
    "list_passes",
    "list_presets",
    "load",
    "parse_pass",
    "parse_rule",
    "pass_text",
    "plan_file",
    "plan_json",
    "plan_text",
    "prune_file",
    "recover_folder",
    "rename_file",
    "repair_file",
    "rule_text",
    "save",
    "save_shared",
    "tag_tensor",
    "verify_file",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

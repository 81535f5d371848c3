"""The call that checks models as they lie, and against others."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.errors import ModelError, UsageError, VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.references import References
from onnx_align_pass.repack_folder import models_below
from onnx_align_pass.verify_model import Asked, verify_model
from onnx_align_pass.verify_report import ModelVerification, VerifyReport

__all__ = ["verify_file"]


def verify_file(
    path: StrPath,
    *,
    layout: LayoutPolicy | None = None,
    storage: StoragePolicy | None = None,
    against: StrPath | None = None,
    digest: str | None = None,
    with_digest: bool = False,
    progress: Progress = SILENT,
    allow_hard_links: bool = False,
) -> VerifyReport:
    """Check a model as it lies: its graph is valid to onnx, and every tensor can be read.

    Nothing is written, and memory is the metadata. Weights are read only where they are compared
    or hashed: for `against`, for a digest, and for a `checksum` that the model itself gives. Small
    gaps between them are read too.

    Args:
        path: A model, or a folder: every model in it. One that is no model, or that changes
            meanwhile, is a finding then.
        layout: How its data files should lie.
        storage: Which of its tensors should be in data files.
        against: Another model that should hold the same, in whatever layout: every byte and every
            field. For a folder, a folder with models of the same names.
        digest: The content digest that it should have; see `digest_of`.
        with_digest: Compute the digest also where there is none to compare it with.
        progress: Told of the bytes that are read.
        allow_hard_links: See `align_file`.

    Raises:
        UsageError: `digest` is no digest, or what was asked does not fit together.
        ModelError: The model is no model at all; or it, or its data, changed meanwhile.
    """
    model = given_path(path)
    other = None if against is None else given_path(against, "against")
    asked = Asked(
        layout,
        storage,
        _plain_digest(digest),
        with_digest,
        progress,
        References(),
        allow_hard_links,
    )
    if os.path.isdir(model):
        return _verify_folder(model, other, asked)
    if other is not None and os.path.isdir(other):
        other = other / model.name
    return VerifyReport((verify_model(model, other, asked),))


def _plain_digest(given: str | None) -> str | None:
    if given is None:
        return None
    text = given.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise UsageError(
            f"{given[:80]!r} is not a digest",
            needed="64 hexadecimal digits",
            hint="`onnx-align verify MODEL --show-digest` says what a model's digest is.",
        )
    return text


def _verify_folder(folder: Path, other: Path | None, asked: Asked) -> VerifyReport:
    if asked.digest is not None:
        raise UsageError(
            "a digest is that of one model", file=folder, hint="Name the model, not its folder."
        )
    if other is not None and not os.path.isdir(other):
        raise UsageError(
            "a folder can be compared only with a folder", file=other, hint="Name a folder."
        )
    models = models_below(folder)
    theirs = [] if other is None else [one.relative_to(other) for one in models_below(other)]
    done = [_in_folder(model, folder, other, asked) for model in models]
    lost = [folder / name for name in theirs if folder / name not in models]
    return VerifyReport((*done, *(_lost(model, folder, other) for model in lost)))


def _in_folder(model: Path, folder: Path, other: Path | None, asked: Asked) -> ModelVerification:
    match = None if other is None else other / model.relative_to(folder)
    extra = match is not None and not os.path.lexists(match)
    try:
        done = verify_model(model, None if extra else match, asked)
    except ModelError as error:
        done = ModelVerification(model, (Finding.of("error", error),))
    if not extra:
        return done
    lone = VerifyError(
        "the other folder has no model of this name",
        file=model,
        needed=f"{match}",
        hint="Compare the folders' contents.",
        code="model-extra",
    )
    return replace(done, findings=(*done.findings, Finding.of("error", lone)))


def _lost(model: Path, folder: Path, other: Path | None) -> ModelVerification:
    error = VerifyError(
        "the model is missing",
        file=model,
        needed=f"the counterpart of {other / model.relative_to(folder)}" if other else None,
        hint="Compare the folders' contents.",
        code="model-missing",
    )
    return ModelVerification(model, (Finding.of("error", error),))

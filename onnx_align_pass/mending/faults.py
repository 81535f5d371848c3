"""What cannot be mended, in words that say why."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import onnx

from onnx_align_pass.errors import (
    ExternalDataError,
    ModelError,
    ShortSourceError,
    SourceChangedError,
    TensorError,
    UnsafeDataFileError,
)
from onnx_align_pass.findings import Finding
from onnx_align_pass.mending.marks import held
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import pread

__all__ = ["fault_of", "no_padding", "overlapping", "unsized_bytes"]

_LFS: Final = b"version https://git-lfs"
_CODES: Final = (
    (ShortSourceError, "data-file-too-short"),
    (UnsafeDataFileError, "data-file-unsafe"),
    (SourceChangedError, "file-changed"),
    (ExternalDataError, "bad-entry"),
    (TensorError, "bad-tensor"),
)


def fault_of(error: ModelError, files: SourceFiles) -> Finding:
    """Make a finding of what was raised; a pointer of Git LFS is called one."""
    if isinstance(error, ShortSourceError) and error.file is not None:
        path = Path(error.file)
        if pread(files.fd(path), len(_LFS), 0) == _LFS:
            pointer = ExternalDataError(
                "the data file is a Git LFS pointer, not the data",
                tensor=error.tensor,
                file=path,
                hint="Run `git lfs pull`.",
            )
            return Finding("data-file-is-a-pointer", "error", pointer)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "failed")
    return Finding(code, "error", error)


def no_padding(facts: TensorFacts, span: FileSpan, length: int) -> Finding:
    """A length that is too long, of bytes that may be the tensor's."""
    error = TensorError(
        "its length counts more bytes than it has, and they are not padding",
        tensor=facts.slot.name,
        file=span.path,
        needed=f"{facts.nbytes:,} bytes for {facts.dtype} {list(facts.shape)}",
        found=f"length {length:,}",
        hint="Its element type or shape may be wrong: the first bytes may be wrong weights, then.",
    )
    return Finding("length-too-long", "error", error)


def overlapping(one: tuple[TensorFacts, FileSpan], other: tuple[TensorFacts, FileSpan]) -> Finding:
    """Two tensors that share some bytes, and not all."""
    (first, span), (second, beside) = one, other
    error = ExternalDataError(
        "it shares some bytes with another tensor: which of the two is right is not known",
        tensor=second.slot.name,
        file=beside.path,
        found=f"bytes {beside.offset:,} to {beside.end:,}; those of {first.slot.name}: "
        f"{span.offset:,} to {span.end:,}",
        hint="If both are meant so, `onnx-align align` gives each bytes of its own.",
    )
    return Finding("overlap", "error", error)


def unsized_bytes(facts: TensorFacts, tensor: onnx.TensorProto, model: Path) -> ModelError | None:
    """A tensor that holds bytes though it has no elements, or strings for elements."""
    fields = held(tensor)
    if not fields or (facts.nbytes == 0) != (facts.element_bits != 0 or facts.dtype == "STRING"):
        return None
    return TensorError(
        "its bytes contradict its element type and shape",
        tensor=facts.slot.name,
        file=model,
        needed=f"none for {facts.dtype} {list(facts.shape)}",
        found=" and ".join(fields),
    )

"""What cannot be mended, in words that say why. The codes are those of `inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import onnx

from onnx_align_pass.errors import ExternalDataError, ModelError, ShortSourceError, TensorError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.reading import read_at
from onnx_align_pass.mending.marks import held
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["fault_of", "no_padding", "overlapping", "stray_bytes"]

_LFS: Final = b"version https://git-lfs"


def fault_of(error: ModelError, files: SourceFiles) -> Finding:
    """Make a finding of what was raised; a pointer of Git LFS is called one."""
    if isinstance(error, ShortSourceError) and error.file is not None:
        path = Path(error.file)
        if read_at(files, path, 0, len(_LFS)) == _LFS:
            error = ExternalDataError(
                "the data file is a Git LFS pointer, not the data",
                tensor=error.tensor,
                file=path,
                hint="Run `git lfs pull`.",
                code=error.code,
            )
    return Finding(error.code, "error", error)


def no_padding(facts: TensorFacts, span: FileSpan, length: int) -> Finding:
    """A length that is too long, of bytes that may be the tensor's."""
    error = TensorError(
        "its length counts more bytes than it has, and they are not padding",
        tensor=facts.slot.name,
        file=span.path,
        needed=f"{facts.nbytes:,} bytes for {facts.dtype} {list(facts.shape)}",
        found=f"length {length:,}",
        hint="Its element type or shape may be wrong: the first bytes may be wrong weights, then.",
        code="wrong-size",
    )
    return Finding(error.code, "error", error)


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
        code="overlap",
    )
    return Finding(error.code, "error", error)


def stray_bytes(facts: TensorFacts, tensor: onnx.TensorProto, model: Path) -> ModelError | None:
    """A tensor that holds bytes though it has no elements, or strings for elements."""
    fields = held(tensor)
    sized = facts.element_bits != 0
    if not fields or (facts.nbytes != 0 if sized else facts.dtype != "STRING"):
        return None
    return TensorError(
        "it is empty, and has bytes" if sized else "strings cannot be raw_data",
        tensor=facts.slot.name,
        file=model,
        found=" and ".join(fields),
        code="stray-bytes",
    )

"""The call that people make to bring external data back into the model file."""

from __future__ import annotations

from onnx_align_pass.model.emit import PROTOBUF_MAX_BYTES
from onnx_align_pass.paths import StrPath
from onnx_align_pass.policy import StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.repack_folder import repack_any
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options

__all__ = ["inline_file"]

EVERY_TENSOR = StoragePolicy(inline=("(?s).*",))
"""Whatever it hangs on: a policy's patterns go before what it keeps where it is."""


def inline_file(
    source: StrPath,
    destination: StrPath | None = None,
    *,
    progress: Progress = SILENT,
    verify: bool = False,
    overwrite: bool = False,
    durable: bool = True,
    allow_hard_links: bool = False,
) -> AlignReport:
    """Bring all external data into the model file; the weights never pass through Python's memory.

    Tensors that share a range of a data file become a copy each. In place, data files that no other
    model uses are removed once the new model stands.

    Args:
        source: A model, or a folder of models.
        destination: The new model, or a folder for it; None repacks in place. For a folder of
            models, the folder that will hold them all, with the other files carried along.
        progress: Told of each transfer.
        verify: Read everything back and compare it with its source before it is published.
        overwrite: Replace a destination that exists. Never the source, nor another model's data.
            Write also what is far larger than the data that it is made from.
        durable: Return only when the result is on the disk; False keeps the order of the commit,
            and leaves the time of writing to the kernel.
        allow_hard_links: See `align_file`.

    Returns:
        What was done, one entry a model.

    Raises:
        UsageError: A path is empty.
        ModelError: The model is missing, broken or refused, or its file would be larger than the
            2 GiB that protobuf reads; the destination is as it was.
        WriteError: Writing failed; the destination is as it was.
    """
    options = Options(
        storage=EVERY_TENSOR,
        progress=progress,
        verify=verify,
        overwrite=overwrite,
        durable=durable,
        max_model_bytes=PROTOBUF_MAX_BYTES,
        allow_hard_links=allow_hard_links,
    )
    return repack_any(source, destination, options)

"""The keywords of `save`, for hooks that hand them on."""

from __future__ import annotations

from typing import TypedDict

from onnx_align_pass.ir.callback import Callback
from onnx_align_pass.paths import StrPath
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import Progress

__all__ = ["SaveOptions"]


class SaveOptions(TypedDict, total=False):
    """What `onnx_align_pass.save` takes beside the model and the path; documented there."""

    format: str | None
    external_data: StrPath | None
    size_threshold_bytes: int | None
    max_shard_size_bytes: int | None
    callback: Callback | None
    max_workers: int | None
    max_in_flight_bytes: int
    alignment: int | None
    align_threshold: int
    storage: StoragePolicy | None
    layout: LayoutPolicy | None
    progress: Progress
    verify: bool
    force: bool
    keep_old_data: bool
    durable: bool

"""Layouts by who will read them: each with its consumer, and the reason for its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

__all__ = ["DEFAULT_PRESET", "PRESETS", "Preset"]

KIB: Final = 1 << 10
MIB: Final = 1 << 20
_PAGE: Final = 4096
_WINDOWS: Final = 64 * KIB
_APPLE: Final = 16 * KIB
_WEB_CAP: Final = 2_145_386_496
"""The largest ArrayBuffer that Chromium makes."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A layout for one kind of consumer."""

    name: str
    """Small letters, digits and single hyphens."""
    consumer: str
    """Who reads such files."""
    reason: str
    """Why these numbers: the rule of the consumer, or of the specification."""
    layout: LayoutPolicy = field(default_factory=LayoutPolicy)
    storage: StoragePolicy = field(default_factory=StoragePolicy)
    experimental: bool = False
    """Whether it was made from the consumer's documents alone, and not run on it."""
    advice: str | None = None
    """What is to be done with the result; `{files}` is the number of data files."""
    origin: str = "onnx-align-pass"
    """The distribution that it comes from."""

    def advice_for(self, files: int) -> str | None:
        """Say what is to be done with a result of so many data files."""
        if self.advice is None or not files:
            return None
        return self.advice.replace("{files}", str(files))


def _threshold(size: int) -> StoragePolicy:
    return StoragePolicy(size_threshold_bytes=size)


_MADE: Final = (
    Preset(
        "page",
        "anything that maps files",
        "a page of x86-64 and most of ARM; the ONNX specification's SHOULD",
        LayoutPolicy(alignment=_PAGE),
    ),
    Preset(
        "packed",
        "people who pay by the byte",
        "the smallest file whose tensors still have pointers that are safe for their elements",
        LayoutPolicy(alignment=1, element_floor=True),
    ),
    Preset(
        "ort",
        "onnxruntime",
        "the policy that onnxruntime itself writes with: pages for tensors of 1 MiB or more",
        LayoutPolicy(alignment=_PAGE, align_threshold=MIB, small_alignment=64, pad="file"),
    ),
    Preset(
        "windows",
        "onnxruntime before 1.23 on Windows",
        "Windows maps files at multiples of 64 KiB; the specification's SHOULD for Windows",
        LayoutPolicy(alignment=_WINDOWS, align_threshold=MIB, small_alignment=64, pad="file"),
    ),
    Preset(
        "simd",
        "kernels that load vectors straight from the file",
        "a cache line, which is also the widest vector register",
        LayoutPolicy(alignment=64),
    ),
    Preset(
        "cuda",
        "CUDA: one upload of the file, tensors as views of it",
        "what cudaMalloc aligns to",
        LayoutPolicy(alignment=256),
    ),
    Preset(
        "direct-io",
        "O_DIRECT and GPUDirect Storage",
        "whole blocks: address and size in multiples of 4 KiB, small ones in sectors of 512 bytes",
        LayoutPolicy(alignment=_PAGE, align_threshold=64 * KIB, small_alignment=512, pad="tensor"),
        _threshold(4 * KIB),
        experimental=True,
    ),
    Preset(
        "openvino",
        "OpenVINO on CPU and GPU",
        "it maps the file once, and reads vectors from there",
        LayoutPolicy(alignment=64, pad="file"),
        experimental=True,
    ),
    Preset(
        "openvino-npu",
        "OpenVINO on an NPU",
        "the NPU imports memory whose address and size are multiples of 4 KiB",
        LayoutPolicy(alignment=_PAGE, pad="tensor"),
        _threshold(4 * KIB),
        experimental=True,
    ),
    Preset(
        "apple",
        "Metal buffers without a copy",
        "a page of Apple silicon, for address and size",
        LayoutPolicy(alignment=_APPLE, align_threshold=_APPLE, small_alignment=64, pad="tensor"),
        _threshold(4 * KIB),
        experimental=True,
    ),
    Preset(
        "android-16k",
        "Android devices with pages of 16 KiB",
        "files are mapped at multiples of the page",
        LayoutPolicy(alignment=_APPLE, align_threshold=MIB, small_alignment=64, pad="file"),
        experimental=True,
    ),
    Preset(
        "vulkan",
        "Vulkan's import of host pointers",
        "minImportedHostPointerAlignment is at most 64 KiB",
        LayoutPolicy(
            alignment=_WINDOWS, align_threshold=64 * KIB, small_alignment=256, pad="tensor"
        ),
        _threshold(4 * KIB),
        experimental=True,
    ),
    Preset(
        "web",
        "onnxruntime-web and transformers.js",
        "a browser holds a file in one ArrayBuffer; transformers.js reads at most 100 of them, "
        "called {model}_data, {model}_data_1 ...",
        LayoutPolicy(
            alignment=16,
            max_shard_size_bytes=2_000_000_000,
            max_file_bytes=_WEB_CAP,
            max_files=100,
            data_name="{model}_data{_n}",
        ),
        advice="transformers.js: put `use_external_data_format: {files}` in the config",
    ),
    Preset(
        "hub",
        "the Hugging Face Hub",
        "files of at most 20 GB upload and resume well",
        LayoutPolicy(
            alignment=_PAGE,
            align_threshold=MIB,
            small_alignment=64,
            pad="file",
            max_shard_size_bytes=20_000_000_000,
        ),
    ),
    Preset(
        "portable",
        "whoever it may be",
        "the largest boundary and the smallest files that any of the others needs",
        LayoutPolicy(
            alignment=_WINDOWS,
            align_threshold=MIB,
            small_alignment=256,
            pad="file",
            max_shard_size_bytes=2_000_000_000,
        ),
    ),
    Preset(
        "safetensors",
        "readers of safetensors, and ONNX from the same file",
        "a valid safetensors file: what lies between tensors is an entry of its header",
        LayoutPolicy(alignment=64, small_alignment=8, data_name="{stem}.safetensors"),
    ),
)
DEFAULT_PRESET: Final = "page"
PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({one.name: one for one in _MADE})
"""The presets that come with this package, by name; others may be installed beside them."""

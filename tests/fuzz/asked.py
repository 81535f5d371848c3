"""What `fuzz_align` asks of a run, read from a few bytes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from onnx_align_pass import LayoutPolicy, StoragePolicy

__all__ = ["HEAD", "Asked", "asked_by"]

HEAD = 7
THRESHOLDS = (1024, None, 0, 1, 17, 100, 4096, None)
LIMITS = (None, None, None, 1, 100, 4096, 5000, 1 << 17)
DATA_NAMES = (
    *(None, None, "w.safetensors", "{stem}-{shard}.bin", "below/{model}.data"),
    *("second.data", "model.onnx.data", "new/{stem}.safetensors", "{model}{_n}", "link.data"),
    *("folder", "README.md", "pipe.data"),
)
PADS: tuple[Literal["none", "file", "tensor"], ...] = ("none", "file", "tensor", "none")


CALLS = ("align", "align", "align", "align", "stream", "inline", "rename", "align")


class Asked(NamedTuple):
    """A call, and what stands beside the model."""

    call: str
    """One of `CALLS`; all but `align` have no policies."""
    in_place: bool
    verify: bool
    neighbour: bool
    """Whether another model points at a data file."""
    storage: StoragePolicy
    layout: LayoutPolicy


def asked_by(head: bytes) -> Asked:
    """Read a call from `HEAD` bytes; every value of them is one."""
    flags, alignment, threshold, small, limits, name, odd = head
    bits = [bool(flags >> bit & 1) for bit in range(8)]
    call = CALLS[odd >> 4 & 7]
    return Asked(
        call=call,
        in_place=bits[0] and call in ("align", "inline"),
        verify=bits[1],
        neighbour=bits[2],
        storage=StoragePolicy(
            size_threshold_bytes=THRESHOLDS[threshold % 8],
            convert_attribute=not bits[3],
            external=("w.*",) if odd & 1 else (),
            inline=("[a-m].*",) if odd & 2 else (),
        ),
        layout=LayoutPolicy(
            alignment=1 << alignment % 17,
            align_threshold=(0, 0, 64, 1500)[small % 4],
            small_alignment=1 << small // 4 % 8,
            element_floor=bits[4],
            pad=PADS[flags >> 5 & 3],
            max_shard_size_bytes=LIMITS[limits % 8],
            max_file_bytes=LIMITS[limits // 8 % 8] if odd & 4 else None,
            max_files=1 if odd & 8 else None,
            data_name=DATA_NAMES[name % len(DATA_NAMES)],
            dedupe=bits[7],
        ),
    )

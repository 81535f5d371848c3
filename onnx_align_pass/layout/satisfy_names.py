"""Whether data files are called, and made, as a layout asks: some consumers go by names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx_align_pass.layout.names import filled, shard_name
from onnx_align_pass.layout.safetensors import is_safetensors
from onnx_align_pass.layout.safetensors_header import SafetensorsHeader
from onnx_align_pass.layout.satisfy import Breach, Lying
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["name_breaches"]


def name_breaches(
    lying: Sequence[Lying],
    layout: LayoutPolicy,
    model_name: str,
    headers: Mapping[str, SafetensorsHeader | None],
) -> Iterator[Breach]:
    """List what breaks a layout that names its data files.

    Names that make safetensors files ask for the format alone: its readers look into the file.

    Args:
        lying: The external tensors.
        layout: What is asked.
        model_name: File name of the model.
        headers: Of each data file; None where it is no safetensors file.
    """
    if layout.data_name is None:
        return
    base, files = filled(layout.data_name, model_name), list({one.file: None for one in lying})
    if is_safetensors(base):
        for file in files:
            yield from _format(file, headers.get(file), lying)
        return
    wanted = [shard_name(base, number + 1, len(files)) for number in range(len(files))]
    for file in files:
        if file not in wanted:
            needed = wanted[0] if len(wanted) == 1 else f"{wanted[0]} ... {wanted[-1]}"
            yield Breach("other-name", None, file, "it has another name", needed, file)


def _format(
    file: str, header: SafetensorsHeader | None, lying: Sequence[Lying]
) -> Iterator[Breach]:
    needed = "a valid safetensors file"
    if header is None or header.problem is not None:
        found = "no header of the format" if header is None else str(header.problem)
        yield Breach("not-safetensors", None, file, "it is no safetensors file", needed, found)
        return
    known = {(one.offset, one.length) for one in header.entries}
    for one in lying:
        if one.file == file and (one.offset, one.nbytes) not in known:
            found = f"bytes {one.offset:,} to {one.offset + one.nbytes:,}"
            yield Breach(
                "not-safetensors", one.name, file, "it is no entry of the header", "one", found
            )

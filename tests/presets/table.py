"""What each consumer wants, as a table: the numbers that presets are held against."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TABLE", "Row"]

TEXT = """
name         | alignment | threshold | small | pad    | inline | shard       | cap        | files
page         |      4096 |         0 |     - | none   |   1024 |           - |          - |     -
packed       |   element |         0 |     - | none   |   1024 |           - |          - |     -
ort          |      4096 |   1048576 |    64 | file   |   1024 |           - |          - |     -
windows      |     65536 |   1048576 |    64 | file   |   1024 |           - |          - |     -
simd         |        64 |         0 |     - | none   |   1024 |           - |          - |     -
cuda         |       256 |         0 |     - | none   |   1024 |           - |          - |     -
direct-io    |      4096 |     65536 |   512 | tensor |   4096 |           - |          - |     -
openvino     |        64 |         0 |     - | file   |   1024 |           - |          - |     -
openvino-npu |      4096 |         0 |     - | tensor |   4096 |           - |          - |     -
apple        |     16384 |     16384 |    64 | tensor |   4096 |           - |          - |     -
android-16k  |     16384 |   1048576 |    64 | file   |   1024 |           - |          - |     -
vulkan       |     65536 |     65536 |   256 | tensor |   4096 |           - |          - |     -
web          |        16 |         0 |     - | none   |   1024 |  2000000000 | 2145386496 |   100
hub          |      4096 |   1048576 |    64 | file   |   1024 | 20000000000 |          - |     -
portable     |     65536 |   1048576 |   256 | file   |   1024 |  2000000000 |          - |     -
safetensors  |        64 |         0 |     - | none   |   1024 |           - |          - |     -
"""
"""All numbers are bytes, but for those of files."""
EXPERIMENTAL = (*("direct-io", "openvino", "openvino-npu", "apple", "android-16k", "vulkan"),)
ELEMENT_BYTES = {4: 1, 8: 1, 16: 2, 32: 4, 64: 8}


class Row(NamedTuple):
    """One consumer; None where it asks for nothing."""

    name: str
    alignment: int | None
    """None: an element's size."""
    threshold: int
    small: int | None
    pad: str
    inline: int
    """Tensors of fewer bytes are inline."""
    shard: int | None
    cap: int | None
    files: int | None

    def wanted(self, nbytes: int, element_bits: int) -> int:
        """The boundary that a tensor is to start on."""
        element = ELEMENT_BYTES[element_bits]
        if self.alignment is None:
            return element
        if nbytes < self.threshold:
            assert self.small is not None
            return max(self.small, element)
        return self.alignment


def _row(line: str) -> Row:
    name, alignment, threshold, small, pad, *limits = (cell.strip() for cell in line.split("|"))
    inline, *rest = (None if cell == "-" else int(cell) for cell in limits)
    assert inline is not None
    return Row(
        name,
        None if alignment == "element" else int(alignment),
        int(threshold),
        None if small == "-" else int(small),
        pad,
        inline,
        *rest,
    )


TABLE = {row.name: row for row in map(_row, TEXT.strip().splitlines()[1:])}

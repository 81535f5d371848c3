"""Tensors of an ir.Model whose bytes stay in a file until they are asked for.

Unlike onnx-ir's own, they read through the guarded opener (no way out of the model's folder, the
cache layout of the Hugging Face Hub included), and only from the file that they were made for: when
it is replaced they refuse to read, where others would take the new bytes under the old offsets.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from onnx_align_pass.errors import SourceChangedError
from onnx_align_pass.model.decode import DecodedTensor, raw_tensor
from onnx_align_pass.origin import Origin
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import Slot
from onnx_align_pass.transfer.open_source import FileIdentity, SourceFiles
from onnx_align_pass.transfer.positional import read_full

__all__ = ["NumbersInFile", "ReadFromFile", "StoredTensor", "external_part", "for_slot"]

_MAIN: Final = "graph.initializer["
_CHUNK_BYTES: Final = 1 << 20


class StoredTensor(ir.ExternalTensor):
    """A tensor whose bytes are a range of a file: external data, or inline in a model file.

    Args:
        span: Its bytes.
        origin: The model file that names them; absolute.
        identity: What the span's file must still be when it is read.
        dtype: Element type.
        shape: Dimensions.
        name: Name of the tensor.
        doc_string: Kept when it is saved.
        metadata_props: Kept when it is saved.
    """

    __slots__ = ("identity", "origin", "span")

    def __init__(
        self,
        span: FileSpan,
        *,
        origin: Origin,
        identity: FileIdentity,
        dtype: ir.DataType,
        shape: ir.Shape,
        name: str,
        doc_string: str | None = None,
        metadata_props: dict[str, str] | None = None,
    ) -> None:
        super().__init__(
            span.path.relative_to(origin.model.parent).as_posix(),
            span.offset,
            span.length,
            dtype,
            shape=shape,
            name=name,
            doc_string=doc_string,
            metadata_props=metadata_props,
            base_dir=str(origin.model.parent),
        )
        self.span = span
        self.origin = origin
        self.identity: FileIdentity | None = identity

    @property
    def base_dir(self) -> str | os.PathLike[str]:
        """Folder of the model; set, the tensor is read from the file of its name in that folder."""
        return self._base_dir

    @base_dir.setter
    def base_dir(self, value: str | os.PathLike[str]) -> None:
        folder = Path.cwd() / value
        self.release()
        self._base_dir = value
        self.span = self.span._replace(path=folder / self.location)
        self.origin = replace(self.origin, model=folder / self.origin.model.name, roots=(folder,))
        self.identity = None

    @property
    def is_inline(self) -> bool:
        """Whether the bytes are inside the model file itself."""
        return self.span.path == self.origin.model

    def numpy(self) -> npt.NDArray[Any]:
        """Map the bytes as an array, read-only; they take no memory until they are touched.

        Raises:
            ExternalDataError: The file is missing, unsafe or too short.
            SourceChangedError: The file was changed or replaced.
            ValueError: The tensor was invalidated.
        """
        self._check_validity()
        if self._array is None:
            self._array = self._mapped()
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the array; see `numpy`."""
        array = self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)
        return array.copy() if copy else array

    def tobytes(self) -> bytes:
        """Read the bytes. Raises what `numpy` raises."""
        self._check_validity()
        with self._opened() as fd:
            data = bytearray(self.span.length)
            if read_full(fd, memoryview(data), self.span.offset) < len(data):
                raise SourceChangedError(
                    "the file became shorter while it was read",
                    tensor=self.name,
                    file=self.span.path,
                )
        return bytes(data)

    def tofile(self, file: BinaryIO) -> None:
        """Write the bytes to a file object, a piece at a time. Raises what `numpy` raises."""
        self._check_validity()
        view = memoryview(bytearray(min(_CHUNK_BYTES, self.span.length)))
        with self._opened() as fd:
            for at in range(0, self.span.length, _CHUNK_BYTES):
                part = view[: self.span.length - at]
                if read_full(fd, part, self.span.offset + at) < len(part):
                    raise SourceChangedError(
                        "the file became shorter while it was read",
                        tensor=self.name,
                        file=self.span.path,
                    )
                file.write(part)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        with self.origin.open() as files:
            self.expect_in(files)
            files.check(self.span, self.name or "")
            yield files.fd(self.span.path, tensor=self.name)

    def expect_in(self, files: SourceFiles) -> None:
        """Let these sources read the tensor's file only as it was when the tensor was made."""
        if self.identity is not None:
            files.expect(self.span.path, self.identity)

    def _mapped(self) -> npt.NDArray[Any]:
        shape = self.shape.numpy()
        if self.span.length == 0:
            return np.empty(shape, dtype=self.dtype.numpy())
        start = self.span.offset % mmap.ALLOCATIONGRANULARITY
        with self._opened() as fd:
            mapping = mmap.mmap(
                fd,
                start + self.span.length,
                access=mmap.ACCESS_READ,
                offset=self.span.offset - start,
            )
        packed = np.frombuffer(mapping, np.uint8, self.span.length, start)
        if self.dtype.bitwidth < 8:  # one byte an element, as onnx-ir shows them
            return _from_bytes(packed.tobytes(), self.dtype, self.shape).numpy()
        return packed.view(np.dtype(self.dtype.numpy()).newbyteorder("<")).reshape(shape)


@dataclass(frozen=True, slots=True)
class ReadFromFile:
    """What a lazy tensor calls: the stored one that it stands for."""

    stored: StoredTensor

    def __call__(self) -> ir.TensorProtocol:
        """Give the stored tensor."""
        return self.stored


def for_slot(stored: StoredTensor, slot: Slot) -> ir.TensorProtocol:
    """Make a stored tensor fit to hang where it shall.

    Passes put the main graph's initializers aside when they call onnx's checker and shape
    inference; all other tensors are handed on, and looked for beside the working directory when
    they are external. So one whose bytes are inside the model file hangs there as a lazy tensor: it
    is serialised with its bytes, like any that is inline.
    """
    if not stored.is_inline or slot.place.startswith(_MAIN):
        return stored
    return ir.LazyTensor(
        ReadFromFile(stored),
        dtype=stored.dtype,
        shape=stored.shape,
        name=stored.name,
        doc_string=stored.doc_string,
        metadata_props=dict(stored.metadata_props),
    )


def external_part(tensor: ir.TensorProtocol | None) -> ir.ExternalTensor | None:
    """The range of a file that a tensor is, or stands for; None where it is none."""
    if isinstance(tensor, ir.LazyTensor) and isinstance(tensor.raw, ReadFromFile):
        return tensor.raw.stored
    return tensor if isinstance(tensor, ir.ExternalTensor) else None


@dataclass(frozen=True, slots=True)
class NumbersInFile:
    """What a lazy tensor calls: numbers in a typed field of a model file, decoded when asked for.

    Raises, when called:
        SourceChangedError: The model file was changed or replaced.
        TensorError: The numbers cannot be decoded.
    """

    decoded: DecodedTensor
    origin: Origin
    identity: FileIdentity
    dtype: ir.DataType
    shape: ir.Shape

    def __call__(self) -> ir.TensorProtocol:
        """Decode, and give the tensor."""
        with self.origin.open() as files:
            files.expect(self.decoded.file, self.identity)
            files.fd(self.decoded.file, tensor=self.decoded.name)
            data = self.decoded.load()
        return _from_bytes(data, self.dtype, self.shape)


def _from_bytes(data: bytes, dtype: ir.DataType, shape: ir.Shape) -> ir.TensorProtocol:
    return ir.serde.TensorProtoTensor(raw_tensor(data, dtype.value, shape.numpy()))

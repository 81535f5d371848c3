"""A digest of what a model is, whatever its layout; defined in docs/reference/digest.md."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from onnx_align_pass.explaining import reads_explained
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.layout.expansion import check_read
from onnx_align_pass.model.canonical import canonical
from onnx_align_pass.model.contents import content_of, strip
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.model.sources import facts_of
from onnx_align_pass.model.walk import walk
from onnx_align_pass.origin import Origin
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.prepare import open_sources
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.hashing import Named, hash_sources
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.same_bytes import identity_of

__all__ = ["digest_of"]

_DEFINITION: Final = b"onnx-align-pass content digest 1\n"
"""Hashed first, so that another definition gives other digests."""
_NOTHING: Final = hashlib.sha256().digest()


@collector_paused()
def digest_of(path: StrPath, *, progress: Progress = SILENT, allow_hard_links: bool = False) -> str:
    """Compute the content digest of a model: what no layout changes, and all else does.

    Memory is the metadata; the weights are read once, also where several tensors share them.

    Args:
        path: A model.
        progress: Told of the bytes that are read.
        allow_hard_links: See `align_file`.

    Returns:
        64 hexadecimal digits.

    Raises:
        ModelError: The model is missing or broken, or its data is; or it changed meanwhile.
        ExpansionError: Its tensors overlap so that far more would be read than there is.
    """
    model = given_path(path)
    opened = open_sources(model, allow_hard_links=allow_hard_links)
    with reads_explained(model), opened as files:
        origin = Origin.of(model, allow_hard_links=allow_hard_links)
        skeleton = read_skeleton(model)
        contents = tuple(_contents(skeleton, files))
        check_read(one.source for one in contents if isinstance(one.source, FileSpan))
        sources = _distinct(contents)
        progress.begin(model.name, sum(one.source.length for one in sources.values()))
        found = hash_sources(list(sources.values()), origin.open, progress.advance)
        hashes = dict(zip(sources, found, strict=True))
        digest = _combine(contents, hashes, canonical(skeleton.proto, model))
        files.verify_unchanged()
    return digest


class _Content(NamedTuple):
    place: str
    name: str
    source: Source | None


def _contents(skeleton: Skeleton, files: SourceFiles) -> Iterator[_Content]:
    """Take every tensor's content out of the proto."""
    for slot, tensor in walk(skeleton.proto, thorough=True, file=skeleton.path):
        facts = facts_of(slot, tensor, skeleton.path)
        source = content_of(facts, tensor, skeleton)
        if isinstance(source, FileSpan):
            files.check(source, slot.name)
        strip(tensor, skeleton, sized=bool(facts.element_bits))
        yield _Content(slot.place, slot.name, source)


def _distinct(contents: Iterable[_Content]) -> dict[Hashable, Named]:
    """What is to be hashed: a range that several tensors share once."""
    found: dict[Hashable, Named] = {}
    for one in contents:
        if one.source is not None:
            found.setdefault(identity_of(one.source), Named(one.source, one.name))
    return found


def _combine(contents: Sequence[_Content], hashes: Mapping[Hashable, bytes], rest: bytes) -> str:
    records = [
        (one.place.encode(), 0, _NOTHING)
        if one.source is None
        else (one.place.encode(), one.source.length, hashes[identity_of(one.source)])
        for one in contents
    ]
    digest = hashlib.sha256(_DEFINITION)
    digest.update(struct.pack("<Q", len(records)))
    for place, length, content in sorted(records):
        digest.update(struct.pack("<Q", len(place)) + place + struct.pack("<Q", length) + content)
    digest.update(struct.pack("<Q", len(rest)) + rest)
    return digest.hexdigest()

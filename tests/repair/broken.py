"""Broken models that may be mended, each with the bytes that its tensors must have then."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnx import TensorProto

from tests.corpus import wire
from tests.corpus.build import DATA, FLOAT, numbers, point, showing, write

__all__ = ["BROKEN", "Broken"]

COUNT = 300
LENGTH = 4 * COUNT
RIGHT = numbers("right", [COUNT]).tobytes()
OTHER = numbers("other", [COUNT]).tobytes()
Entries = Mapping[str, str]


@dataclass(frozen=True)
class Broken:
    """A model with something wrong that has one cure."""

    name: str
    build: Callable[[Path], Path]
    """Writes it into a folder that is there; returns its path."""
    code: str
    """Of the repair."""
    named: Callable[[Path], tuple[str, ...]] = field(default=lambda _: ())
    """What the user names, for the folder."""
    wanted: Mapping[str, bytes] = field(default_factory=lambda: {"w": RIGHT, "other": OTHER})

    def __str__(self) -> str:
        return self.name


def model(folder: Path, *tensors: TensorProto) -> Path:
    """A model of these tensors, in `folder/model`."""
    return write(folder / "model", showing(list(tensors)))


def named(name: str, entries: Entries) -> TensorProto:
    """An external tensor of COUNT floats."""
    bare = TensorProto(name=name, data_type=FLOAT, dims=[COUNT])
    return point(bare, entries.items())


def other(location: str = DATA, offset: int = 8192) -> TensorProto:
    """A tensor whose entries are right."""
    entries = {"location": location, "offset": str(offset), "length": str(LENGTH)}
    return named("other", entries)


def data(folder: Path, gap: bytes = bytes(8192 - LENGTH), name: str = DATA) -> None:
    """The data file: `w` at 0, then the gap, then `other`."""
    path = folder / "model" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(RIGHT + gap + OTHER)


def entries(**changed: str | None) -> Callable[[Path], Path]:
    """A builder of a model whose `w` has these entries in place of the right ones."""
    pairs = {"location": DATA, "offset": "0", "length": str(LENGTH), **changed}
    present = {key: value for key, value in pairs.items() if value is not None}

    def build(folder: Path) -> Path:
        data(folder)
        return model(folder, named("w", present), other())

    return build


def padded(
    length: int, gap: bytes, *, offset_of_other: int | None = None
) -> Callable[[Path], Path]:
    """A builder of a model whose `w` claims so many bytes; the gap stands behind it."""

    def build(folder: Path) -> Path:
        data(folder, gap)
        at = LENGTH + len(gap) if offset_of_other is None else offset_of_other
        pairs = {"location": DATA, "offset": "0", "length": str(length)}
        return model(folder, named("w", pairs), other(offset=at))

    return build


def at_the_end(length: int, tail: bytes) -> Callable[[Path], Path]:
    """A builder of a model whose `w` is the last in its file, with this behind it."""

    def build(folder: Path) -> Path:
        (folder / "model").mkdir(parents=True)
        (folder / "model" / DATA).write_bytes(OTHER + RIGHT + tail)
        pairs = {"location": DATA, "offset": str(LENGTH), "length": str(length)}
        return model(folder, named("w", pairs), other(offset=0))

    return build


def doubled(folder: Path) -> Path:
    """Of each key two entries; the last ones are right."""
    data(folder)
    weight = named("w", {"location": "nowhere", "offset": "77", "length": "5"})
    for key, value in (("location", DATA), ("offset", "0"), ("length", str(LENGTH))):
        weight.external_data.add(key=key, value=value)
    return model(folder, weight, other())


def unmarked(folder: Path) -> Path:
    """Entries, no bytes, and nothing that says EXTERNAL."""
    data(folder)
    weight = named("w", {"location": DATA, "offset": "0", "length": str(LENGTH)})
    weight.ClearField("data_location")
    return model(folder, weight, other())


def marked(folder: Path) -> Path:
    """EXTERNAL, with its bytes in the model and no entries."""
    data(folder)
    weight = TensorProto(name="w", data_type=FLOAT, dims=[COUNT], raw_data=RIGHT)
    weight.data_location = TensorProto.EXTERNAL
    return model(folder, weight, other())


def empty(folder: Path) -> Path:
    """A tensor without elements at a place that is not there."""
    data(folder)
    weight = named("w", {"location": "gone", "offset": "0", "length": "0"})
    weight.dims[:] = [0, 7]
    return model(folder, weight, other())


def elsewhere(location: str, place: str) -> Callable[[Path], Path]:
    """A builder of a model that says one location, while its data file is at another place."""

    def build(folder: Path) -> Path:
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(RIGHT + bytes(8192 - LENGTH) + OTHER)
        pairs = {"location": location.replace("FOLDER", str(folder)), "offset": "0"}
        return model(
            folder,
            named("w", {**pairs, "length": str(LENGTH)}),
            other(pairs["location"]),
        )

    return build


def not_utf8(folder: Path) -> Path:
    """A location that is not UTF-8; the file is there under these bytes."""
    data(folder, name=os.fsdecode(b"w\xff.data"))
    data(folder)
    weight = TensorProto(name="w", data_type=FLOAT, dims=[COUNT])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in ((b"location", b"w\xff.data"), (b"offset", b"0"), (b"length", b"1200")):
        weight.MergeFromString(wire.block(13, wire.block(1, key) + wire.block(2, value)))
    return model(folder, weight, other())


def linked_out(folder: Path) -> Path:
    """The data file is a symlink out of the model's folder."""
    (folder / "blob").write_bytes(RIGHT + bytes(8192 - LENGTH) + OTHER)
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("../blob")
    return model(folder, named("w", {"location": DATA, "length": str(LENGTH)}), other())


def two_moved(folder: Path) -> Path:
    """Two data files, both somewhere else."""
    (folder / "there").mkdir()
    (folder / "there" / "A.data").write_bytes(RIGHT)
    (folder / "there" / "b.data").write_bytes(OTHER)
    return model(
        folder,
        named("w", {"location": "a.data", "offset": "0", "length": str(LENGTH)}),
        other("sub/b.data", 0),
    )


def path(*parts: str, location: str = "") -> Callable[[Path], tuple[str, ...]]:
    """What the user names: files below the folder, all for one location if one is given."""
    prefix = f"{location}=" if location else ""
    return lambda folder: tuple(
        f"{prefix.replace('FOLDER', str(folder))}{folder / part}" for part in parts
    )


ZEROS = bytes(8192 - LENGTH)
BROKEN = [
    Broken("length_to_64", padded(1216, bytes(16)), "length-too-long"),
    Broken("length_to_2048", padded(2048, ZEROS), "length-too-long"),
    Broken("length_to_the_next_tensor", padded(8192, ZEROS), "length-too-long"),
    Broken("length_of_all_the_file", padded(LENGTH * 2, b""), "length-too-long"),
    Broken("length_of_padding_and_all", padded(8192 + LENGTH, ZEROS), "length-too-long"),
    Broken("length_padded_at_the_end", at_the_end(1216, bytes(16)), "length-too-long"),
    Broken("length_past_the_end", at_the_end(4096, b""), "length-too-long"),
    Broken("offset_absent", entries(offset=None), "offset-absent"),
    Broken("length_absent", entries(length=None), "length-absent"),
    Broken("length_zero", entries(length="0"), "length-absent"),
    Broken("offset_with_blanks", entries(offset=" 0\n"), "number"),
    Broken("offset_with_plus", entries(offset="+0"), "number"),
    Broken("length_with_point", entries(length=f"{LENGTH}.0"), "number"),
    Broken("unknown_key", entries(colour="blue"), "unknown-key"),
    Broken("basepath", entries(basepath="/tmp/x"), "unknown-key"),
    Broken("checksum_stale", entries(checksum="0" * 40), "checksum-stale"),
    Broken("keys_twice", doubled, "key-twice"),
    Broken("not_marked_external", unmarked, "not-marked-external"),
    Broken("marked_external", marked, "marked-external"),
    Broken("empty_external", empty, "empty-external", wanted={"w": b"", "other": OTHER}),
    Broken(
        "other_case",
        elsewhere("Weights.DATA", "model/weights.data"),
        "data-named",
        path("model/weights.data"),
    ),
    Broken("moved", elsewhere("w.data", "far/away"), "data-named", path("far/away")),
    Broken(
        "moved_by_location",
        elsewhere("w.data", "far/a=b"),
        "data-named",
        path("far/a=b", location="w.data"),
    ),
    Broken("moved_with_equals", elsewhere("w.data", "a=b"), "data-named", path("a=b")),
    Broken(
        "backslash",
        elsewhere("sub\\w.data", "model/sub/w.data"),
        "data-named",
        path("model/sub/w.data"),
    ),
    Broken("drive", elsewhere("C:\\x\\w.data", "model/w.data"), "data-named", path("model/w.data")),
    Broken("up", elsewhere("../w.data", "w.data"), "data-named", path("w.data")),
    Broken("absolute", elsewhere("FOLDER/model/w", "model/w"), "data-named", path("model/w")),
    Broken(
        "absolute_by_location",
        elsewhere("FOLDER/w", "w"),
        "data-named",
        path("w", location="FOLDER/w"),
    ),
    Broken(
        "newline", elsewhere("w\n.data", "model/w\n.data"), "data-named", path("model/w\n.data")
    ),
    Broken("not_utf8", not_utf8, "data-named", path("model/" + os.fsdecode(b"w\xff.data"))),
    Broken("linked_out", linked_out, "data-named", path("blob")),
    Broken(
        "location_empty",
        elsewhere("", "w.data"),
        "data-named",
        path("w.data"),
    ),
    Broken("two_moved", two_moved, "data-named", path("there/A.data", "there/b.data")),
]

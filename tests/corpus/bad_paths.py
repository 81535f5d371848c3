"""Bad cases: data files that are missing, outside the folder, or no regular files.

Wherever possible the right bytes lie where the entry points, so that a careless reader succeeds.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from onnx import TensorProto

from . import wire
from .build import DATA, FLOAT, MODEL, numbers, point, showing, tensor, write
from .case import BadBook, Build

__all__ = ["BAD", "SECRET"]

BAD = BadBook()

COUNT = 300
SECRET = numbers("secret", [COUNT]).tobytes()
"""The bytes that must not reach any output."""


def weight(location: str) -> TensorProto:
    """A tensor of COUNT floats at the start of this file."""
    entries = (("location", location), ("offset", "0"), ("length", str(4 * COUNT)))
    return point(tensor("w", [COUNT]), entries)


def pointing(folder: Path, location: str) -> Path:
    """A model in `folder/model` of one tensor at this location."""
    return write(folder / "model", showing([weight(location)]))


def escaping(location: str, *, inner: str | None = None) -> Build:
    """A builder of a model that points at the secret beside its folder."""

    def build(folder: Path) -> Path:
        (folder / "secret.data").write_bytes(SECRET)
        if inner is not None:
            (folder / "model" / inner).mkdir(parents=True)
        return pointing(folder, location)

    return build


BAD.add("location_up", "A location of `../`.")(escaping("../secret.data"))
BAD.add("location_dot_up", "A location of `./../`.")(escaping("./../secret.data"))
BAD.add("location_down_up_up", "A location of `a/../../`.")(
    escaping("a/../../secret.data", inner="a")
)
BAD.add("location_down_up_up_missing", "A location of `a/../../`, without a folder `a`.")(
    escaping("a/../../secret.data")
)
BAD.add("location_many_up", "A location of `..//..//` and so on, up to the root.")(
    escaping("..//" * 40 + "etc/passwd")
)


def inside_named(location: str) -> Build:
    """A builder of a model whose data file, on Linux, really has this odd name."""

    def build(folder: Path) -> Path:
        (folder / "model").mkdir()
        (folder / "model" / location).write_bytes(SECRET)
        return pointing(folder, location)

    return build


BAD.add("location_backslash_up", "A location of `..\\`, a way up on Windows.")(
    inside_named("..\\secret.data")
)
BAD.add("location_backslash", "A location with a backslash.")(inside_named("a\\w.data"))
BAD.add("location_drive", "A location that starts with a Windows drive.")(
    inside_named("C:\\w.data")
)
BAD.add("location_newline", "A location with a newline.")(inside_named("w\n.data"))
BAD.add("location_escape", "A location with ESC and colours.")(inside_named("\x1b[31mw.data"))


@BAD.add()
def location_up_and_back(folder: Path) -> Path:
    """A location of `../model/`: out of the folder and in again."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).write_bytes(SECRET)
    return pointing(folder, f"../model/{DATA}")


def nowhere(location: str) -> Build:
    """A builder of a model that points at nothing."""

    def build(folder: Path) -> Path:
        return pointing(folder, location)

    return build


BAD.add("location_missing", "A data file that does not exist.")(nowhere("gone.data"))
BAD.add("location_missing_folder", "A data file in a folder that does not exist.")(
    nowhere("gone/w.data")
)
BAD.add("location_empty", "An empty location.")(nowhere(""))
BAD.add("location_dot", "A location of `.`.")(nowhere("."))
BAD.add("location_up_alone", "A location of `..`.")(nowhere(".."))
BAD.add("location_root", "A location of `/`.")(nowhere("/"))
BAD.add("location_nul", "A location with a NUL.")(nowhere("w\0.data"))
BAD.add("location_too_long", "A location of 5,000 letters, more than a path may have.")(
    nowhere("w" * 5_000)
)
BAD.add("location_of_endless_folders", "A location of 200,000 folders in each other.")(
    nowhere("w/" * 200_000 + "w")
)
BAD.add("location_url", "A location that is a URL.")(nowhere("https://example.com/w.data"))
BAD.add("location_in_memory", "A location that means memory to onnxruntime.")(
    nowhere("*/_ORT_MEM_ADDR_/*")
)
BAD.add("location_hash", "A location that onnx's checker takes for a container's own.")(
    nowhere("#large_initializer_0")
)


@BAD.add()
def location_through_a_file(folder: Path) -> Path:
    """A location that goes through a regular file as if it were a folder."""
    (folder / "model").mkdir()
    (folder / "model" / "file").write_bytes(SECRET)
    return pointing(folder, "file/w.data")


@BAD.add()
def location_trailing_slash(folder: Path) -> Path:
    """A location that ends in a slash, though it is a file's."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).write_bytes(SECRET)
    return pointing(folder, f"{DATA}/")


@BAD.add()
def location_not_utf8(folder: Path) -> Path:
    """A location that is not UTF-8; on Linux the file exists."""
    (folder / "model").mkdir()
    (folder / "model" / os.fsdecode(b"w\xff.data")).write_bytes(SECRET)
    bare = TensorProto(name="w", data_type=FLOAT, dims=[COUNT])
    bare.data_location = TensorProto.EXTERNAL
    entry = wire.block(1, b"location") + wire.block(2, b"w\xff.data")
    bare.MergeFromString(wire.block(13, entry))
    return write(folder / "model", showing([bare]))


@BAD.add()
def location_absolute(folder: Path) -> Path:
    """An absolute location, outside the folder."""
    (folder / "secret.data").write_bytes(SECRET)
    return pointing(folder, str(folder.absolute() / "secret.data"))


@BAD.add()
def location_absolute_inside(folder: Path) -> Path:
    """An absolute location, inside the folder."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).write_bytes(SECRET)
    return pointing(folder, str(folder.absolute() / "model" / DATA))


@BAD.add()
def data_link_out(folder: Path) -> Path:
    """The data file is a link out of the folder."""
    (folder / "secret.data").write_bytes(SECRET)
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("../secret.data")
    return pointing(folder, DATA)


@BAD.add()
def data_link_out_in_two_steps(folder: Path) -> Path:
    """The data file is a link to a link that leads out of the folder."""
    (folder / "secret.data").write_bytes(SECRET)
    (folder / "model").mkdir()
    (folder / "model" / "hop").symlink_to(folder.absolute() / "secret.data")
    (folder / "model" / DATA).symlink_to("hop")
    return pointing(folder, DATA)


@BAD.add()
def data_folder_link_out(folder: Path) -> Path:
    """The data file's folder is a link out of the model's folder."""
    (folder / "secret").mkdir()
    (folder / "secret" / "w.data").write_bytes(SECRET)
    (folder / "model").mkdir()
    (folder / "model" / "weights").symlink_to("../secret")
    return pointing(folder, "weights/w.data")


@BAD.add()
def data_beside_the_target_of_the_model_link(folder: Path) -> Path:
    """The model is a link; the data file lies beside its target, not beside the link."""
    model = write(folder / "real", showing([weight(DATA)]))
    (folder / "real" / DATA).write_bytes(SECRET)
    (folder / MODEL).symlink_to(model)
    return folder / MODEL


@BAD.add()
def data_link_dangles(folder: Path) -> Path:
    """The data file is a link to nothing."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("gone")
    return pointing(folder, DATA)


@BAD.add()
def data_link_loops(folder: Path) -> Path:
    """The data file is a link to itself."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to(DATA)
    return pointing(folder, DATA)


@BAD.add(needs_root=True)
def data_link_of_another_owner(folder: Path) -> Path:
    """The data file is a hard link to a file of another owner (uid 12345)."""
    secret = folder / "secret.data"
    secret.write_bytes(SECRET)
    os.chown(secret, 12_345, 12_345)
    (folder / "model").mkdir()
    os.link(secret, folder / "model" / DATA)
    return pointing(folder, DATA)


@BAD.add(blocks=True)
def data_is_a_fifo(folder: Path) -> Path:
    """The data file is a FIFO: opening it would wait forever."""
    (folder / "model").mkdir()
    os.mkfifo(folder / "model" / DATA)
    return pointing(folder, DATA)


@BAD.add()
def data_is_a_folder(folder: Path) -> Path:
    """The data file is a folder."""
    (folder / "model" / DATA).mkdir(parents=True)
    return pointing(folder, DATA)


@BAD.add()
def data_is_a_socket(folder: Path) -> Path:
    """The data file is a socket."""
    (folder / "model").mkdir()
    os.mknod(folder / "model" / DATA, stat.S_IFSOCK | 0o600)
    return pointing(folder, DATA)


@BAD.add()
def data_is_a_device(folder: Path) -> Path:
    """The data file is a link to /dev/zero, which never ends."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("/dev/zero")
    return pointing(folder, DATA)


@BAD.add()
def data_is_the_model_and_short(folder: Path) -> Path:
    """The location is the `.onnx` itself, which is shorter than the tensor."""
    return pointing(folder, MODEL)

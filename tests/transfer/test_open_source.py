"""Guarded reads: what a hostile model folder may hold, and what a hostile neighbour may do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnx_align_pass.errors import (
    ExternalDataError,
    ShortSourceError,
    SourceChangedError,
    UnsafeDataFileError,
    UsageError,
)
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles

OURS = os.getuid() if hasattr(os, "getuid") else 0
root = pytest.mark.skipif(OURS != 0 or not hasattr(os, "chown"), reason="needs root, to chown")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model's folder, beside a folder that holds a secret."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_bytes(b"secret")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "data").write_bytes(b"0123456789")
    return folder


@contextmanager
def sources(*roots: Path, links: bool = False, limit: int = 64) -> Iterator[SourceFiles]:
    with SourceFiles(roots=roots, owner_uid=OURS, allow_hard_links=links, limit=limit) as opened:
        yield opened


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd"))


linux = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


def test_a_plain_file_is_read_through_one_descriptor(model: Path) -> None:
    with sources(model) as files:
        fd = files.fd(model / "data")
        assert os.pread(fd, 100, 0) == b"0123456789"
        assert files.fd(model / "data") == fd
        assert files.size(model / "data") == 10
        assert not files.notes
        files.verify_unchanged()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_links_that_stay_inside_are_followed(model: Path) -> None:
    (model / "sub").mkdir()
    (model / "sub" / "link").symlink_to(model / "data")
    (model / "way").symlink_to("sub")
    with sources(model) as files:
        assert files.size(model / "way" / "link") == 10
        files.verify_unchanged()


def test_a_second_root_is_a_root_too(model: Path) -> None:
    (model / "blob").symlink_to(model.parent / "elsewhere" / "secret")
    with sources(model, model.parent / "elsewhere") as files:
        assert files.size(model / "blob") == 6


def test_a_root_may_itself_be_a_symlink(model: Path) -> None:
    (model.parent / "alias").symlink_to(model)
    with sources(model.parent / "alias") as files:
        assert files.size(model.parent / "alias" / "data") == 10


@pytest.mark.parametrize(
    "name",
    [
        "link",
        "way/secret",
        "../elsewhere/secret",
        "../model-evil/data",
        "sub/../../elsewhere/secret",
    ],
)
def test_a_file_outside_the_roots_is_refused(model: Path, name: str) -> None:
    (model / "sub").mkdir()
    (model / "link").symlink_to(model.parent / "elsewhere" / "secret")
    (model / "way").symlink_to(model.parent / "elsewhere")
    (model.parent / "model-evil").mkdir()
    (model.parent / "model-evil" / "data").write_bytes(b"x")
    with (
        sources(model) as files,
        pytest.raises(UnsafeDataFileError, match=r"tensor 'w'.*leaves the model's folder"),
    ):
        files.check(FileSpan(model / name, 0, 1), "w")


@linux
@pytest.mark.parametrize("name", ["directory", "fifo", "device", "socket"])
def test_what_is_not_a_regular_file_is_refused_at_once(model: Path, name: str) -> None:
    (model / "directory").mkdir()
    os.mkfifo(model / "fifo")
    place = model / name
    if name == "device":
        place = Path("/dev/zero")
    if name == "socket":
        os.mknod(place, stat.S_IFSOCK | 0o600)
    before = open_fds()
    with sources(model, Path("/dev")) as files:
        with pytest.raises(UnsafeDataFileError, match="not a regular file"):
            files.fd(place)
        files.trust(place)
        with pytest.raises(UnsafeDataFileError, match="not a regular file"):
            files.fd(place)
    assert open_fds() == before


def meddle(monkeypatch: pytest.MonkeyPatch, deed: object) -> None:
    """Let somebody act between resolving and opening."""
    real = os.open
    deeds = [deed]

    def late(path: Path, flags: int) -> int:
        if deeds:
            deeds.pop()()  # type: ignore[operator]
        return real(path, flags)

    monkeypatch.setattr(os, "open", late)


@linux
def test_a_parent_swapped_for_a_symlink_after_the_check_is_seen(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model / "sub").mkdir()
    (model / "sub" / "secret").write_bytes(b"innocent")

    def swap() -> None:
        (model / "sub").rename(model / "old")
        (model / "sub").symlink_to(model.parent / "elsewhere")

    meddle(monkeypatch, swap)
    before = open_fds()
    with (
        sources(model) as files,
        pytest.raises(UnsafeDataFileError, match="leaves the model's folder"),
    ):
        files.fd(model / "sub" / "secret")
    assert open_fds() == before


@linux
@pytest.mark.parametrize("kind", ["symlink", "fifo"])
def test_a_file_swapped_after_the_check_is_not_followed_and_not_waited_for(
    model: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def swap() -> None:
        (model / "data").unlink()
        if kind == "fifo":
            os.mkfifo(model / "data")
        else:
            (model / "data").symlink_to(model.parent / "elsewhere" / "secret")

    meddle(monkeypatch, swap)
    with sources(model) as files, pytest.raises(ExternalDataError):
        files.fd(model / "data")


@root
def test_a_hard_link_of_another_owner_is_refused_unless_allowed(model: Path) -> None:
    os.link(model.parent / "elsewhere" / "secret", model / "linked")
    os.chown(model / "linked", 12_345, 12_345)
    with (
        sources(model) as files,
        pytest.raises(UnsafeDataFileError, match="found 2 links, owner 12345"),
    ):
        files.fd(model / "linked")
    with sources(model, links=True) as files:
        assert files.size(model / "linked") == 6
        assert not files.notes


def test_a_hard_link_of_the_models_owner_is_read_and_noted_once(model: Path) -> None:
    os.link(model / "data", model / "linked")
    with sources(model, limit=1) as files:
        for name in ("linked", "data", "linked"):
            files.fd(model / name)
        assert len(files.notes) == 2
        assert "2 links" in files.notes[0]


def test_without_an_owner_no_hard_link_is_read(model: Path) -> None:
    os.link(model / "data", model / "linked")
    with (
        SourceFiles(roots=(model,), owner_uid=None) as files,
        pytest.raises(UnsafeDataFileError, match="other names"),
    ):
        files.fd(model / "linked")


def test_a_file_that_the_user_named_is_read_wherever_it_is(model: Path) -> None:
    named = model.parent / "named.onnx"
    named.symlink_to(model.parent / "elsewhere" / "secret")
    os.link(model.parent / "elsewhere" / "secret", model.parent / "again")
    with sources(model) as files:
        files.trust(named)
        assert files.size(named) == 6
        files.verify_unchanged()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing", "missing"),
        ("data/below", "cannot be opened"),
        ("x" * 300, "cannot be opened"),
        ("nul\0", "no file can have this name"),
        ("loop", "cannot be opened"),
        ("dangling", "missing"),
    ],
)
def test_a_file_that_cannot_be_opened_is_named_with_its_tensor(
    model: Path, name: str, problem: str
) -> None:
    (model / "loop").symlink_to("loop")
    (model / "dangling").symlink_to("nowhere")
    with (
        sources(model) as files,
        pytest.raises(ExternalDataError, match=rf"tensor 'w'.*{problem}"),
    ):
        files.check(FileSpan(model / name, 0, 1), "w")


def test_a_file_without_permission_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with sources(model) as files, pytest.raises(ExternalDataError, match="may not be read"):
        files.fd(model / "data")


@pytest.mark.parametrize(
    ("offset", "length", "fits"),
    [
        (0, 10, True),
        (10, 0, True),
        (9, 1, True),
        (9, 2, False),
        (11, 0, False),
        (2**63 - 1, 2**63 - 1, False),
        (2**64, 1, False),
    ],
)
def test_a_span_lies_within_its_file(model: Path, offset: int, length: int, fits: bool) -> None:
    span = FileSpan(model / "data", offset, length)
    with sources(model) as files:
        if fits:
            files.check(span, "w")
        else:
            with pytest.raises(ShortSourceError, match="Git LFS"):
                files.check(span, "w")


def append(data: Path) -> None:
    with data.open("ab") as file:
        file.write(b"x")


def replace(data: Path) -> None:
    other = data.with_name("other")
    other.write_bytes(data.read_bytes())
    os.utime(other, ns=(data.stat().st_atime_ns, data.stat().st_mtime_ns))
    other.replace(data)


def touch(data: Path) -> None:
    os.utime(data, ns=(0, 12_345))


CHANGES = [append, replace, touch, Path.unlink]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_any_change_of_a_file_is_seen_at_the_end(model: Path, change: object) -> None:
    with sources(model) as files:
        files.fd(model / "data")
        change(model / "data")  # type: ignore[operator]
        with pytest.raises(SourceChangedError, match="changed or replaced"):
            files.verify_unchanged()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_any_change_of_a_file_is_seen_when_it_is_opened_again(model: Path, change: object) -> None:
    (model / "next").write_bytes(b"x")
    with sources(model, limit=1) as files:
        files.fd(model / "data")
        files.fd(model / "next")
        change(model / "data")  # type: ignore[operator]
        with pytest.raises(SourceChangedError, match="changed or replaced"):
            files.fd(model / "data")


def many(model: Path, count: int = 300) -> list[Path]:
    names = [model / f"shard{i}" for i in range(count)]
    for i, name in enumerate(names):
        name.write_bytes(b"%d" % i)
    return names


@linux
def test_three_hundred_files_need_no_more_descriptors_than_the_limit(model: Path) -> None:
    names, before = many(model), open_fds()
    with sources(model, limit=10) as files:
        for _ in range(2):
            for i, name in enumerate(names):
                assert os.pread(files.fd(name), 10, 0) == b"%d" % i
                assert open_fds() <= before + 10
        files.verify_unchanged()
    assert open_fds() == before


@linux
def test_a_process_that_runs_out_of_descriptors_gives_back_half_and_goes_on(model: Path) -> None:
    import resource

    names = many(model)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    with sources(model, limit=1000) as files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, hard))
        try:
            for i, name in enumerate(names):
                assert os.pread(files.fd(name), 10, 0) == b"%d" % i
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_pool_holds_at_least_one_file(model: Path) -> None:
    with pytest.raises(UsageError, match="limit of 1"):
        SourceFiles(roots=(model,), owner_uid=None, limit=0)

"""The wrappers: what they promise, and what they do when the kernel refuses."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from onnx_align_pass.transfer import kernel
from tests.transfer.support import file_of, noise

linux = pytest.mark.skipif(not hasattr(os, "splice"), reason="needs Linux")


def refusing(code: int, calls: list[int] | None = None) -> SimpleNamespace:
    """An fcntl whose ioctl fails, the first times only when `calls` has numbers left."""

    def ioctl(fd: int, request: int, argument: bytes) -> int:
        if calls is None or calls:
            if calls:
                calls.pop()
            raise OSError(code, os.strerror(code))
        return 0

    return SimpleNamespace(ioctl=ioctl)


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_001])
def test_a_reserved_file_has_exactly_its_size_and_is_zero(size: int) -> None:
    with file_of(b"") as fd:
        kernel.reserve(fd, size)
        assert os.fstat(fd).st_size == size
        assert os.pread(fd, size + 1, 0) == bytes(size)


@linux
def test_a_reserved_file_has_its_blocks() -> None:
    with file_of(b"") as fd:
        kernel.reserve(fd, 1 << 20)
        if os.fstat(fd).st_blocks == 0:
            pytest.skip("this file system reserves nothing")
        assert os.fstat(fd).st_blocks * 512 >= 1 << 20


@linux
@pytest.mark.parametrize("code", ["ENOTTY", "EOPNOTSUPP", "EINVAL", "ENOSYS"])
def test_where_nothing_can_be_reserved_the_size_is_set_all_the_same(
    monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(kernel, "fcntl", refusing(getattr(errno, code)))
    with file_of(b"") as fd:
        kernel.reserve(fd, 5000)
        assert os.fstat(fd).st_size == 5000


@linux
@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT", "EFBIG", "EIO"])
def test_a_full_disk_is_reported_before_a_byte_is_copied(
    monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(kernel, "fcntl", refusing(getattr(errno, code)))
    with file_of(b"") as fd:
        with pytest.raises(OSError, match=re.escape(os.strerror(getattr(errno, code)))) as caught:
            kernel.reserve(fd, 5000)
        assert caught.value.errno == getattr(errno, code)
        assert os.fstat(fd).st_size == 0


@linux
def test_an_ioctl_that_a_signal_interrupts_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "fcntl", refusing(errno.EINTR, [1, 2]))
    with file_of(b"") as fd:
        kernel.reserve(fd, 5000)
        assert os.fstat(fd).st_size == 5000


@linux
def test_what_a_small_disk_lacks_is_seen_without_taking_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = SimpleNamespace(f_blocks=1000, f_bfree=10, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda fd: room)
    with file_of(b"") as fd:
        kernel.reserve(fd, 11 * 4096)
        os.ftruncate(fd, 0)
        with pytest.raises(OSError, match="No space") as caught:
            kernel.reserve(fd, 12 * 4096)
        assert caught.value.errno == errno.ENOSPC
        assert os.fstat(fd).st_blocks == 0


@linux
def test_what_was_got_before_a_failure_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    real = kernel._ioctl

    def partly(fd: int, request: int, argument: bytes) -> None:
        real(fd, request, argument)
        if argument == kernel._space(1 << 20):
            raise OSError(errno.ENOSPC, "after some blocks")

    monkeypatch.setattr(kernel, "_ioctl", partly)
    with file_of(b"") as fd:
        with pytest.raises(OSError, match="after some blocks"):
            kernel.reserve(fd, 1 << 20)
        assert (os.fstat(fd).st_size, os.fstat(fd).st_blocks) == (0, 0)


@linux
def test_a_pipe_grows_and_one_that_may_not_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_end, write_end = os.pipe()
    try:
        assert kernel.grow_pipe(write_end, 131_072) == 131_072
        monkeypatch.setattr(kernel, "_pipe_limit", lambda default: default)
        if os.geteuid() != 0:
            assert kernel.grow_pipe(write_end, 1 << 30) == 131_072
        fake = SimpleNamespace(F_SETPIPE_SZ=1, F_GETPIPE_SZ=2, fcntl=_no_growth)
        monkeypatch.setattr(kernel, "fcntl", fake)
        assert kernel.grow_pipe(write_end, 1 << 20) == 4096
    finally:
        os.close(read_end)
        os.close(write_end)


def _no_growth(fd: int, command: int, size: int = 0) -> int:
    if command == 1:
        raise PermissionError(errno.EPERM, "pipe-user-pages-soft")
    return 4096


def test_a_lock_is_held_by_one_descriptor_and_freed_with_it(tmp_path: Path) -> None:
    if kernel.fcntl is None:
        pytest.skip("needs flock")
    first, second = kernel.open_folder(tmp_path), kernel.open_folder(tmp_path)
    assert first is not None
    assert second is not None
    assert kernel.try_lock(first)
    assert kernel.try_lock(first), "again by the holder"
    assert not kernel.try_lock(second)
    os.close(first)
    assert kernel.try_lock(second)
    os.close(second)


@pytest.mark.parametrize(("code", "free"), [("ENOSYS", True), ("ENOLCK", True), ("EIO", None)])
def test_where_locks_do_not_exist_everything_is_free(
    monkeypatch: pytest.MonkeyPatch, code: str, free: bool | None
) -> None:
    def flock(fd: int, how: int) -> None:
        raise OSError(getattr(errno, code), code)

    monkeypatch.setattr(kernel, "fcntl", SimpleNamespace(flock=flock, LOCK_EX=2, LOCK_NB=4))
    if free is None:
        with pytest.raises(OSError, match=code):
            kernel.try_lock(0)
    else:
        assert kernel.try_lock(0) is free


def test_folders_and_files_can_be_synced(tmp_path: Path) -> None:
    kernel.sync_folder(tmp_path)
    with file_of(noise(100)) as fd:
        kernel.start_writeback(fd, 0, 100)
        kernel.sync_file(fd)


def test_writeback_is_advice_and_fails_in_silence() -> None:
    kernel.start_writeback(-1, 0, 100)


@linux
@pytest.mark.parametrize(("code", "raised"), [("EINVAL", False), ("ENOTSUP", False), ("EIO", True)])
def test_a_folder_that_cannot_be_synced_is_not_an_error_but_a_failed_sync_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, raised: bool
) -> None:
    def fail(fd: int) -> None:
        raise OSError(getattr(errno, code), code)

    monkeypatch.setattr(kernel, "sync_file", fail)
    if raised:
        with pytest.raises(OSError, match=code):
            kernel.sync_folder(tmp_path)
    else:
        kernel.sync_folder(tmp_path)


def test_a_system_without_folder_descriptors_syncs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    assert kernel.open_folder(tmp_path) is None
    kernel.sync_folder(tmp_path / "missing")


def test_macos_gets_the_sync_that_reaches_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    fake = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda fd, command: asked.append(command))
    monkeypatch.setattr(kernel, "fcntl", fake)
    monkeypatch.delattr(os, "fsync")
    kernel.sync_file(0)
    assert asked == [51]

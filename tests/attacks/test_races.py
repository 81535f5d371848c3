"""Files that change between a look and the read: never are outside bytes in a result."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from onnx_align_pass import AlignError, align_file, load
from onnx_align_pass.digesting import digest_of
from tests.corpus.bad_paths import SECRET, pointing
from tests.corpus.build import DATA, numbers

OWN = numbers("own", [300]).tobytes()
TRIES = 300


@contextmanager
def flipping(flip: Callable[[], None]) -> Iterator[None]:
    """Do it over and over in a thread."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            with suppress(OSError):
                flip()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


class Scene:
    """A model whose data file, or the folder of it, is now its own and now a link to a secret."""

    def __init__(self, folder: Path, location: str) -> None:
        self.out = folder / "out"
        self.out.mkdir()
        (folder / "secret").mkdir()
        (folder / "secret" / "w.data").write_bytes(SECRET)
        self.model = pointing(folder, location)
        self.flipped = folder / "model" / location.split("/")[0]
        self.spare = folder / "model" / "spare"
        is_folder = "/" in location
        if is_folder:
            self.flipped.mkdir()
            (self.flipped / "w.data").write_bytes(OWN)
        else:
            self.flipped.write_bytes(OWN)
        self.spare.symlink_to("../secret" if is_folder else "../secret/w.data")

    def flip(self) -> None:
        """Exchange the two names, with a third as the go-between: each is missing for a moment."""
        third = self.spare.with_name("third")
        self.flipped.rename(third)
        self.spare.rename(self.flipped)
        third.rename(self.spare)


@pytest.mark.parametrize("tries", [TRIES, pytest.param(5_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("location", [DATA, "weights/w.data"], ids=["file", "folder"])
def test_a_name_that_flips_between_a_file_and_a_link_never_leaks(
    location: str, tries: int, tmp_path: Path
) -> None:
    """A guard that looks at the name, and then opens it, leaks a dozen times in 5,000."""
    scene, outcomes = Scene(tmp_path, location), Counter[str]()
    with flipping(scene.flip):
        for number in range(tries):
            result = scene.out / f"{number}.onnx"
            try:
                align_file(scene.model, result, durable=False)
            except AlignError as error:
                outcomes[type(error).__name__] += 1
                assert not result.exists()
                continue
            outcomes["written"] += 1
            written = [one.read_bytes() for one in scene.out.glob(f"{number}.onnx*")]
            assert any(OWN in one for one in written)
            assert not any(SECRET in one for one in written)
    assert sum(outcomes.values()) == tries
    assert len(outcomes) > 1, outcomes


@pytest.mark.parametrize("location", [DATA, "weights/w.data"], ids=["file", "folder"])
def test_what_is_read_later_is_never_the_secret(location: str, tmp_path: Path) -> None:
    scene, read, later = Scene(tmp_path, location), Counter[bytes](), Counter[bytes]()
    model = load(scene.model)
    weight = model.graph.initializers["w"].const_value
    assert weight is not None
    with flipping(scene.flip):
        wanted = None
        for _ in range(TRIES):
            with suppress(AlignError):
                read[load(scene.model).graph.initializers["w"].const_value.tobytes()] += 1  # type: ignore[union-attr]
            with suppress(AlignError):
                later[weight.tobytes()] += 1
            with suppress(AlignError):
                wanted = wanted or digest_of(scene.model)
                assert digest_of(scene.model) == wanted
    assert set(read) == set(later) == {OWN}


@pytest.mark.parametrize("grows", [True, False])
def test_a_data_file_that_changes_its_size_while_it_is_read_gives_no_result(
    grows: bool, tmp_path: Path
) -> None:
    model = pointing(tmp_path, DATA)
    data = model.with_name(DATA)
    data.write_bytes(OWN)
    lengths = (len(OWN), len(OWN) + 4096) if grows else (len(OWN), 16)

    def resize() -> None:
        for length in lengths:
            os.truncate(data, length)

    (tmp_path / "out").mkdir()
    with flipping(resize):
        for number in range(TRIES):
            result = tmp_path / "out" / f"{number}.onnx"
            with suppress(AlignError):
                align_file(model, result, durable=False, verify=True)
                assert (tmp_path / "out" / f"{number}.onnx.data").stat().st_size == len(OWN)
    assert not [one for one in (tmp_path / "out").iterdir() if one.name.startswith(".")]


def test_a_model_that_flips_to_a_link_gives_one_of_the_two_whole(tmp_path: Path) -> None:
    """The user named it: it may be anywhere. But no result is of both."""
    scene = Scene(tmp_path, DATA)
    other = pointing(tmp_path / "elsewhere", "other.data")
    other.with_name("other.data").write_bytes(SECRET)
    link = scene.model.with_name("link")
    link.symlink_to(other)
    third = link.with_name("third")

    def flip() -> None:
        scene.model.rename(third)
        link.rename(scene.model)
        third.rename(link)

    with flipping(flip):
        for number in range(TRIES):
            result = scene.out / f"{number}.onnx"
            with suppress(AlignError):
                align_file(scene.model, result, durable=False)
                assert (scene.out / f"{number}.onnx.data").read_bytes() in (OWN, SECRET)

"""The cache of the Hugging Face Hub: read as it is, never written into, and no way out of it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import ModelError, align_file, load, plan_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.renaming import rename_file
from onnx_align_pass.shared import align_shared
from onnx_align_pass.verifying import verify_file
from tests.align.snapshot import snapshot
from tests.corpus.bad_paths import SECRET, weight
from tests.corpus.build import model_of, numbers, showing

OWN = numbers("own", [300]).tobytes()
REVISION = "0123456789abcdef0123456789abcdef01234567"
DATA = "model.onnx_data"
Link = Callable[[Path, Path], None]


def _relative_link(blob: Path, pointer: Path) -> None:
    pointer.parent.mkdir(parents=True, exist_ok=True)
    pointer.symlink_to(os.path.relpath(blob, pointer.parent))


def _hub_link(blob: Path, pointer: Path) -> None:
    """The library's own way, where it is installed."""
    hub = pytest.importorskip("huggingface_hub.file_download")
    pointer.parent.mkdir(parents=True, exist_ok=True)
    hub._create_symlink(str(blob), str(pointer), new_blob=True)


class Cache:
    """One repository of a cache: `blobs` by digest, and snapshots of links into them."""

    def __init__(self, folder: Path, link: Link) -> None:
        self.repository = folder / "models--someone--model"
        self.blobs = self.repository / "blobs"
        self.snapshot = self.repository / "snapshots" / REVISION
        self._link = link
        for one in (self.blobs, self.snapshot, self.repository / "refs"):
            one.mkdir(parents=True)
        (self.repository / "refs" / "main").write_text(REVISION)

    def add(self, name: str, content: bytes) -> Path:
        blob = self.blobs / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        self._link(blob, self.snapshot / name)
        return self.snapshot / name

    def model(self, name: str = "model.onnx", *, data: bool = True) -> Path:
        model = self.add(name, model_of(showing([weight(DATA)])).SerializeToString())
        if data:
            self.add(f"{name.removesuffix('model.onnx')}{DATA}", OWN)
        return model


@pytest.fixture(params=[_relative_link, _hub_link], ids=["by hand", "by the library"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Cache:
    (tmp_path / "out").mkdir()
    return Cache(tmp_path / "hub", request.param)


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_a_snapshot_is_read_and_not_touched(name: str, cache: Cache, tmp_path: Path) -> None:
    model, before = cache.model(name), snapshot(cache.repository)
    assert plan_file(model).total_bytes == len(OWN)
    assert verify_file(model).ok
    assert digest_of(model)
    assert load(model).graph.initializers["w"].const_value.tobytes() == OWN  # type: ignore[union-attr]
    codes = {one.code for one in inspect_file(model).findings}
    assert "hub-cache" in codes
    align_file(model, tmp_path / "out" / "a.onnx", durable=False)
    align_file(cache.snapshot, tmp_path / "out" / "all", durable=False)
    align_shared([model], tmp_path / "out" / "shared", shared_data="d", durable=False)
    inline_file(model, tmp_path / "out" / "b.onnx", durable=False)
    assert snapshot(cache.repository) == before
    for path in (tmp_path / "out").rglob("*"):
        found = path.lstat()
        assert stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)
    assert (tmp_path / "out" / "a.onnx.data").read_bytes() == OWN


def test_in_place_and_by_another_name_it_is_refused_and_the_target_is_named(
    cache: Cache, tmp_path: Path
) -> None:
    model, before = cache.model(), snapshot(cache.repository)
    for call in (
        lambda: align_file(model),
        lambda: inline_file(model),
        lambda: rename_file(model, tmp_path / "out" / "r.onnx"),
    ):
        with pytest.raises(ModelError) as error:
            call()
        assert str(cache.blobs) in str(error.value)
    assert snapshot(cache.repository) == before


def test_a_result_does_not_go_into_the_snapshot_over_its_own_links(cache: Cache) -> None:
    model, other = cache.model(), cache.add("other.onnx", b"another model")
    before = snapshot(cache.repository)
    for target in (model, other):
        with pytest.raises(ModelError):
            align_file(model, target, overwrite=True)
    assert snapshot(cache.repository) == before


def test_a_blob_that_was_not_fetched_is_told_as_missing(cache: Cache, tmp_path: Path) -> None:
    model = cache.model(data=False)
    with pytest.raises(ModelError) as error:
        align_file(model, tmp_path / "out" / "r.onnx")
    assert error.value.code == "data-file-missing"
    (cache.snapshot / DATA).symlink_to("../../blobs/" + "0" * 64)
    with pytest.raises(ModelError) as error:
        align_file(model, tmp_path / "out" / "r.onnx")
    assert error.value.code == "data-file-missing"


def test_data_that_lies_in_the_blobs_under_its_name_alone_is_not_looked_for(
    cache: Cache, tmp_path: Path
) -> None:
    model = cache.model(data=False)
    (cache.blobs / DATA).write_bytes(OWN)
    with pytest.raises(ModelError) as error:
        plan_file(model)
    assert error.value.code == "data-file-missing"
    rightly = align_file(cache.blobs / os.path.basename(os.path.realpath(model)), tmp_path / "out")
    assert rightly.data_bytes == len(OWN)  # whoever names the blob itself has its folder


@pytest.mark.parametrize(
    "target", ["../../../secret", "../../refs/main", "../../../models--other--one/blobs/secret"]
)
def test_a_link_that_leaves_both_folders_is_refused(
    target: str, cache: Cache, tmp_path: Path
) -> None:
    model = cache.model(data=False)
    (cache.repository.parent / "secret").write_bytes(SECRET)
    other = cache.repository.parent / "models--other--one" / "blobs"
    other.mkdir(parents=True)
    (other / "secret").write_bytes(SECRET)
    (cache.snapshot / DATA).symlink_to(target)
    for call in (plan_file, digest_of, load):
        with pytest.raises(ModelError) as error:
            call(model)
        assert error.value.code == "data-file-outside"
    with pytest.raises(ModelError):
        align_file(cache.snapshot, tmp_path / "out" / "all")
    assert not list((tmp_path / "out").iterdir())

"""Damaged files: read as protobuf reads them, or refused by a named error. Nothing else, ever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass import ModelError, StoragePolicy, align_file, plan_file, plan_text
from onnx_align_pass.model.skeleton import read_skeleton
from tests.corpus import CASES
from tests.corpus.build import model_of, showing, tensor
from tests.corpus.wire import block, varint_field

from .damage import damaged
from .support import assert_read_as_protobuf_does, parsed
from .wild import Wild

pytestmark = pytest.mark.ends_within(60)
seeds = st.integers(0, 2**32)


@settings(max_examples=500, deadline=None)
@given(seed=seeds, size=st.integers(1, 60), cut=st.sampled_from((0, 16, 1024)))
def test_a_damaged_model_is_read_as_protobuf_reads_it_or_refused(
    scratch: Path, seed: int, size: int, cut: int
) -> None:
    content = damaged(Wild(seed, size).model(), seed)
    scratch.write_bytes(content)
    assert_read_as_protobuf_does(scratch, content, cut)


@settings(max_examples=300, deadline=None)
@given(seed=seeds, name=st.sampled_from(sorted(CASES.keys() & {"mixed", "if_branches", "strings"})))
def test_a_damaged_model_of_the_corpus_too(
    scratch: Path, name: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = damaged(good(name, tmp_path_factory), seed)
    scratch.write_bytes(content)
    assert_read_as_protobuf_does(scratch, content, 1024)


def test_a_model_cut_short_at_any_byte_is_refused_when_protobuf_refuses_it(scratch: Path) -> None:
    content = model_of(showing([tensor("w", [40]), tensor("v", [5])])).SerializeToString()
    for end in range(len(content)):
        scratch.write_bytes(content[:end])
        assert_read_as_protobuf_does(scratch, content[:end], 16)


def good(name: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Bytes of a model of the corpus; built once."""
    if name not in BUILT:
        BUILT[name] = CASES[name].build(tmp_path_factory.mktemp(name)).read_bytes()
    return BUILT[name]


BUILT: dict[str, bytes] = {}


@settings(max_examples=300, deadline=None)
@given(seed=seeds, size=st.integers(1, 60), hurt=st.booleans())
def test_a_plan_for_any_model_is_a_plan_or_a_named_error(
    scratch: Path, seed: int, size: int, hurt: bool
) -> None:
    content = Wild(seed, size).model()
    scratch.write_bytes(damaged(content, seed) if hurt else content)
    try:
        text = plan_text(plan_file(scratch, storage=StoragePolicy(size_threshold_bytes=0)))
    except ModelError as error:
        text = str(error)
    assert text.replace("\n", "").isprintable()


def test_a_damaged_block_of_varints_is_refused_when_its_numbers_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    head = varint_field(1, 1400) + varint_field(2, 7) + block(8, b"w")
    path.write_bytes(block(7, block(5, head + block(7, b"\x01" * 1399 + b"\x80"))))
    assert parsed(path.read_bytes()) is None
    assert [cut.field_name for cut in read_skeleton(path).cuts] == ["int64_data"]
    with pytest.raises(ModelError):
        align_file(path, tmp_path / "result.onnx", durable=False)
    assert sorted(tmp_path.iterdir()) == [path]


LIMITED = """
import resource, sys
from pathlib import Path
from onnx_align_pass import AlignError
from onnx_align_pass.model.skeleton import read_skeleton
from onnx_align_pass.model.emit import emit

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20,) * 2)
for name in sys.argv[1:]:
    try:
        emit(read_skeleton(Path(name)))
    except AlignError:
        pass
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_no_file_of_a_megabyte_takes_64_mib_to_read(tmp_path: Path) -> None:
    hostile = {
        "numbers apart": block(5, (varint_field(7, 5) + varint_field(1, 1)) * 250_000),
        "raw data again and again": block(5, block(9, b"") * 500_000),
        "unpacked": block(5, varint_field(7, 5) * 500_000),
        "unknown": varint_field(1000, 1) * 300_000,
        "large weights said": block(5, varint_field(2, 1) + b"\x4a" + b"\xff\xff\xff\xff\x07"),
        "empty nodes": block(1, b"") * 300_000,
    }
    paths = [tmp_path / f"{name}.onnx" for name in hostile]
    for path, body in zip(paths, hostile.values(), strict=True):
        path.write_bytes(block(7, body))
    for seed in range(100):
        paths.append(tmp_path / f"{seed}.onnx")
        paths[-1].write_bytes(damaged(Wild(seed, 60).model(), seed))
    command = [sys.executable, "-c", LIMITED, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

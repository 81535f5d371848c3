"""Offsets, lengths, order and bytes are onnx-ir's, on each model that onnx-ir writes right.

Where it does not, the reason is found in the model itself, or is listed by name; each exclusion is
held against the version that was measured, so that none outlives its reason.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx_ir as ir
import pytest
from onnx import TensorProto

from onnx_align_pass import LayoutPolicy, StoragePolicy, align_file
from tests.corpus import oracle
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.corpus.real import REAL

MEASURED = "1.1.0"
"""The version of onnx-ir whose defects these are."""
NAME = "model.onnx"
RAISES = {
    "strings": "it cannot write a string tensor over the threshold",
    "unknown_dtypes_inline": "it refuses a dtype that it does not know",
    "sparse_constants": "it refuses sparse attributes",
    "sparse_tensors_attribute": "it refuses sparse attributes",
    "tensor_name_not_utf8": "it refuses a name that is not UTF-8",
    "other_large_attributes": "it refuses string attributes that are not UTF-8",
    "hugging_face_snapshot": "it refuses data files that are links",
    "data_has_two_links": "it refuses data files of two links",
}
"""What onnx-ir refuses to load or to save."""
REFUSED = {"location_down_and_up"}
"""Refused by us, on purpose: a location with `..` in it."""
SUBGRAPH = re.compile(r"(?:\.node\[\d+\]\.attribute\[\d+\]\.(?:g|graphs\[\d+\]))*")
INITIALIZER = re.compile(rf"graph{SUBGRAPH.pattern}\.initializer\[\d+\]")
pytestmark = pytest.mark.skipif(
    "alignment" not in inspect.signature(ir.save).parameters,
    reason="this onnx-ir does not align",
)
Files = dict[str, bytes]
Entries = list[tuple[object, ...]]


def exclusion(source: Path, threshold: int) -> str | None:
    """Why onnx-ir lays this model out otherwise; None where it must agree."""
    for reason, found in (
        ("it leaves external tensors behind that are no initializers", strays),
        ("it never looks into functions", function_initializers),
        ("it writes a range that several tensors share once for each of them", ties),
        ("it drops initializers without a name, and all but one of a name", nameless),
    ):
        if any(found(source, threshold)):
            return reason
    if any(small_vectors(source, threshold)):
        return "it makes the inputs of shapes external, which onnxruntime refuses"
    return None


def walked(source: Path) -> Iterator[tuple[str, TensorProto]]:
    return oracle.walk(oracle.parse(source))


def strays(source: Path, threshold: int) -> Iterator[bool]:
    for place, tensor in walked(source):
        yield tensor.data_location == TensorProto.EXTERNAL and not INITIALIZER.fullmatch(place)


def function_initializers(source: Path, threshold: int) -> Iterator[bool]:
    for place, tensor in walked(source):
        if place.startswith("functions") and ".initializer" in place:
            yield len(tensor.raw_data) >= threshold


def ties(source: Path, threshold: int) -> Iterator[bool]:
    ranges = Counter(
        (entries["location"], int(entries.get("offset", "0")))
        for _, tensor in walked(source)
        if tensor.data_location == TensorProto.EXTERNAL
        for entries in [oracle.entries_of(tensor)]
        if len(oracle.content(tensor, source.parent).raw) >= threshold
    )
    yield any(times > 1 for times in ranges.values())


def nameless(source: Path, threshold: int) -> Iterator[bool]:
    names = Counter(one.name for place, one in walked(source) if re.match(r"graph\.i", place))
    yield "" in names or any(times > 1 for times in names.values())


def small_vectors(source: Path, threshold: int) -> Iterator[bool]:
    for place, content in oracle.tensors(source).items():
        if INITIALIZER.fullmatch(place):
            yield len(content.dims) <= 1 and threshold <= len(content.raw) <= 1024


def entries(model: Path) -> Entries:
    """What the model says of each external tensor, in the order of the model."""
    return [
        (place, found["location"], found["offset"], found["length"])
        for place, tensor in walked(model)
        if tensor.data_location == TensorProto.EXTERNAL
        for found in [oracle.entries_of(tensor)]
    ]


def data_files(model: Path) -> Files:
    """Every file beside the model, but for the empty one that onnx-ir writes for no tensors."""
    files = [path for path in model.parent.rglob("*") if path.is_file() and path != model]
    return {path.name: path.read_bytes() for path in files if path.stat().st_size}


def written_by_onnx_ir(
    source: Path, folder: Path, layout: LayoutPolicy, threshold: int
) -> tuple[Entries, Files]:
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ir.save(
            ir.load(source),
            folder / NAME,
            external_data=f"{NAME}.data",
            alignment=layout.alignment,
            align_threshold=0,  # it aligns what is strictly larger, we what is at least as large
            size_threshold_bytes=threshold - 1,  # likewise
            max_shard_size_bytes=layout.max_shard_size_bytes,
        )
    return entries(folder / NAME), data_files(folder / NAME)


def written_by_us(
    source: Path, folder: Path, layout: LayoutPolicy, threshold: int
) -> tuple[Entries, Files]:
    folder.mkdir()
    storage = StoragePolicy(size_threshold_bytes=threshold, convert_attribute=False)
    align_file(source, folder / NAME, storage=storage, layout=layout, durable=False)
    return entries(folder / NAME), data_files(folder / NAME)


def assert_alike(
    source: Path, tmp_path: Path, layout: LayoutPolicy, threshold: int, case: str = ""
) -> None:
    reason = RAISES.get(case) or exclusion(source, threshold)
    if reason is None:
        ours = written_by_us(source, tmp_path / "ours", layout, threshold)
        assert ours == written_by_onnx_ir(source, tmp_path / "theirs", layout, threshold)
    elif importlib.metadata.version("onnx-ir") == MEASURED:
        try:
            theirs = written_by_onnx_ir(source, tmp_path / "theirs", layout, threshold)
        except (ValueError, ir.serde.SerdeError):
            assert case in RAISES
        else:
            assert case not in RAISES
            ours = written_by_us(source, tmp_path / "ours", layout, threshold)
            assert ours != theirs, f"excluded, but no different: {reason}"


@pytest.mark.parametrize("threshold", [1025, 100])
@pytest.mark.parametrize("case", [one for one in cases() if one.id not in REFUSED])
def test_the_layout_is_that_of_onnx_ir(case: Case, threshold: int, tmp_path: Path) -> None:
    source = case.build(folder(tmp_path / "source"))
    assert_alike(source, tmp_path, LayoutPolicy(), threshold, case.name)


@pytest.mark.parametrize("alignment", [4096, 65536])
@pytest.mark.parametrize("limit", [1, 5000, 10_000, 200_000])
@pytest.mark.parametrize(
    "case", [one for one in cases() if one.id in ("mixed", "dtype_INT8", "one_file_a_tensor")]
)
def test_shards_are_those_of_onnx_ir(
    case: Case, limit: int, alignment: int, tmp_path: Path
) -> None:
    source = case.build(folder(tmp_path / "source"))
    layout = LayoutPolicy(alignment=alignment, max_shard_size_bytes=limit)
    assert exclusion(source, 1025) is None
    assert_alike(source, tmp_path, layout, 1025)


@pytest.mark.parametrize("name", sorted(REAL))
def test_the_layout_of_a_real_model_is_that_of_onnx_ir(name: str, tmp_path: Path) -> None:
    assert exclusion(REAL[name].path(), 1025) is None
    assert_alike(REAL[name].path(), tmp_path, LayoutPolicy(), 1025)


def folder(path: Path) -> Path:
    path.mkdir()
    return path

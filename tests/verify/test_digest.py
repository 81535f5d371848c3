"""The content digest: what changes it, what does not, and that it is the one that is defined."""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnx_align_pass import ModelError, SourceChangedError, UsageError, align_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.model.canonical import canonical
from onnx_align_pass.transfer.positional import read_full
from tests.corpus import CASES, oracle, wire
from tests.corpus.build import external, model_of, showing, tensor, write
from tests.corpus.case import BadCase, Case
from tests.corpus.params import bad_cases, cases
from tests.model.wild import Wild

from .layouts import LAYOUTS, random_model, stored
from .page import PROMISED, TEXT, canonical_of, oracle_digest, run_example

REFUSED = {"location_down_and_up": "what its `..` means depends on links"}
HUGE = {"beyond_4_gib": "the program on the page reads data files whole"}
READ = [case for case in cases() if case.id not in REFUSED]
HARMLESS = {
    "external_zero_times_huge": "it has no bytes, so nothing is read",
    "string_in_raw_data": "all of it is hashed, whatever it means",
}
each = given(seed=st.integers(0, 2**32))


@pytest.mark.parametrize("case", [case for case in READ if case.id not in HUGE])
def test_the_digest_is_that_of_the_program_on_the_page(case: Case, tmp_path: Path) -> None:
    model = case.build(tmp_path)
    assert digest_of(model) == oracle_digest(model)


@pytest.mark.parametrize("case", READ)
def test_no_layout_changes_the_digest(case: Case, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = case.build(tmp_path / "source")
    digest = digest_of(source)
    for name, (storage, layout) in LAYOUTS.items():
        result = tmp_path / name / "model.onnx"
        align_file(source, result, storage=storage, layout=layout, durable=False)
        assert digest_of(result) == digest, name


def test_the_example_on_the_page_has_the_digest_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_example()
    assert digest_of("example.onnx") == PROMISED == oracle_digest(Path("example.onnx"))
    content = hashlib.sha256(bytes.fromhex("0000803f000000c0")).hexdigest()
    assert f"`{content}`" in TEXT


@settings(max_examples=60, deadline=None)
@each
def test_where_a_random_model_keeps_its_tensors_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    with tempfile.TemporaryDirectory() as name:
        first, second = (stored(model, Path(name, one), rng) for one in ("first", "second"))
        assert digest_of(first) == digest_of(second) == oracle_digest(first)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 80))
def test_the_canonical_form_of_any_model_is_that_of_the_page(seed: int, size: int) -> None:
    model = onnx.ModelProto.FromString(Wild(seed, size).model())
    assert canonical(model, Path("model.onnx")) == canonical_of(model)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 80))
def test_the_canonical_form_is_read_as_the_same_model(seed: int, size: int) -> None:
    model = onnx.ModelProto.FromString(Wild(seed, size).model())
    form = canonical(model, Path("model.onnx"))
    again = onnx.ModelProto.FromString(form)
    assert canonical(again, Path("model.onnx")) == form
    again.DiscardUnknownFields()
    model.DiscardUnknownFields()
    assert again.SerializeToString() == model.SerializeToString()


def test_the_order_in_which_unknown_fields_came_among_others_does_not_matter() -> None:
    known = model_of(showing([tensor("w", [3])])).SerializeToString()
    low, high = wire.varint_field(30, 7, width=4), wire.block(40, b"x", width=3)
    forms = [low + known + high, high + low + known, known + low + high]
    found = {canonical(onnx.ModelProto.FromString(one), Path("m")) for one in forms}
    assert len(found) == 1
    other = wire.varint_field(30, 8) + known + high
    assert canonical(onnx.ModelProto.FromString(other), Path("m")) not in found


def test_two_unknown_fields_of_one_number_keep_their_order() -> None:
    known = model_of(showing([tensor("w", [3])])).SerializeToString()
    one, two = wire.varint_field(30, 1), wire.varint_field(30, 2)
    models = [onnx.ModelProto.FromString(known + more) for more in (one + two, two + one)]
    assert canonical(models[0], Path("m")) != canonical(models[1], Path("m"))


@pytest.mark.parametrize("case", [case for case in bad_cases() if case.id not in HARMLESS])
@pytest.mark.ends_within(20)
def test_a_model_with_faults_has_no_digest(case: BadCase, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        digest_of(case.build(tmp_path))


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_no_fault_to_a_digest_has_one(name: str, tmp_path: Path) -> None:
    (case,) = [one.values[0] for one in bad_cases() if one.id == name]
    assert len(digest_of(case.build(tmp_path))) == 64


def test_raw_data_of_a_type_that_has_no_size_counts(tmp_path: Path) -> None:
    def build(name: str, raw: bytes | None, numbers: Sequence[int] = ()) -> str:
        odd = TensorProto(name="odd", data_type=99, dims=[2], int32_data=numbers)
        if raw is not None:
            odd.raw_data = raw
        (tmp_path / name).mkdir()
        graph = showing([tensor("w", [3])])
        graph.initializer.append(odd)
        return digest_of(write(tmp_path / name, graph))

    long = bytes(5_000)
    digests = [
        build("none", None),
        build("short", b"\1"),
        build("long", long),
        build("other", long[:-1] + b"\1"),
        build("numbers", None, [1] * 3_000),
        build("other numbers", None, [1] * 2_999 + [2]),
    ]
    assert len(set(digests)) == len(digests)


def test_tensors_that_change_places_change_the_digest(tmp_path: Path) -> None:
    tensors = [tensor("a", [300]), tensor("b", [300])]
    digests = set()
    for name, order in (("one", tensors), ("other", tensors[::-1])):
        graph = showing(tensors)
        del graph.initializer[:]
        graph.initializer.extend(order)
        (tmp_path / name).mkdir()
        digests.add(digest_of(write(tmp_path / name, graph)))
    assert len(digests) == 2


def test_equal_bytes_of_another_shape_are_another_model(tmp_path: Path) -> None:
    digests = set()
    for dims in ([300], [30, 10], [10, 30], [300, 1]):
        one = tensor("w", [300])
        one.dims[:] = dims
        folder = tmp_path / str(dims)
        folder.mkdir()
        digests.add(digest_of(write(folder, showing([external(one, folder)]))))
    assert len(digests) == 4


def test_a_tensor_in_an_attribute_whose_type_denies_it_is_a_tensor(tmp_path: Path) -> None:
    digests = set()
    for name in ("raw", "typed"):
        value = TensorProto(data_type=TensorProto.FLOAT, dims=[1])
        if name == "raw":
            value.raw_data = b"\0\0\x80?"
        else:
            value.float_data.append(1.0)
        node = helper.make_node("Constant", [], ["made"], value=value)
        node.attribute[0].type = onnx.AttributeProto.INT
        graph = showing([tensor("w", [3])])
        graph.node.append(node)
        (tmp_path / name).mkdir()
        path = write(tmp_path / name, graph)
        digests.add(digest_of(path))
        assert oracle_digest(path) in digests
    assert len(digests) == 1


def test_large_tensors_are_hashed_by_two_threads_and_in_parts(tmp_path: Path) -> None:
    tensors = [tensor(name, [600, 701]) for name in ("a", "b", "c", "d", "e")]
    model = write(tmp_path, showing([external(one, tmp_path) for one in tensors]))
    assert sum(len(one.raw_data) for one in tensors) > 8 << 20
    told: list[tuple[int, str]] = []

    class Listener:
        total = 0

        def begin(self, model: str, total_bytes: int) -> None:
            self.total = total_bytes

        def advance(self, nbytes: int, tensor: str) -> None:
            told.append((nbytes, tensor))

        def phase(self, text: str) -> None: ...

    listener = Listener()
    assert digest_of(model, progress=listener) == oracle_digest(model)
    assert sum(nbytes for nbytes, _ in told) == listener.total == 5 * 600 * 701 * 4
    assert {name for _, name in told} <= {"a", "b", "c", "d", "e"}


def test_a_data_file_that_changes_meanwhile_has_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write(tmp_path, showing([external(tensor("w", [5_000]), tmp_path)]))
    data = tmp_path / "model.onnx.data"
    read = read_full

    def overtaken(fd: int, view: memoryview, offset: int) -> int:
        count = read(fd, view, offset)
        content = data.read_bytes()
        data.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) + b"more")
        return count

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", overtaken)
    with pytest.raises(SourceChangedError):
        digest_of(model)


def test_an_error_of_the_disk_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write(tmp_path, showing([external(tensor("w", [5_000]), tmp_path)]))

    def broken(fd: int, view: memoryview, offset: int) -> int:
        error = OSError(5, "Input/output error")
        error.filename = fd
        raise error

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", broken)
    with pytest.raises(ModelError, match="Input/output error") as error:
        digest_of(model)
    assert error.value.file == str(tmp_path / "model.onnx.data")


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(UsageError):
        digest_of("")


def test_models_of_a_cache_by_links_are_hashed(tmp_path: Path) -> None:
    model = CASES["hugging_face_snapshot"].build(tmp_path)
    assert model.is_symlink()
    assert digest_of(model) == oracle_digest(model)
    assert oracle.tensors(model)

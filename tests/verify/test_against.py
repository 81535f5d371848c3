"""Two models compared: equal in whatever layout, or the first difference named."""

from __future__ import annotations

import os
import random
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper

from onnx_align_pass import LayoutPolicy, SourceChangedError, UsageError, align_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.findings import Finding
from onnx_align_pass.transfer.positional import read_full
from onnx_align_pass.verifying import verify_file
from tests.align.small_models import external_model
from tests.corpus import BAD, oracle
from tests.corpus.build import DATA, external, showing, tensor, write
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.model.wild import Wild

from .found import codes_of, errors_in
from .layouts import LAYOUTS, random_model, stored

each = given(seed=st.integers(0, 2**32))
PAYLOAD = {*oracle.PAYLOAD, "dims", "data_type"}
ALIGNABLE = [case for case in cases() if case.id != "location_down_and_up"]


def differences(one: Path, other: Path) -> list[Finding]:
    """What is found in the comparison, and not in either of them by itself."""
    known = {str(one) for path in (one, other) for one in verify_file(path).findings}
    report = verify_file(one, against=other)
    return errors_in(one for one in report.findings if str(one) not in known)


@pytest.mark.parametrize("case", ALIGNABLE)
def test_a_repack_is_equal_to_its_source_in_every_layout(case: Case, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = case.build(tmp_path / "source")
    for name, (storage, layout) in LAYOUTS.items():
        result = tmp_path / name / "model.onnx"
        align_file(source, result, storage=storage, layout=layout, durable=False)
        assert not differences(result, source), name


@settings(max_examples=60, deadline=None)
@each
def test_random_models_are_equal_however_they_are_stored(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    with tempfile.TemporaryDirectory() as name:
        first, second = (stored(model, Path(name, one), rng) for one in ("first", "second"))
        (report,) = verify_file(first, against=second, digest=digest_of(second)).models
        sizes = [len(one.raw) for one in oracle.tensors(first).values() if one.dtype != 8]
    assert set(codes_of(report.findings)) <= {"checker"}
    assert report.bytes_compared == sum(sizes)


@settings(max_examples=80, deadline=None)
@each
def test_a_bit_that_flips_is_noticed_and_its_tensor_named(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    # Sparse indices are left alone: the checker would see that they are wrong.
    full = [one for place, one in oracle.walk(model) if one.raw_data and place[-7:] != "indices"]
    assume(full)
    with tempfile.TemporaryDirectory() as name:
        good = stored(model, Path(name, "good"), rng)
        flipped = rng.choice(full)
        raw = bytearray(flipped.raw_data)
        at = rng.randrange(len(raw))
        raw[at] ^= 1 << rng.randrange(8)
        flipped.raw_data = bytes(raw)
        bad = stored(model, Path(name, "bad"), rng, plain=True)
        (finding,) = differences(bad, good)
        assert digest_of(bad) != digest_of(good)
    assert finding.code == "tensor-differs"
    assert finding.severity == "error"
    assert finding.error.tensor == flipped.name or flipped.name == ""
    assert f"from byte {at:,} on" in finding.error.problem


@settings(max_examples=150, deadline=None)
@each
def test_a_field_that_changes_is_noticed_and_named(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    with tempfile.TemporaryDirectory() as name:
        good = stored(model, Path(name, "good"), rng)
        place = mutate(model, rng)
        bad = stored(model, Path(name, "bad"), rng)
        (finding,) = differences(bad, good)
        assert digest_of(bad) != digest_of(good)
    assert finding.code == "proto-differs"
    assert finding.error.problem.endswith(f" in {place}")


def mutate(model: onnx.ModelProto, rng: random.Random) -> str:
    """Change one scalar that no layout may change; return its place."""
    found: list[tuple[str, Callable[[], None]]] = []
    collect(model, "", found)
    place, change = rng.choice(found)
    change()
    return place


def collect(message: Any, place: str, found: list[tuple[str, Callable[[], None]]]) -> None:
    for field, value in message.ListFields():
        if isinstance(message, TensorProto) and field.name in PAYLOAD:
            continue
        where = f"{place}.{field.name}" if place else field.name
        if field.message_type is not None:
            for index, child in enumerate(value if field.is_repeated else [value]):
                collect(child, f"{where}[{index}]" if field.is_repeated else where, found)
        elif field.is_repeated:
            found += [(f"{where}[{i}]", changer(value, i, field)) for i in range(len(value))]
        else:
            found.append((where, changer(message, field.name, field)))


def changer(holder: Any, key: Any, field: Any) -> Callable[[], None]:
    def change() -> None:
        value = holder[key] if isinstance(key, int) else getattr(holder, key)
        if field.enum_type is not None:
            others = [one.number for one in field.enum_type.values if one.number != value]
            new: Any = others[0]
        elif isinstance(value, str):
            new = value + "x"
        elif isinstance(value, bytes):
            new = value + b"x"
        else:
            new = value + 1
        if isinstance(key, int):
            holder[key] = new
        else:
            setattr(holder, key, new)

    return change


def pair(folder: Path, change: Callable[[onnx.ModelProto], None]) -> tuple[Path, Path]:
    """A model, and one that was changed; both with an attribute and two tensors."""
    paths = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        tensors = [external(tensor(one, [20, 25]), folder / name) for one in ("a", "b")]
        path = write(folder / name, showing(tensors))
        model = onnx.load(path, load_external_data=False)
        node = helper.make_node("Cast", ["a"], ["cast"], to=1)
        node.attribute.append(helper.make_attribute("extra", 0.5))
        node.domain = "odd.custom"
        model.graph.node.append(node)
        if name == "other":
            change(model)
        path.write_bytes(model.SerializeToString())
        paths.append(path)
    return paths[1], paths[0]


def only(findings: list[Finding]) -> dict[str, str]:
    (finding,) = findings
    return finding.error.facts()


def test_the_first_byte_and_the_element_are_named_in_hex(tmp_path: Path) -> None:
    one, other = pair(tmp_path, lambda model: None)
    content = bytearray((one.parent / DATA).read_bytes())
    start = 3 + 2_000 + 3  # the gaps of the corpus are 3 bytes
    before = content[start + 400 : start + 404]
    content[start + 402] ^= 0xFF
    content[start + 999] ^= 0xFF
    (one.parent / DATA).write_bytes(content)
    facts = only(differences(one, other))
    assert facts["tensor"] == "b"
    assert facts["file"] == str(one)
    assert "from byte 402 on, in element 100" in facts["message"]
    assert facts["needed"] == f"0x{struct.unpack('<I', before)[0]:08x}"
    assert facts["found"] == f"0x{struct.unpack('<I', content[start + 400 : start + 404])[0]:08x}"


def test_the_other_tensors_that_differ_are_named_up_to_a_limit(tmp_path: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {f"w{index}": (300,) for index in range(30)}
    one, other = (
        external_model(tmp_path / n / "m.onnx", shapes, seed=i) for i, n in enumerate("ab")
    )
    first, others = differences(one, other)
    assert first.error.tensor == "w0"
    assert others.code == first.code == "tensor-differs"
    assert "29 other tensors differ" in str(others)
    assert "'w1', 'w2', 'w3'" in str(others)
    assert "'w20' and 9 more" in str(others)
    assert "'w21'" not in str(others)


def test_one_other_tensor_is_named_too(tmp_path: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {"a": (300,), "b": (300,)}
    one, other = (
        external_model(tmp_path / n / "m.onnx", shapes, seed=i) for i, n in enumerate("ab")
    )
    _, others = differences(one, other)
    assert "another tensor differs" in str(others)
    assert others.error.found == "'b'"


@pytest.mark.parametrize(
    ("change", "place", "needed", "found"),
    [
        (lambda m: setattr(m.graph.node[-1].attribute[0], "i", 2),
         "graph.node[2].attribute[0].i", "1", "2"),
        (lambda m: setattr(m.graph.node[-1].attribute[1], "f", float("nan")),
         "graph.node[2].attribute[1].f", "0.5", "nan"),
        (lambda m: m.graph.node.pop(), "graph.node", "3 of them", "2 of them"),
        (lambda m: setattr(m.graph, "doc_string", ""), "graph.doc_string", "absent", "''"),
        (lambda m: m.graph.initializer[0].dims.reverse(), "graph.initializer[0].dims[0]",
         "20", "25"),
        (lambda m: setattr(m.graph.initializer[1], "data_type", 6),
         "graph.initializer[1].data_type", "1", "6"),
        (lambda m: m.graph.initializer[1].external_data.add(key="x", value="y"), None, "", ""),
        (lambda m: m.training_info.add(), "training_info", "0 of them", "1 of them"),
        (lambda m: m.graph.MergeFromString(b"\xc8\x07\x01"),
         "graph: fields that onnx does not know", "0 of them", "1 of them"),
        (lambda m: setattr(m.graph.node[-1].attribute[1], "type", AttributeProto.INT),
         "graph.node[2].attribute[1].type", "FLOAT", "INT"),
        (lambda m: m.graph.node[-1].attribute[1].t.SetInParent(),
         "graph.node[2].attribute[1].t", "absent", "present"),
        (lambda m: setattr(m, "producer_name", "\x1b[31m" + "x" * 500), "producer_name", "'corpus'",
         r"'\x1b[31m" + "x" * 51 + " ..."),
    ],
)  # fmt: skip
def test_the_first_field_that_differs_is_named(
    change: Callable[[onnx.ModelProto], None],
    place: str | None,
    needed: str,
    found: str,
    tmp_path: Path,
) -> None:
    one, other = pair(tmp_path, change)
    if place is None:
        assert not differences(one, other)
        return
    (finding,) = differences(one, other)
    assert finding.code == "proto-differs"
    assert finding.error.problem == f"it differs from {other} in {place}"
    assert (finding.error.needed, finding.error.found) == (needed, found)
    assert str(finding).isprintable()


def test_nan_that_is_equal_is_no_difference(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[-1].attribute[1].f = float("nan")

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, _ = pair(tmp_path / "one", change)
    other, _ = pair(tmp_path / "two", change)
    assert not differences(one, other)


def test_ranges_of_one_file_are_not_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = external_model(tmp_path / "one.onnx")
    other = tmp_path / "other.onnx"
    other.write_bytes(one.read_bytes())

    def never(*_: object) -> int:
        raise AssertionError("bytes that are the same need not be read")

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", never)
    (model,) = verify_file(one, against=other).models
    assert model.ok
    assert model.bytes_compared == 0
    assert model.bytes_shared == (tmp_path / "one.onnx.data").stat().st_size


def test_a_model_is_equal_to_itself_and_to_a_link_to_it(tmp_path: Path) -> None:
    one = external_model(tmp_path / "one.onnx")
    (tmp_path / "link.onnx").symlink_to(one)
    for other in (one, tmp_path / "link.onnx"):
        (model,) = verify_file(one, against=other).models
        assert model.ok
        assert model.bytes_compared == 0


def test_tensors_that_cannot_be_read_on_either_side_are_faults_of_that_side(
    tmp_path: Path,
) -> None:
    bad = BAD["data_one_byte_short"].build(tmp_path)
    good = external_model(tmp_path / "good" / "model.onnx")
    for one, other in ((bad, good), (good, bad)):
        codes = codes_of(verify_file(one, against=other).findings)
        assert codes == ["data-file-too-short", "proto-differs"]


def test_the_other_model_may_be_named_by_its_folder(tmp_path: Path) -> None:
    one = external_model(tmp_path / "one" / "m.onnx")
    align_file(one, tmp_path / "other" / "m.onnx", durable=False)
    assert not differences(one, tmp_path / "other")


def test_folders_are_compared_by_names(tmp_path: Path) -> None:
    for name in ("same", "deep/other", "extra"):
        external_model(tmp_path / "a" / f"{name}.onnx", seed=1)
    for name in ("same", "lost"):
        external_model(tmp_path / "b" / f"{name}.onnx", seed=1)
    external_model(tmp_path / "b" / "deep" / "other.onnx", seed=2)
    (tmp_path / "a" / "deep" / "broken.onnx").write_bytes(b"")
    (tmp_path / "b" / "deep" / "broken.onnx").write_bytes(b"")
    report = verify_file(tmp_path / "a", against=tmp_path / "b")
    found = {
        model.model.relative_to(tmp_path / "a").as_posix(): {one.code for one in model.findings}
        for model in report.models
    }
    assert found == {
        "same.onnx": set(),
        "extra.onnx": {"model-extra"},
        "lost.onnx": {"model-missing"},
        "deep/other.onnx": {"tensor-differs"},
        "deep/broken.onnx": {"not-a-model"},
    }
    assert not report.ok


def test_a_folder_and_a_model_are_not_compared(tmp_path: Path) -> None:
    model = external_model(tmp_path / "a" / "m.onnx")
    with pytest.raises(UsageError):
        verify_file(tmp_path / "a", against=model)
    with pytest.raises(UsageError):
        verify_file(tmp_path / "a", digest="0" * 64)


@pytest.mark.parametrize("digest", ["", "abc", "0" * 63, "g" * 64, "0x" + "0" * 62, "0" * 65])
def test_what_is_no_digest_is_refused(digest: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a digest"):
        verify_file(external_model(tmp_path / "m.onnx"), digest=digest)


def test_a_digest_is_compared_whatever_its_case_and_blanks(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    digest = digest_of(model)
    (good,) = verify_file(model, digest=f"  {digest.upper()}\n").models
    assert good.findings == ()
    assert good.digest == digest
    (bad,) = verify_file(model, digest="0" * 64).models
    assert only(list(bad.findings))["found"] == digest
    assert bad.findings[0].code == "digest-differs"
    (asked,) = verify_file(model, with_digest=True).models
    assert asked.digest == digest
    (silent,) = verify_file(model).models
    assert silent.digest is None


def test_a_model_with_faults_has_no_digest_and_that_is_said(tmp_path: Path) -> None:
    model = BAD["data_one_byte_short"].build(tmp_path)
    (report,) = verify_file(model, digest="0" * 64).models
    assert [one.code for one in report.findings] == ["data-file-too-short", "digest-differs"]
    assert report.digest is None


@pytest.mark.parametrize("side", ["one", "other"])
def test_a_file_that_changes_meanwhile_stops_it(
    side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (external_model(tmp_path / name / "m.onnx") for name in ("one", "other"))
    data = tmp_path / side / "m.onnx.data"

    def overtaken(fd: int, view: memoryview, offset: int) -> int:
        count = read_full(fd, view, offset)
        os.utime(data, ns=(1, 1))
        return count

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", overtaken)
    with pytest.raises(SourceChangedError) as error:
        verify_file(one, against=other)
    assert error.value.file == str(data)


def test_in_a_folder_a_file_that_changes_meanwhile_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        external_model(tmp_path / "one" / f"{name}.onnx")
        external_model(tmp_path / "other" / f"{name}.onnx")
    data = tmp_path / "one" / "a.onnx.data"
    changed: list[int] = []

    def overtaken(fd: int, view: memoryview, offset: int) -> int:
        count = read_full(fd, view, offset)
        if not changed:
            os.utime(data, ns=(1, 1))
            changed.append(fd)
        return count

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", overtaken)
    first, second = verify_file(tmp_path / "one", against=tmp_path / "other").models
    assert codes_of(first.findings) == ["file-changed"]
    assert first.findings[0].error.file == str(data)
    assert second.findings == ()


def test_numbers_that_do_not_fit_their_type_are_a_finding(tmp_path: Path) -> None:
    def build(name: str, number: int) -> Path:
        (tmp_path / name).mkdir()
        made = TensorProto(name="w", data_type=TensorProto.FLOAT6E2M3, dims=[500])
        made.int32_data.extend([number] * 500)
        return write(tmp_path / name, showing([made]))

    if not hasattr(TensorProto, "FLOAT6E2M3"):
        pytest.skip("this onnx has no elements of 6 bits")
    one, other = build("one", 1), build("other", 2)
    assert [finding.code for finding in differences(one, other)] == ["tensor-differs"]


@pytest.mark.parametrize("count", [3, 599, 601, 40_000])
def test_typed_fields_of_another_number_of_elements_are_found(count: int, tmp_path: Path) -> None:
    made = TensorProto(name="w", data_type=TensorProto.INT8, dims=[600], int32_data=[1] * count)
    (model,) = verify_file(write(tmp_path, showing([made]))).models
    assert [one.code for one in model.findings] == ["wrong-size"]


@pytest.mark.parametrize(
    ("ours", "theirs", "at"),
    [
        (b"abc", b"abd", 2),
        (b"abc", b"abcd", 3),
        (b"x" * 5_000, b"x" * 4_999, 4_999),
        (b"x" * 5_000, b"y" + b"x" * 4_999, 0),
        (b"", b"a", 0),
        (None, b"a", 0),
        (None, b"", None),
        (b"x" * 5_000, b"x" * 5_000, None),
    ],
)
def test_bytes_of_a_type_that_has_no_size_are_compared(
    ours: bytes | None, theirs: bytes, at: int | None, tmp_path: Path
) -> None:
    paths = []
    for name, raw in (("one", ours), ("other", theirs)):
        (tmp_path / name).mkdir()
        odd = TensorProto(name="odd", data_type=99, dims=[2], raw_data=raw)
        graph = showing([tensor("w", [3])])
        graph.initializer.append(odd)
        paths.append(write(tmp_path / name, graph))
    found = differences(*paths)
    assert (digest_of(paths[0]) == digest_of(paths[1])) == (at is None)
    if at is None:
        assert not found
    else:
        assert only(found)["tensor"] == "odd"
        assert found[0].error.problem.endswith(f"from byte {at:,} on")


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 80))
def test_whatever_a_file_holds_is_what_protobuf_reads_in_it(seed: int, size: int) -> None:
    content = Wild(seed, size).model()
    with tempfile.TemporaryDirectory() as name:
        one, other = Path(name, "one.onnx"), Path(name, "other.onnx")
        one.write_bytes(content)
        other.write_bytes(onnx.ModelProto.FromString(content).SerializeToString())
        (model,) = verify_file(one, against=other, with_digest=True).models
        (again,) = verify_file(other, with_digest=True).models
    codes = {one.code for one in model.findings}
    assert not codes & {"tensor-differs", "proto-differs"}
    assert model.digest == again.digest


def test_a_layout_does_not_change_what_is_equal(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    result = tmp_path / "out" / "m.onnx"
    align_file(source, result, layout=LayoutPolicy(alignment=65536), durable=False)
    (model,) = verify_file(result, against=source, layout=LayoutPolicy(alignment=65536)).models
    assert model.findings == ()
    assert {"layout", "against"} <= set(model.checked)


def test_zeros_of_different_signs_are_told_apart_by_their_field(tmp_path: Path) -> None:
    paths = []
    for name, value in (("a", 0.0), ("b", -0.0)):
        node = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1.0)
        node.attribute[0].f = value
        ends = [helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, [1]) for end in "xy"]
        graph = helper.make_graph([node], "g", ends[:1], ends[1:])
        paths.append(tmp_path / f"{name}.onnx")
        paths[-1].write_bytes(helper.make_model(graph).SerializeToString())
    (model,) = verify_file(paths[0], against=paths[1]).models
    (finding,) = [one for one in model.findings if one.severity == "error"]
    assert finding.code == "proto-differs"
    assert "graph.node[0].attribute[0].f" in str(finding)

"""The bench runs, says what it did, and every peer writes the weights that it was given."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass.bench import memory, session
from onnx_align_pass.bench.__main__ import main
from onnx_align_pass.bench.files import data_file_of
from onnx_align_pass.bench.peers import OURS, PEERS, Peer
from onnx_align_pass.bench.results import PeerResult, WorkloadResult
from onnx_align_pass.bench.sources import FORMS, Source
from onnx_align_pass.bench.table import render
from onnx_align_pass.bench.timing import time_peers
from onnx_align_pass.bench.workloads import (
    WORKLOADS,
    build_gallery,
    build_inline,
    build_large,
    build_small,
)

onnxruntime = pytest.importorskip("onnxruntime")

TINY = 0.0005
CASES = [(w, name) for w in WORKLOADS for name, peer in PEERS.items() if w in peer.workloads]


def contents(path: Path) -> dict[str, bytes]:
    """Raw bytes of each initializer, whether inline or external."""
    return {tensor.name: tensor.raw_data for tensor in onnx.load(path).graph.initializer}


def offsets(path: Path) -> list[int]:
    """Offset of each external initializer, in the order of the graph."""
    graph = onnx.load(path, load_external_data=False).graph
    entries = [{e.key: e.value for e in tensor.external_data} for tensor in graph.initializer]
    return [int(entry["offset"]) for entry in entries]


def build(workload: str, folder: Path) -> Path:
    folder.mkdir()
    return WORKLOADS[workload].build(folder, TINY)


@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_a_workload_is_valid_and_runs(workload: str, tmp_path: Path) -> None:
    path = build(workload, tmp_path / "source")
    onnx.checker.check_model(path, full_check=True)
    inference = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {i.name: np.ones(i.shape, np.float32) for i in inference.get_inputs()}
    (result,) = inference.run(["y"], feeds)
    assert np.isfinite(result).all()
    assert len(set(contents(path).values())) == len(contents(path))


def test_the_gallery_can_hold_odd_sizes_that_push_the_squares_off_their_boundaries(
    tmp_path: Path,
) -> None:
    path = build_gallery(tmp_path, tensors=6, side=32, odd=True)
    onnx.checker.check_model(path, full_check=True)
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert {offset % 4096 for offset in offsets(path)} != {0}
    assert sum(map(len, contents(path).values())) == data_file_of(path).stat().st_size


@pytest.mark.parametrize("squares", [1, 3, 5, 9])
def test_all_odd_tensors_are_there_however_many_squares_there_are(
    squares: int, tmp_path: Path
) -> None:
    path = build_gallery(tmp_path, tensors=squares, side=16, odd=True)
    names = [*contents(path)]
    assert len(set(names)) == len(names) == squares + 5


def test_no_tensor_of_the_large_workload_is_aligned(tmp_path: Path) -> None:
    path = build_large(tmp_path, tensors=5, side=32)
    assert [offset % 4096 for offset in offsets(path)] == [100] * 5


def test_the_small_workload_has_sizes_from_400_to_16000_bytes(tmp_path: Path) -> None:
    path = build_small(tmp_path, tensors=1000)
    sizes = [len(content) for content in contents(path).values()]
    assert (min(sizes), max(sizes)) == (400, 16_000)
    assert not onnx.load(path, load_external_data=False).graph.initializer[0].raw_data


def test_the_streamed_inline_model_is_byte_for_byte_what_protobuf_writes(tmp_path: Path) -> None:
    path = build_inline(tmp_path, tensors=7, side=32)
    assert onnx.load(path).SerializeToString() == path.read_bytes()
    assert not data_file_of(path).exists()


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize(("workload", "name"), CASES)
def test_every_peer_writes_the_weights_it_was_given(
    workload: str, name: str, durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = PEERS[name]
    reason = session._reason_to_skip(peer, WORKLOADS[workload])
    if reason is not None:
        pytest.skip(f"{name}: {reason}")
    source = build(workload, tmp_path / "source")
    destination = tmp_path / "destination"
    destination.mkdir()
    monkeypatch.chdir(source.parent)  # onnx looks for an existing data file here
    peer.run(FORMS[WORKLOADS[workload].form](source), destination, durable)
    written = destination / "model.onnx"
    assert sorted(file.name for file in destination.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert contents(written) == contents(source)
    if name not in ("cp", "onnx in memory"):
        assert {offset % 4096 for offset in offsets(written)} == {0}


def test_the_weights_of_the_model_in_memory_are_arrays_that_no_file_backs(tmp_path: Path) -> None:
    source = build("model in memory", tmp_path / "source")
    kept = contents(source)
    model = FORMS["model in memory"](source)
    assert isinstance(model, ir.Model)
    data_file_of(source).unlink()
    tensors = [value.const_value for value in model.graph.initializers.values()]
    assert {type(tensor) for tensor in tensors} == {ir.Tensor}
    assert {t.name: t.tobytes() for t in tensors if t is not None} == kept


def test_no_weight_of_the_external_model_is_read_or_aligned(tmp_path: Path) -> None:
    model = FORMS["model external"](build("model external", tmp_path / "source"))
    assert isinstance(model, ir.Model)
    tensors = [value.const_value for value in model.graph.initializers.values()]
    external = [tensor for tensor in tensors if isinstance(tensor, ir.ExternalTensor)]
    assert len(external) == len(tensors) == 64
    assert all(tensor.raw is None and (tensor.offset or 0) % 4096 for tensor in external)


@pytest.mark.parametrize("name", ["onnx-align-pass", "onnx-ir"])
@pytest.mark.parametrize("workload", ["model in memory", "model external"])
def test_a_model_can_be_saved_by_all_peers_in_turn_since_each_leaves_it_as_it_was(
    workload: str, name: str, tmp_path: Path
) -> None:
    model = FORMS[workload](build(workload, tmp_path / "source"))
    assert isinstance(model, ir.Model)
    before = [value.const_value for value in model.graph.initializers.values()]
    (tmp_path / "destination").mkdir()
    PEERS[name].run(model, tmp_path / "destination", False)
    after = [value.const_value for value in model.graph.initializers.values()]
    assert all(old is new for old, new in zip(before, after, strict=True))
    external = [tensor for tensor in after if isinstance(tensor, ir.ExternalTensor)]
    assert [tensor for tensor in external if tensor.raw is not None] == []


@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_a_run_has_a_row_for_every_peer_and_leaves_nothing(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, report = tmp_path / "work", tmp_path / "report.json"
    folder.mkdir()
    options = ["--workload", workload, "--repeat", "2", "--scale", str(TINY)]
    assert main([*options, "--dir", str(folder), "--json", str(report)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == list(PEERS)
    assert {row.count("|") for row in rows} == {8}
    assert list(folder.iterdir()) == []

    raw = json.loads(report.read_text())
    assert {"machine", "system", "file system", "versions"} == set(raw["environment"])
    (result,) = raw["workloads"]
    assert [peer["peer"] for peer in result["peers"]] == list(PEERS)
    for peer in result["peers"]:
        runs = 0 if peer["absent"] else 2
        assert len(peer["buffered_seconds"]) == len(peer["durable_seconds"]) == runs
        assert min([*peer["buffered_seconds"], 1]) > 0
        in_child = not peer["absent"] and peer["peer"] != "cp" and memory.STATUS.exists()
        assert (peer["extra_peak_bytes"] is not None) == in_child


def test_only_the_chosen_peers_run_and_ours_is_always_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--workload", "gallery", "--peer", "cp", "--repeat", "1", "--scale", str(TINY)]
    assert main([*options, "--dir", str(tmp_path)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == [OURS, "cp"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--scale", "0"),
        ("--scale", "8.5"),
        ("--repeat", "0"),
        ("--peer", "nobody"),
        ("--dir", "no/such"),
        ("--json", "no/such/file"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused_before_any_work(
    option: str, value: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([option, value])


def breaks(source: Source, folder: Path, durable: bool) -> None:
    (folder / "partial").touch()
    raise ValueError("a | b")


def stands_still(source: Source, folder: Path, durable: bool) -> None:
    (folder / "model.onnx").touch()


def test_a_peer_that_breaks_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    peers = [Peer("broken", breaks, lambda: None), Peer("good", stands_still, lambda: None)]
    folder = tmp_path / "runs"
    broken, good = time_peers(peers, tmp_path, folder, repeat=3, say=lambda text: None)
    assert (broken.failed, broken.buffered_seconds) == ("ValueError: a | b", ())
    assert len(good.buffered_seconds) == len(good.durable_seconds) == 3
    assert not folder.exists()
    table = render({}, [WorkloadResult("w", "words", 10, (broken, good))])
    assert "| broken | failed: ValueError: a / b |" in table


def test_a_peer_that_only_breaks_in_the_memory_run_is_named_too(tmp_path: Path) -> None:
    missing = tmp_path / "missing.onnx"
    timed = PeerResult("onnx-ir", (1.0,), (1.0,))
    result = session._with_memory(timed, missing, missing, tmp_path, form="file")
    assert "missing.onnx" in str(result.failed)


def test_a_peer_that_cannot_be_imported_is_absent_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PEERS, OURS, Peer(OURS, breaks, lambda: "not built yet"))
    options = ["--workload", "gallery", "--peer", "cp", "--repeat", "1", "--scale", str(TINY)]
    assert main([*options, "--dir", str(tmp_path)]) == 0
    assert f"| {OURS} | absent: not built yet |" in capsys.readouterr().out


def test_ratios_are_ours_over_theirs() -> None:
    ours = PeerResult(OURS, (1.0, 9.0, 1.0), (2.0,), 100_000)
    theirs = PeerResult("other", (2.0, 2.0, 2.0), (40.0,), 200_000_000)
    noise = PeerResult("noise", (1.0,), (1.0,), 4096)
    table = render({"kernel": "k"}, [WorkloadResult("w", "words", 10, (ours, theirs, noise))])
    assert "- kernel: k" in table
    assert f"| {OURS} | 1.000 | - | 2.000 | - | 0.10 | - |" in table
    assert "| other | 2.000 | 0.50 | 40.0 | 0.050 | 200.0 | 0.001 |" in table
    assert "| noise | 1.000 | 1.00 | 1.000 | 2.00 | 0.00 | - |" in table

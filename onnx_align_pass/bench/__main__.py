"""`python -m onnx_align_pass.bench`: a markdown table on stdout, progress on stderr."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from onnx_align_pass.bench.environment import describe_environment
from onnx_align_pass.bench.peers import OURS, PEERS
from onnx_align_pass.bench.session import measure_workload
from onnx_align_pass.bench.table import render
from onnx_align_pass.bench.workloads import WORKLOADS

__all__ = ["main"]

SCHEMA_VERSION = 1


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 < number <= 8:
        raise argparse.ArgumentTypeError(f"{text} is not in (0, 8]")
    return number


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def _file_to_write(text: str) -> Path:
    _folder(str(Path(text).parent))
    return Path(text)


def _parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m onnx_align_pass.bench",
        description="Repack or save models in several ways; compare wall time and peak memory.",
        epilog="The full run writes up to 3.5 GB at a time and removes it.",
    )
    add = made.add_argument
    add("--workload", action="append", choices=list(WORKLOADS), help="repeatable; default: all")
    add("--peer", action="append", choices=list(PEERS), help="repeatable; ours always runs")
    add("--repeat", type=_count, default=5, metavar="N", help="timed runs of each (default 5)")
    add("--scale", type=_share, default=1.0, metavar="X", help="times the full sizes, (0, 8]")
    add("--dir", type=_folder, metavar="FOLDER", help="where to write (default: the temp folder)")
    add("--json", type=_file_to_write, metavar="FILE", help="also write the raw numbers")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; gives 1 when a peer failed, else 0 (an absent peer is no failure)."""
    options = _parser().parse_args(arguments)
    workloads = [WORKLOADS[n] for n in WORKLOADS if n in (options.workload or WORKLOADS)]
    peers = [PEERS[n] for n in PEERS if n == OURS or n in (options.peer or PEERS)]
    results = []
    with tempfile.TemporaryDirectory(prefix="onnx-align-bench-", dir=options.dir) as folder:
        environment = describe_environment(Path(folder))
        for workload in workloads:
            result = measure_workload(
                workload,
                peers,
                Path(folder),
                scale=options.scale,
                repeat=options.repeat,
                say=lambda text: print(text, file=sys.stderr),
            )
            results.append(result)
    print(render(environment, results))
    if options.json is not None:
        report = {
            "schema_version": SCHEMA_VERSION,
            "scale": options.scale,
            "environment": environment,
            "workloads": [asdict(result) for result in results],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if any(peer.failed for result in results for peer in result.peers) else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the numbers depend on: machine, kernel, file system, versions."""

import os
import platform
from importlib import metadata
from pathlib import Path

__all__ = ["describe_environment"]

PACKAGES = ("onnx-align-pass", "onnx-ir", "onnx", "numpy", "protobuf")


def describe_environment(folder: Path) -> dict[str, str]:
    """Facts by label, in the order of the header; `folder` is where the files are written."""
    versions = [f"{package} {_version(package)}" for package in PACKAGES]
    return {
        "machine": f"{_processor()}, {os.cpu_count()} CPUs, {_memory()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "file system": _file_system(folder),
        "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB RAM"


def _file_system(folder: Path) -> str:
    """Type of the file system below `folder`, from mountinfo in proc(5); the last mount wins."""
    mountinfo = Path("/proc/self/mountinfo")
    if not mountinfo.exists():
        return "unknown"
    resolved = folder.resolve()
    types = {}
    for line in mountinfo.read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        types[Path(mount.split()[4])] = kind.split()[0]
    return next((types[p] for p in (resolved, *resolved.parents) if p in types), "unknown")

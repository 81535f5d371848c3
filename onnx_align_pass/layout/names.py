"""How data files are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import LayoutPolicy

__all__ = ["check_names", "default_data_name", "filled", "is_location", "shard_name"]

_NO_LOCATION = re.compile(r"\.(?=\.)|[{}\\\x00-\x1f\x7f\ud800-\udfff]|(?<=^.):", re.DOTALL)
"""What a file may be called, but no `location` may hold: `..`, `\\`, `c:`, control characters, and
bytes that are not UTF-8; and the braces of placeholders."""
_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9_]*)*$")


def default_data_name(layout: LayoutPolicy, model_name: str) -> str:
    """Name of the data file of a model called `model_name`, such that a location can hold it."""
    return filled(layout.data_name or "{model}.data", model_name)


def filled(template: str, model_name: str) -> str:
    """Put a model's name into a template of data file names."""
    stem = model_name.removesuffix(".onnx")
    name = template.replace("{model}", model_name).replace("{stem}", stem)
    return _NO_LOCATION.sub("_", name)


def is_location(name: str) -> bool:
    """Whether a model may point at a data file by this name, relative to its folder."""
    braces = {found[0] for found in _NO_LOCATION.finditer(name)} <= {"{", "}"}
    return bool(name) and braces and not name.startswith("/") and ".." not in name


def check_names(names: Sequence[str], model_name: str) -> None:
    """Prove that files of these names can lie beside each other and a model.

    Raises:
        UsageError: Two have one name, or one has that of a folder of another.
    """
    for name, times in Counter(names).items():
        if times > 1:
            raise _clash("two data files would have one name", name)
    taken = {model_name, *names}
    for name in names:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if above in taken:
                raise _clash(f"a file would have the name of the folder of {name}", above)


def _clash(problem: str, name: str) -> UsageError:
    return UsageError(problem, file=name, hint="Name the group, or the data file, otherwise.")


def shard_name(base: str, shard: int, shards: int) -> str:
    """Name of one shard: its number stands before the suffixes, as onnx-ir and hubs write it.

    `model.onnx.data` becomes `model-00001-of-00003.onnx.data`.
    """
    if shards == 1:
        return base
    folder, slash, name = base.rpartition("/")
    suffix = _SUFFIXES.search(name, 1)
    cut = suffix.start() if suffix else len(name)
    return f"{folder}{slash}{name[:cut]}-{shard:05d}-of-{shards:05d}{name[cut:]}"

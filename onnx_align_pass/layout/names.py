"""How data files are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.spelling import alike

__all__ = [
    "SAFETENSORS",
    "check_names",
    "data_base",
    "default_data_name",
    "filled",
    "is_location",
    "is_shard_of",
    "literal",
    "shard_name",
]

SAFETENSORS = ".safetensors"
"""The suffix, in small or capital letters, of files that are valid safetensors files."""
_NO_LOCATION = re.compile(r"\.(?=\.)|[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]|(?<=^.):", re.DOTALL)
"""What a file may be called, but no `location` may hold: `..`, `\\`, `c:`, control characters, and
bytes that are not UTF-8."""
_DOTS = re.compile(r"\.(?=(?:\{_n\})+\.)")
_DRIVE = re.compile(r"^((?:\{_n\})*[^{](?:\{_n\})*):")
"""What becomes `..` or `c:` in the first shard's name, where `{_n}` is nothing."""
_BRACES = str.maketrans("{}", "__")
_OF_MODEL = re.compile(r"\{model\}|\{stem\}")
_OF_SHARD = re.compile(r"\{\{|\}\}|\{shard\}|\{shards\}|\{_n\}")
_NUMBERING = frozenset({"{shard}", "{shards}", "{_n}"})
_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9_]*)*$")
_NUMBERS = re.compile(r"\d{5,}-of-\d{5,}")


def default_data_name(layout: LayoutPolicy, model_name: str) -> str:
    """Name of the data file of a model called `model_name`, such that a location can hold it.

    The placeholders of shards are still in it, for `shard_name`.

    Raises:
        UsageError: It would be taken for a model.
    """
    return data_base(layout.data_name or "{model}.data", model_name)


def filled(template: str, model_name: str) -> str:
    """Put a model's name into a template; the placeholders of shards stay, for `shard_name`."""
    plain = model_name.translate(_BRACES)
    names = {"{model}": plain, "{stem}": plain.removesuffix(".onnx")}
    name = _OF_MODEL.sub(lambda found: names[found[0]], template)
    name = _DRIVE.sub(r"\1_", _DOTS.sub("_", _NO_LOCATION.sub("_", name)))
    return "/".join(_part(part) for part in name.split("/"))


def _part(part: str) -> str:
    """Make part of a path the name of something, in the first shard's name too."""
    if part in ("", "."):
        return "_"
    return f"_{part}" if part.replace("{_n}", "") in ("", ".") else part


def data_base(template: str, model_name: str) -> str:
    """Name of a new data file, with the placeholders of shards.

    Raises:
        UsageError: It would be taken for a model.
    """
    base = filled(template, model_name)
    if shard_name(base, 1, 1).lower().endswith(".onnx"):
        raise UsageError(
            "the data file would be taken for a model: its name ends in .onnx",
            file=base,
            hint="Name it otherwise, such as '{model}.data'.",
        )
    return base


def literal(name: str) -> str:
    """A template that stands for this very name, whatever braces are in it."""
    return name.replace("{", "{{").replace("}", "}}")


def is_location(name: str) -> bool:
    """Whether a model may point at a data file by this name, relative to its folder."""
    return bool(name) and not name.startswith("/") and _NO_LOCATION.search(name) is None


def check_names(names: Sequence[str], model_name: str, *, everywhere: bool = False) -> None:
    """Prove that files of these names can lie beside each other and a model.

    Args:
        names: The data files.
        model_name: The model.
        everywhere: Also where upper and lower case, or composed and decomposed letters, are one.

    Raises:
        UsageError: Two have one name, or one has that of a folder of another.
    """
    if everywhere:
        known: dict[str, str] = {}
        for name in names:
            other = known.setdefault(alike(name), name)
            if other != name:
                raise _clash(f"some systems take its name for that of {other}", name)
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
    """Name of one shard.

    Where the base does not say where the number stands, it stands before the suffixes, as onnx-ir
    and hubs write it: `model.onnx.data` becomes `model-00001-of-00003.onnx.data`.

    Args:
        base: What `filled` or `literal` gave.
        shard: From 1 on.
        shards: How many there are.
    """
    if shards > 1 and not any(found in _NUMBERING for found in _OF_SHARD.findall(base)):
        base = _numbered(base)
    values = {
        "{shard}": f"{shard:05d}",
        "{shards}": f"{shards:05d}",
        "{_n}": f"_{shard - 1}" if shard > 1 else "",
        "{{": "{",
        "}}": "}",
    }
    return _OF_SHARD.sub(lambda found: values[found[0]], base)


def _numbered(base: str) -> str:
    folder, slash, name = base.rpartition("/")
    suffix = _SUFFIXES.search(name, 1)
    cut = suffix.start() if suffix else len(name)
    if name.lower().endswith(SAFETENSORS):
        cut = min(cut, len(name) - len(SAFETENSORS))  # also where the name is nothing else
    return f"{folder}{slash}{name[:cut]}-{{shard}}-of-{{shards}}{name[cut:]}"


def is_shard_of(name: str, base: str) -> bool:
    """Whether a base without placeholders of shards may give a file this name."""
    one, other = _NUMBERS.sub("#", name), _NUMBERS.sub("#", shard_name(base, 1, 2))
    return name == base or one == other

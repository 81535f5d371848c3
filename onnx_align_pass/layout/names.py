"""How data files are called."""

from __future__ import annotations

import re

from onnx_align_pass.policy import LayoutPolicy

__all__ = ["default_data_name", "shard_name"]

_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9_]*)*$")


def default_data_name(layout: LayoutPolicy, model_name: str) -> str:
    """Name of the data file of a model called `model_name`."""
    template = layout.data_name or "{model}.data"
    stem = model_name.removesuffix(".onnx")
    return template.replace("{model}", model_name).replace("{stem}", stem)


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

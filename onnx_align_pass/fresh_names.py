"""Data under names that no reader has met: who opens a model, and later its data, mixes none."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace

from onnx_align_pass.destination import Destination
from onnx_align_pass.layout.generations import TOKEN_BYTES, token_of, with_token
from onnx_align_pass.prepare import Prepared
from onnx_align_pass.references import References

__all__ = ["freshly_named", "named_as_it_is"]


def freshly_named(prepared: Prepared, destination: Destination) -> Prepared:
    """Give the data files of a plan names of their own, where a model is to be replaced."""
    plan = prepared.plan
    if not destination.keeps_old or not plan.files or not os.path.lexists(destination.model):
        return prepared
    token, names = _token(), dict[str, str]()
    for file in plan.files:
        name = with_token(file.name, token)
        while name in names.values() or os.path.lexists(destination.folder / name):
            name = with_token(file.name, _token())
        names[file.name] = name
    return _renamed(prepared, names)


def named_as_it_is(
    prepared: Prepared, destination: Destination, references: References
) -> Prepared:
    """Give the data files of a plan the token of those that the model has at its destination."""
    found = references.of(destination.model) if destination.keeps_old else ()
    tokens = {token_of(name) for name in found} if isinstance(found, frozenset) else set()
    token = tokens.pop() if len(tokens) == 1 else None
    if token is None:
        return prepared
    names = {file.name: with_token(file.name, token) for file in prepared.plan.files}
    return _renamed(prepared, names) if len(set(names.values())) == len(names) else prepared


def _token() -> str:
    return secrets.token_hex(TOKEN_BYTES)


def _renamed(prepared: Prepared, names: Mapping[str, str]) -> Prepared:
    return replace(prepared, plan=prepared.plan.renamed(names))

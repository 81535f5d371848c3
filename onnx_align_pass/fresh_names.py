"""Data under names that no reader has met: who opens a model, and later its data, mixes none."""

from __future__ import annotations

import os
import secrets
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
    while True:
        token = secrets.token_hex(TOKEN_BYTES)
        fresh = _with_token(prepared, token)
        if not any(os.path.lexists(destination.folder / one.name) for one in fresh.plan.files):
            return fresh


def named_as_it_is(
    prepared: Prepared, destination: Destination, references: References
) -> Prepared:
    """Give the data files of a plan the token of those that the model has at its destination."""
    names = references.of(destination.model) if destination.keeps_old else ()
    tokens = {token_of(name) for name in names} if isinstance(names, frozenset) else set()
    token = tokens.pop() if len(tokens) == 1 else None
    return prepared if token is None else _with_token(prepared, token)


def _with_token(prepared: Prepared, token: str) -> Prepared:
    names = {file.name: with_token(file.name, token) for file in prepared.plan.files}
    return replace(prepared, plan=prepared.plan.renamed(names))

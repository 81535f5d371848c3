"""The options of a pass, read from the signature of the class or function that makes it."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

from onnx_align_pass.registry.options import REQUIRED, InPolicy, Kind, Option
from onnx_align_pass.rules import Rule

__all__ = ["options_of"]

_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_PLAIN: Final = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STR}
_PATHS: Final = (Path, os.PathLike)


def options_of(factory: Callable[..., Any]) -> tuple[Option, ...]:
    """List the options of a pass, those among them that no text can say.

    The fields of a parameter that is a dataclass, a policy, are options themselves.

    Args:
        factory: The class of the pass, or a function that returns one.

    Raises:
        TypeError: It is not callable.
        ValueError: It has no signature that can be read, or two options of one name.
    """
    found = tuple(_options(factory))
    for name, count in Counter(one.name for one in found).items():
        if count > 1:
            raise ValueError(f"{count} are called {name}")
    return found


def _options(factory: Callable[..., Any]) -> Iterator[Option]:
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind in _VARIADIC:
            continue
        default = _default(factory, parameter)
        hint = _hint(factory, parameter, default)
        if parameter.kind not in _NAMED:
            yield Option(parameter.name, Kind.CODE, default)
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            yield from _fields(parameter.name, hint, default)
        else:
            option = _option(parameter.name, hint, default)
            if option.kind is not Kind.CODE or not _is_hidden(factory, parameter.name):
                yield option


def _is_hidden(factory: Callable[..., Any], name: str) -> bool:
    """Whether a field is no part of what is shown: who is told of the progress, say."""
    if not dataclasses.is_dataclass(factory):
        return False
    return any(one.name == name and not one.repr for one in dataclasses.fields(factory))


def _fields(holder: str, policy: type, default: Any) -> Iterator[Option]:
    """The options inside a policy, or the policy as one that no text can say."""
    try:
        values = default if isinstance(default, policy) else policy()
    except TypeError:
        yield Option(holder, Kind.CODE, default)
        return
    for one in (found for found in _options(policy) if found.holder is None):
        value = getattr(values, one.name, one.default)
        yield dataclasses.replace(one, default=value, holder=InPolicy(holder, values))


def _option(name: str, hint: Any, default: Any) -> Option:
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional = default is None or type(None) in members
    kinds = [one for one in members if one is not type(None)]
    if len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        choices = get_args(kinds[0])
        if all(isinstance(one, str) for one in choices):
            return Option(name, Kind.STR, default, optional, choices)
    kind = _kind(kinds)
    return Option(name, kind, default, optional, as_path=kind is Kind.PATH and str not in kinds)


def _kind(members: Sequence[Any]) -> Kind:
    plain = {get_origin(one) or one for one in members}
    if plain & set(_PATHS) and plain <= {str, *_PATHS}:
        return Kind.PATH
    if plain == {int, float}:
        return Kind.FLOAT
    if len(members) != 1:
        return Kind.CODE
    (one,) = members
    if get_origin(one) is tuple and get_args(one) == (str, ...):
        return Kind.TUPLE
    if get_origin(one) is tuple and get_args(one) == (Rule, ...):
        return Kind.RULES
    if get_origin(one) is Sequence and get_args(one) == (str,):
        return Kind.TUPLE
    return _PLAIN.get(one, Kind.CODE) if isinstance(one, type) else Kind.CODE


def _default(factory: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """A parameter's default; what a dataclass makes anew each time is made once."""
    if parameter.default is inspect.Parameter.empty:
        return REQUIRED
    if dataclasses.is_dataclass(factory):
        for field in dataclasses.fields(factory):
            made = field.default_factory
            if field.name == parameter.name and made is not dataclasses.MISSING:
                return made()
    return parameter.default


def _hint(factory: Callable[..., Any], parameter: inspect.Parameter, default: Any) -> Any:
    """A parameter's type: as annotated, else its default's."""
    hint = parameter.annotation
    if isinstance(hint, str):
        try:
            # A pass's own source, which has run already. Not all annotations of a class at once:
            # one that cannot be looked up must not hide the others.
            hint = eval(hint, _names(factory))
        except Exception:  # noqa: BLE001  whatever a name that is imported for types alone raises
            hint = inspect.Parameter.empty
    if hint is not inspect.Parameter.empty:
        return hint
    if isinstance(default, tuple) and default and all(isinstance(one, str) for one in default):
        return tuple[str, ...]
    return type(default)


def _names(factory: Callable[..., Any]) -> dict[str, Any]:
    """The names that annotations are written with."""
    made_by = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    found = getattr(inspect.unwrap(made_by), "__globals__", None)
    module = sys.modules.get(getattr(factory, "__module__", "") or "")
    return dict(found if found is not None else vars(module) if module else {})

"""A pass as text, both ways: `deduplicate-initializers{size_limit=4096}`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from onnx_align_pass.errors import AlignError, BrokenPassError, PassOptionError
from onnx_align_pass.registry.entry import PassEntry, is_strangers
from onnx_align_pass.registry.grammar import code_text, read_spec, spec_text
from onnx_align_pass.registry.lookup import entry_of, find_pass
from onnx_align_pass.registry.options import Kind, Option
from onnx_align_pass.registry.values import read_value, value_text

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["describe_pass", "parse_pass", "pass_text"]

_ABSENT: Final = object()


def parse_pass(text: str) -> ir.passes.PassBase:
    """Make the pass that a text names.

    Args:
        text: `name` or `name{option=value option=value}`; hyphens and underscores mean the same in
            names. Sizes may have a unit: `4KiB`. Values with spaces or commas stand in double
            quotes; several texts have commas between them.

    Raises:
        UnknownPassError: There is no pass of this name.
        BrokenPassError: There is one, and it is not usable: its import fails.
        PassOptionError: It has no such option, lacks one, or refuses a value.
        PassTextError: The text is not of the form.
        PolicyError: A policy refuses a value.
        RuleTextError: A text is no rule.
    """
    spec = read_spec(text)
    entry = find_pass(spec.name)
    options = {one.name: one for one in entry.options()}
    values = {
        name: read_value(entry.name, _offered(entry, options, name), words)
        for name, words in spec.options.items()
    }
    missing = [one.name for one in options.values() if one.required and one.name not in values]
    if missing:
        raise PassOptionError(
            f"{entry.name} needs {' and '.join(missing)}",
            hint=f"Write {entry.name}{{{missing[0]}=...}}.",
        )
    return _make(entry, options, values)


def _offered(entry: PassEntry, options: Mapping[str, Option], name: str) -> Option:
    found = options.get(name)
    if found is not None and found.kind is not Kind.CODE:
        return found
    names = ", ".join(one.name for one in options.values() if one.kind is not Kind.CODE)
    raise PassOptionError(
        f"{entry.name} has no option {name!r}" + (" that a text can say" if found else ""),
        needed=f"one of {names}" if names else "no option",
        hint="Make the pass in Python." if found else None,
    )


def _make(
    entry: PassEntry, options: Mapping[str, Option], values: Mapping[str, Any]
) -> ir.passes.PassBase:
    import onnx_ir as ir

    try:
        made = entry.load()(**_arguments(options, values))
    except AlignError:
        raise
    except BaseException as error:
        if not is_strangers(error, entry.place):
            raise
        said = f"{type(error).__name__}: {error}"
        raise PassOptionError(f"{entry.name} refuses its options: {said}") from error
    if not isinstance(made, ir.passes.PassBase):
        raise BrokenPassError(entry.name, entry.origin, f"it makes a {type(made).__name__}")
    return made


def _arguments(options: Mapping[str, Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the pass is called with: its own parameters, and policies with the fields given."""
    plain: dict[str, Any] = {}
    policies: dict[str, Any] = {}
    changes: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        holder = options[name].holder
        if holder is None:
            plain[name] = value
        else:
            policies[holder.name] = holder.policy
            changes.setdefault(holder.name, {})[name] = value
    made = {name: dataclasses.replace(policies[name], **changes[name]) for name in policies}
    return {**plain, **made}


def pass_text(pass_: ir.passes.PassBase) -> str:
    """Write a pass as its name and the options that are not as by default.

    `parse_pass` makes an equal pass of it. Where an option holds what no text can say, a predicate
    or another object, `option=<its name>` stands: fit to show, and refused when read.

    Raises:
        UnknownPassError: Its class is not registered. Nor is that of a pass which a third party's
            function made: such a function may make what others make, too.
    """
    entry = entry_of(pass_)
    return spec_text(entry.name, _said(entry, pass_))


def describe_pass(pass_: ir.passes.PassBase) -> str:
    """Say a pass as `pass_text` does, or by its class's name where it has no text; for `__str__`.

    Raises nothing: onnx-ir prints passes while it reports what went wrong in one.
    """
    try:
        return pass_text(pass_)
    except AlignError:
        return type(pass_).__name__


def _said(entry: PassEntry, pass_: object) -> Iterator[tuple[str, str]]:
    for option in entry.options():
        value = _held(pass_, option)
        if option.kind is Kind.CODE:
            if value is not _ABSENT and not _is_usual(entry, option, value):
                yield option.name, code_text(value)
        elif value is _ABSENT:
            yield option.name, "<unknown>"
        else:
            text = value_text(option, value)
            if option.required or text != value_text(option, option.default):
                yield option.name, text


def _held(pass_: object, option: Option) -> Any:
    """The value that a pass, or its policy, keeps under the option's name."""
    owner = getattr(pass_, option.holder.name, _ABSENT) if option.holder else pass_
    private = getattr(owner, f"_{option.name}", _ABSENT)
    return getattr(owner, option.name, private)


def _is_usual(entry: PassEntry, option: Option, value: object) -> bool:
    """Whether an object is what the pass has if it is given none: it may make one then."""
    if value is option.default:
        return True
    try:
        usual = _held(entry.load()(), option)
    except Exception:  # noqa: BLE001  it needs other options, and a stranger may raise anything
        return False
    return value is usual or (type(value) is type(usual) and not callable(value))

"""What the fields of policies and rules may be: a check raises a `PolicyError` that says so."""

from __future__ import annotations

import re
import warnings
from typing import Final, TypeGuard

from onnx_align_pass.errors import PolicyError

__all__ = [
    "MAX_ALIGNMENT",
    "PLACEHOLDERS",
    "at_least",
    "is_whole",
    "plain_name",
    "power_of_two",
    "regular_expression",
]

MAX_ALIGNMENT = 1 << 40
"""Far above every page; keeps offsets within the 63 bits that a file has."""
PLACEHOLDERS: Final = ("{model}", "{stem}", "{shard}", "{shards}", "{_n}")
"""What stands for something else in the name of a data file."""
_PLACEHOLDER = re.compile("|".join(map(re.escape, PLACEHOLDERS)))


def at_least(option: str, value: object, least: int) -> None:
    """Refuse what is no whole number of bytes, or below `least`."""
    if not is_whole(value) or value < least:
        raise PolicyError(option, value, f"a whole number of bytes, {least} or more")


def power_of_two(option: str, value: object) -> None:
    """Refuse what is no alignment."""
    if not is_whole(value) or not 0 < value <= MAX_ALIGNMENT or value & (value - 1):
        raise PolicyError(option, value, "a power of two, such as 64, 4096 or 65536")


def regular_expression(option: str, value: str) -> re.Pattern[str]:
    """Compile a pattern; refuse what is none, and what Python warns of: `[[:digit:]]`, say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(value)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PolicyError(option, value, f"a regular expression ({error})") from None


def plain_name(name: object, option: str = "data file name") -> None:
    """Refuse what is no name of a data file inside the model's folder."""
    # Of the first shard `{_n}` is nothing: what is left must be a name, too.
    if not isinstance(name, str) or not (_is_plain(name) and _is_plain(name.replace("{_n}", ""))):
        raise PolicyError(
            option,
            name,
            "a relative path inside the model's folder, with / and without ..; "
            "{model}, {stem}, {shard}, {shards} and {_n} are the only placeholders",
        )
    if "{shards}" in name and "{shard}" not in name and "{_n}" not in name:
        raise PolicyError(option, name, "a {shard} beside {shards}: all shards would have one name")


def _is_plain(name: str) -> bool:
    return not (
        any(part in ("", ".") for part in name.split("/"))
        or ".." in name
        or "\\" in name
        or any(ord(one) < 32 or ord(one) == 127 or "\ud800" <= one <= "\udfff" for one in name)
        or (len(name) > 1 and name[1] == ":")
        or set("{}") & set(_PLACEHOLDER.sub("", name))
    )


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)

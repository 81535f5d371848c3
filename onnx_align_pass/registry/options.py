"""Options of passes: their names, types and defaults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

__all__ = ["REQUIRED", "InPolicy", "Kind", "Option"]

_BYTE_WORDS: Final = {"bytes", "threshold", "alignment"}
"""Words in the names of options that are numbers of bytes."""


class Required:
    """The default of an option that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = Required()


class Kind(Enum):
    """What a value is."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STR = "str"
    PATH = "path"
    """A `pathlib.Path`, or a path as text."""
    TUPLE = "str,..."
    """A tuple of texts."""
    RULES = "rule,..."
    """A tuple of rules, each as its text."""
    CODE = "code"
    """Nothing that a text can say: a callable, an object. Not offered."""


class InPolicy(NamedTuple):
    """A parameter that is a policy, whose fields are options."""

    name: str
    policy: Any
    """The policy that counts if none is given."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a pass."""

    name: str
    kind: Kind
    default: Any = REQUIRED
    optional: bool = False
    """Whether None is a value, too. It is written `none`."""
    choices: tuple[str, ...] = ()
    """Texts that the value is one of; none: any."""
    as_path: bool = False
    """Whether a path is made a `pathlib.Path`."""
    holder: InPolicy | None = None
    """Where this is a field of a policy: that parameter."""

    @property
    def required(self) -> bool:
        """Whether the pass cannot be made without it."""
        return self.default is REQUIRED

    @property
    def takes_units(self) -> bool:
        """Whether it is a number of bytes, which may be written as a size: `4KiB`.

        A `size_limit` is not: in some passes it counts elements.
        """
        return self.kind is Kind.INT and not _BYTE_WORDS.isdisjoint(self.name.split("_"))

    @property
    def type_text(self) -> str:
        """What may be written, in a word."""
        plain = "size" if self.takes_units else self.kind.value
        return "|".join([*(self.choices or [plain]), *(["none"] if self.optional else [])])

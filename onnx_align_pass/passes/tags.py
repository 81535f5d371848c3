"""Tags: what is wished for a tensor, and what was decided for it.

They live in `value.meta`, for attribute tensors in `attr.meta`, under one key. There they survive
`model.clone()` and do not leak into the file, as `metadata_props` would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import onnx_ir as ir

from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import StorageDecision

__all__ = ["TAG", "Decided", "Tag", "decision_of", "record", "tag_of", "tag_tensor"]

TAG: Final = "onnx_align_pass.storage"
"""The key in `meta`."""
_BY_TAG: Final = "asked by a tag"


class Decided(NamedTuple):
    """A decision, and what the tensor was when it was made."""

    dtype: str
    shape: tuple[int, ...]
    decision: StorageDecision


@dataclass(frozen=True, slots=True)
class Tag:
    """What one value or attribute says of its storage."""

    external: bool | None = None
    """A user's wish; None leaves it to the policy."""
    alignment: int | None = None
    """A user's wish, in bytes."""
    group: str | None = None
    """A user's wish: the data file's name."""
    decided: tuple[Decided, ...] = ()
    """What was decided, one for each tensor: an attribute may hold several."""

    @property
    def is_wish(self) -> bool:
        """Whether a user asked for anything."""
        return (self.external, self.alignment, self.group) != (None, None, None)

    def over(self, decision: StorageDecision) -> StorageDecision:
        """A policy's decision with the wishes laid over it."""
        if not self.is_wish:
            return decision
        external = decision.external if self.external is None else self.external
        return StorageDecision(
            external,
            decision.reason if external == decision.external else _BY_TAG,
            decision.alignment if self.alignment is None else self.alignment,
            decision.group if self.group is None else self.group,
        )


_NONE: Final = Tag()


def tag_of(owner: ir.Value | ir.Attr) -> Tag:
    """The tag of a value or attribute; an empty one where there is none."""
    found = owner.meta.get(TAG)
    if isinstance(found, StorageDecision):  # put there by hand
        return Tag(found.external, found.alignment, found.group)
    return found if isinstance(found, Tag) else _NONE


def tag_tensor(
    owner: ir.Value | ir.Attr,
    *,
    external: bool | None = None,
    alignment: int | None = None,
    group: str | None = None,
) -> None:
    """Ask for the storage of one tensor; a wish goes before every policy.

    Called without a wish it takes an earlier one back.

    Args:
        owner: The initializer, or the attribute that holds the tensor.
        external: Whether it is external data; None leaves that to the policy. Strings and empty
            tensors stay inline whatever is asked.
        alignment: Bytes, a power of two; overrides the layout's for this tensor.
        group: Name of the data file that the tensor goes into, in place of the default one.

    Raises:
        UsageError: `owner` cannot hold a tensor.
        PolicyError: The alignment is no power of two, or the group no plain relative name.
    """
    if not isinstance(owner, ir.Value | ir.Attr):
        raise UsageError(
            f"{type(owner).__name__} cannot be tagged",
            needed="an ir.Value that is an initializer, or an ir.Attr",
            hint="Take it from graph.initializers or node.attributes.",
        )
    if isinstance(owner, ir.Value) and owner.const_value is None and not owner.is_initializer():
        raise UsageError(
            f"the value {owner.name!r} is no initializer",
            hint="Take it from graph.initializers or node.attributes.",
        )
    if external not in (None, True, False):
        raise UsageError(f"external cannot be {external!r}", needed="True, False or None")
    StorageDecision(bool(external), _BY_TAG, alignment, group)
    owner.meta[TAG] = Tag(external, alignment, group)


def decision_of(owner: ir.Value | ir.Attr, index: int = 0) -> StorageDecision | None:
    """What `TagExternalDataPass` decided for a tensor; None where it has not run.

    Args:
        owner: The initializer, or the attribute that holds the tensor.
        index: Which of an attribute's tensors.
    """
    decided = tag_of(owner).decided
    return decided[index].decision if index < len(decided) else None


def record(owner: ir.Value | ir.Attr, decided: tuple[Decided, ...]) -> bool:
    """Keep what was decided, beside the wishes; return whether that is news."""
    tag = tag_of(owner)
    if tag.decided == decided:
        return False
    owner.meta[TAG] = replace(tag, decided=decided)
    return True

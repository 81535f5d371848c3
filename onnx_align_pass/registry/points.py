"""Entry points of other distributions: read all, though one of them is malformed."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, distributions, entry_points

__all__ = ["UNREADABLE", "name_problem", "points_of"]

UNREADABLE = "its entry_points.txt cannot be read"


def points_of(group: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """List what is registered in a group, by name. Nothing of it is imported.

    Returns:
        (name, distribution, `package.module:attribute`) of each, and the distributions whose files
        are malformed.
    """
    points, unreadable = _read(group)
    found = {(one.name, getattr(one.dist, "name", None) or "unknown", one.value) for one in points}
    return sorted(found), sorted(unreadable)


def _read(group: str) -> tuple[list[EntryPoint], set[str]]:
    try:
        return list(entry_points(group=group)), set()
    except Exception:  # noqa: BLE001  of one of them; the others are read one by one
        points: list[EntryPoint] = []
    unreadable: set[str] = set()
    for one in distributions():
        try:
            points += [point for point in one.entry_points if point.group == group]
        except Exception:  # noqa: BLE001  whatever importlib raises on the text
            unreadable.add(one.metadata["Name"] or "unknown")
    return points, unreadable


def name_problem(name: str, owner: str | None, kind: str) -> str | None:
    """What is wrong with a name that is registered.

    Args:
        name: The name.
        owner: The distribution that has it already.
        kind: What it names.
    """
    if owner is not None:
        return f"the name is that of a {kind} of {owner}, which is used"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        return "the name is not of small letters, digits and single hyphens"
    return None

"""The mark of means over a part of the conditions of a study, as in its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MARK = "‡"
NOTE = f"{MARK}: over the conditions that there are."


def marked(names: Sequence[str], partial: Iterable[bool]) -> list[str]:
    """Return names, with the mark where the data behind a name are incomplete."""
    return [f"{name}{MARK}" if each else name for name, each in zip(names, partial, strict=True)]


def noted(note: str, partial: Iterable[bool]) -> str:
    """Go on with what the mark means, if there is any."""
    return " ".join(filter(None, (note, NOTE if any(partial) else "")))

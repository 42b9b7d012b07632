"""Notes of figures of robustness: the mark of incomplete means, as in tables, and short names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

MARK = "‡"
NOTE = f"{MARK}: over the conditions that there are."


def marked(names: Sequence[str], partial: Iterable[bool]) -> list[str]:
    """Return names, with the mark where the data behind a name are incomplete."""
    return [f"{name}{MARK}" if each else name for name, each in zip(names, partial, strict=True)]


def noted(note: str, partial: Iterable[bool]) -> str:
    """Go on with what the mark means, if there is any."""
    return " ".join(filter(None, (note, NOTE if any(partial) else "")))


def explained(names: Mapping[str, str]) -> str:
    """Say in full what abbreviations mean; names that are not abbreviated are left out."""
    short = [f"{name}: {full}" for name, full in names.items() if name != full]
    return f"{'; '.join(short)}." if short else ""

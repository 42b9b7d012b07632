"""Captions of figures: what stands beside them in a paper, and in the metadata of their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.data.vocabulary import printed_name

_NOTES: WeakKeyDictionary[Figure, list[str]] = WeakKeyDictionary()


def add_note(target: Axes | Figure, text: str) -> None:
    """Add what a reader must know to read a figure to its caption.

    Parameters
    ----------
    target : Axes or Figure
        The figure, or axes in it.
    text : str
        Sentences; empty for none.
    """
    figure = target if isinstance(target, Figure) else target.get_figure(root=True)
    if text and figure is not None and text not in notes_of(figure):
        _NOTES.setdefault(figure, []).append(text)


def notes_of(figure: Figure) -> list[str]:
    """List what readers of a figure must know: the end of its caption."""
    return list(_NOTES.get(figure, ()))


def protocol_of(result: Mapping[str, Any], key: str) -> str:
    """Look up an entry of the protocol of a result; empty if there is none.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    key : {"name", "signature"}
        The entry.
    """
    protocol = result.get("protocol")
    return str(protocol.get(key, "")) if isinstance(protocol, Mapping) else ""


def caption(results: Sequence[Mapping[str, Any]]) -> str:
    """Name the detectors of a figure, the data set, and the protocol with its choices.

    Parameters
    ----------
    results : sequence of mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    str
        One sentence per protocol, for :func:`diaghoi.plots.save`.
    """
    sentences: dict[str, list[str]] = {}
    for number, result in enumerate(results, start=1):
        name, signature = (protocol_of(result, key) for key in ("name", "signature"))
        where = f" on {printed_name(result['dataset'])}" if result.get("dataset") else ""
        choices = f", protocol {name} ({signature})" if name else ""
        label = str(result.get("label") or f"model {number}")
        sentences.setdefault(f"{where}{choices}", []).append(label)
    return " ".join(f"{', '.join(labels)}{rest}." for rest, labels in sentences.items())


INCOMPLETE = "‡"
INCOMPLETE_NOTE = f"{INCOMPLETE}: over the conditions that there are."


def marked(names: Sequence[str], partial: Iterable[bool]) -> list[str]:
    """Return names, with the mark where the data behind a name are incomplete."""
    return [
        f"{name}{INCOMPLETE}" if each else name for name, each in zip(names, partial, strict=True)
    ]


def noted(note: str, partial: Iterable[bool]) -> str:
    """Go on with what the mark means, if there is any."""
    return " ".join(filter(None, (note, INCOMPLETE_NOTE if any(partial) else "")))


def explained(names: Mapping[str, str]) -> str:
    """Say in full what abbreviations mean; names that are not abbreviated are left out."""
    short = [f"{name}: {full}" for name, full in names.items() if name != full]
    return f"{'; '.join(short)}." if short else ""

"""Text in figures: labels, numbers, the space they take, and captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from diaghoi.data.vocabulary import printed_name
from diaghoi.plots.style import DOUBLE_COLUMN

SPLITS = {
    "full": "All classes",
    "rare": "Rare classes",
    "non_rare": "Non-rare classes",
    "zero_shot": "Zero-shot classes",
    "unseen": "Unseen classes",
    "seen": "Seen classes",
}

# Screen renderers round the advance of each character to whole pixels, which widens text by up to 5
# %.
ROUNDED = 1.05
MINUS = "\N{MINUS SIGN}"


def split_title(split: str) -> str:
    """Return the title of a split, such as ``Rare classes``."""
    return SPLITS.get(split, split.replace("_", " "))


def model_names(labels: Iterable[str | None]) -> list[str]:
    """Name the models of a figure, each on one line.

    Parameters
    ----------
    labels : iterable of str or None
        Labels of the models. A model without a label is named by its number, duplicate labels
        get a number, and non-Unicode characters (labels may be file names) are replaced.
    """
    names: list[str] = []
    for number, label in enumerate(labels, start=1):
        label = str(label or f"model {number}")
        name = base = " ".join(label.encode(errors="replace").decode().split())
        again = 1
        while name in names:
            again += 1
            name = f"{base} ({again})"
        names.append(name)
    return names


def text_width(text: str, size: float) -> float:
    """Return the width in inches of a text in the font of figures, ``size`` in points."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    return ROUNDED * float(width) / 72


def fitted(label: str, inches: float, size: float) -> str:
    """Shorten a long label in the middle, so that its start and end remain.

    Parameters
    ----------
    label : str
        Any one-line text.
    inches : float
        Available width; at least eight characters are kept.
    size : float
        Font size in points.
    """
    kept = len(label)
    while kept > 8 and text_width(_shortened(label, kept), size) > inches:
        kept -= 1
    return _shortened(label, kept)


def fitted_pair(first: str, second: str, inches: float, size: float) -> str:
    """Add a second label in brackets; if the two labels do not fit, shorten each label separately.

    Parameters
    ----------
    first, second : str
        One-line texts.
    inches, size
        As in :func:`fitted`.
    """
    room = inches - text_width(" ()", size)
    first = fitted(first, max(room / 2, room - text_width(second, size)), size)
    return f"{first} ({fitted(second, room - text_width(first, size), size)})"


def wrapped(text: str, inches: float, size: float) -> list[str]:
    """Wrap a text into lines of the given width in inches; shorten words that are wider.

    Parameters
    ----------
    text : str
        Words separated by spaces.
    inches : float
        Available width.
    size : float
        Font size in points.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= inches:
            lines[-1] = longer
        else:
            lines.append(fitted(word, inches, size))
    return lines


def points(value: float, *, signed: bool = False) -> str:
    """Format percentage points with one decimal, or two below a tenth; 0 without a sign."""
    # 0.095 is the smallest value that one decimal shows as 0.1.
    decimals = 1 if abs(value) >= 0.095 else 2
    text = f"{value:+.{decimals}f}" if signed else f"{value:.{decimals}f}"
    return "0" if float(text) == 0 else text.replace("-", MINUS)


def inches_of(target: Axes | Figure) -> float:
    """Return the width of a figure or axes in inches, as known before layout."""
    figure = target.get_figure(root=True)
    width = DOUBLE_COLUMN if figure is None else float(figure.get_figwidth())
    return width * float(target.get_position().width) if isinstance(target, Axes) else width - 0.1


def _shortened(label: str, letters: int) -> str:
    if letters >= len(label):
        return label
    tail = (letters - 1) // 2
    return f"{label[: letters - 1 - tail]}…{label[-tail:]}"


def protocol_of(result: Mapping[str, Any], key: str) -> str:
    """Look up an entry in a result's protocol; return an empty string if there is none.

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
    """Return a caption that names the detectors, the data set, and the protocol with its choices.

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

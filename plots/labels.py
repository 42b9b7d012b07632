"""Words in figures: labels of models, titles of splits, and how much room they take."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from diaghoi.plots.style import DOUBLE_COLUMN

SPLITS = {
    "full": "All classes",
    "rare": "Rare classes",
    "non_rare": "Non-rare classes",
    "zero_shot": "Zero-shot classes",
    "unseen": "Unseen classes",
    "seen": "Seen classes",
}

ROUNDED = 1.05  # by how much letters on screen are wider than in print, rounded to whole pixels


def split_title(split: str) -> str:
    """Name a split for people: ``Rare classes``."""
    return SPLITS.get(split, split.replace("_", " "))


def model_names(labels: Iterable[str | None]) -> list[str]:
    """Name the models of a figure, each in one line.

    Parameters
    ----------
    labels : iterable of str or None
        What they are called. A model without a label is called by its number, equal labels are told
        apart by a number, and what is not Unicode (labels can be names of files) is replaced.
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


def text_width(words: str, size: float) -> float:
    """Width in inches of words in the type of figures, ``size`` in points."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        words, FontProperties(size=size), False
    )
    return ROUNDED * float(width) / 72


def fitted(label: str, inches: float, size: float) -> str:
    """Leave the middle of a long label out, so that beginnings and endings can be told apart.

    Parameters
    ----------
    label : str
        Any words in one line.
    inches : float
        The room there is; eight letters are left in any case.
    size : float
        Size of the type in points.
    """
    kept = len(label)
    while kept > 8 and text_width(_shortened(label, kept), size) > inches:
        kept -= 1
    return _shortened(label, kept)


def inches_of(target: Axes | Figure) -> float:
    """Width of a figure or of axes in inches, as far as it is known before the layout is made."""
    figure = target.get_figure(root=True)
    width = DOUBLE_COLUMN if figure is None else float(figure.get_figwidth())
    return width * float(target.get_position().width) if isinstance(target, Axes) else width - 0.1


def _shortened(label: str, letters: int) -> str:
    if letters >= len(label):
        return label
    tail = (letters - 1) // 2
    return f"{label[: letters - 1 - tail]}…{label[-tail:]}"

"""Style of all figures: paper sizes, fonts, one colour per error; and saving of figures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from diaghoi.data.arrays import FloatArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.output import replacing

DRAWN = ("pdf", "svg", "png")
"""File formats of figures, for papers, pages and slides.
"""
SINGLE_COLUMN = 3.25
"""Width in inches of a figure in one column of a two-column paper."""
DOUBLE_COLUMN = 6.875
"""Width in inches of a figure across both columns."""

COLOURS = {
    "true_positive": "#444444",
    "human_box": "#88CCEE",
    "object_box": "#332288",
    "both_boxes": "#44AA99",
    "association": "#117733",
    "action": "#DDCC77",
    "duplicate": "#882255",
    "missed_gt": "#CC6677",
    "false_positive": "#AA4499",
    "false_negative": "#999933",
}
"""One fixed colour per error, in oracle order (Paul Tol's "muted" scheme, which people with common
kinds of colour blindness can distinguish; neighbours differ in lightness), and dark grey for
correct predictions.
"""
OTHER_COLOUR = "#777777"
Colour = Sequence[float] | FloatArray
"""Red, green and blue in [0, 1], without opacity."""
HATCHES = {"object_box": "....", "association": "////", "duplicate": "\\\\\\\\"}
"""White hatches on dark colours, to distinguish adjacent areas of errors in greyscale."""
# The first five colours also differ in greyscale. The combinations of ten colours and four dashes
# repeat only after twenty models.
MODEL_COLOURS = (
    *("#004488", "#BB5566", "#DDAA33", "#222222", "#33AADD"),
    *("#117733", "#AA4499", "#998800", "#888888", "#44BB99"),
)
MODEL_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1, 1, 1)))
MODEL_MARKERS = "osD^vP*X<>hd"

# Fonts are embedded as TrueType in PDF and PostScript, as publishers require, and text stays text
# in SVG.
EMBEDDED_FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}
SAVED = {"savefig.bbox": None, "savefig.dpi": 300.0, "svg.hashsalt": "diaghoi"}
PAPER: dict[Any, Any] = {
    **EMBEDDED_FONTS,
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 0.8,
    "patch.linewidth": 0.4,
    "hatch.linewidth": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.dpi": 150.0,
}


@contextmanager
def paper() -> Iterator[None]:
    """Draw for print: small type, thin lines, and embedded fonts in PDF and PostScript (type 42).

    Sizes are meant for figures that are :data:`SINGLE_COLUMN` or :data:`DOUBLE_COLUMN` inches wide
    and included without scaling.
    """
    with mpl.rc_context():
        # Override all user settings, because some would run LaTeX.
        mpl.rcdefaults()
        mpl.rcParams.update(PAPER)
        yield


def colour(oracle: str) -> tuple[float, float, float]:
    """Return the RGB colour of an error in [0, 1]; grey for unknown errors."""
    return to_rgb(COLOURS.get(oracle, OTHER_COLOUR))


def lighter(rgb: tuple[float, float, float], amount: float) -> tuple[float, float, float]:
    """Mix a colour with white: 0 keeps the colour, 1 gives white."""
    red, green, blue = (part + (1.0 - part) * amount for part in rgb)
    return red, green, blue


def contrast(first: Colour, second: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.1); text needs 4.5."""
    brighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def ink_on(ground: Colour) -> tuple[float, float, float]:
    """Return black or white, whichever contrasts more with a background (at least 4.58)."""
    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    return max(black, white, key=lambda ink: contrast(ink, ground))


def _luminance(rgb: Colour) -> float:
    """Return the relative luminance of an sRGB colour, as defined by WCAG 2.1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def model_style(number: int) -> dict[str, Any]:
    """Return colour, dashes and marker for a model's lines or dots.

    Parameters
    ----------
    number : int
        Index of the model in the study, from 0. The first ten models differ in colour. The first
        twelve models differ in the combination of colour and dashes, and also in the marker, for
        greyscale.

    Returns
    -------
    dict
        ``color``, ``linestyle`` and ``marker``, for :meth:`matplotlib.axes.Axes.plot`.
    """
    return {
        "color": MODEL_COLOURS[number % len(MODEL_COLOURS)],
        "linestyle": MODEL_DASHES[number % len(MODEL_DASHES)],
        "marker": MODEL_MARKERS[number % len(MODEL_MARKERS)],
    }


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the file format given by a path's suffix, for example ``pdf``.

    Raises
    ------
    InputError
        If the suffix is not one of :data:`DRAWN`.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in DRAWN:
        found = (
            f"the file type '.{suffix}' is not supported" if suffix else "the name has no ending"
        )
        raise InputError(
            f"{os.fspath(path)}: cannot be drawn: {found}{close_matches(suffix, DRAWN)}; "
            f"give one of {', '.join(DRAWN)}"
        )
    return suffix


def save(figure: Figure, path: str | os.PathLike[str], *, caption: str = "") -> None:
    """Write a figure to a file, completely or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure, saved at its exact size, without cropping or padding.
    path : path
        The file, whose suffix, one of :data:`DRAWN`, determines the format.
    caption : str
        Caption for the metadata of PDF, PNG and SVG files; see :func:`diaghoi.plots.caption`. The
        figure's notes are appended.

    Raises
    ------
    InputError
        If the suffix is unknown, or the folder cannot be written to.
    """
    kind = check_suffix(path)
    drawn = BytesIO()
    with mpl.rc_context(EMBEDDED_FONTS | SAVED):
        text = " ".join(filter(None, (caption, *notes_of(figure))))
        figure.savefig(drawn, format=kind, metadata=_metadata(kind, text))
    # Matplotlib's writers hide the reason why a file cannot be written, such as a full disk.
    with replacing(path) as temporary:
        temporary.write_bytes(drawn.getvalue())


def _metadata(kind: str, caption: str) -> dict[str, str | None]:
    """Return metadata with the caption but no date, so that equal figures give equal files."""
    undated: dict[str, dict[str, str | None]] = {
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
        "png": {},
    }
    if not caption:
        return undated[kind]
    text = caption.encode(errors="replace").decode()  # a file name may not be valid Unicode
    return undated[kind] | {"Subject" if kind == "pdf" else "Description": text}


_NOTES: WeakKeyDictionary[Figure, list[str]] = WeakKeyDictionary()


def add_note(target: Axes | Figure, text: str) -> None:
    """Add a note to a figure, to be appended to its caption.

    Parameters
    ----------
    target : Axes or Figure
        The figure, or its axes.
    text : str
        Sentences; empty for none.
    """
    figure = target if isinstance(target, Figure) else target.get_figure(root=True)
    if text and figure is not None and text not in notes_of(figure):
        _NOTES.setdefault(figure, []).append(text)


def notes_of(figure: Figure) -> list[str]:
    """List the notes of a figure, which are appended to the caption of the figure."""
    return list(_NOTES.get(figure, ()))

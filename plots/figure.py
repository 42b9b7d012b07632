"""Kinds of figures: computing the data of each model, and drawing all models together.

Each module of this package draws one kind of figure. It has a function ``NAME_table`` that computes
the data without drawing, a function ``NAME(..., ax=None)`` that draws into one axes, and a
:class:`FigureKind` that describes the figure of a whole study; the registry
:data:`diaghoi.plots.FIGURES` names them all. Drawing never saves or shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.plots.style import paper

FOOT = 0.1  # inches below a figure for the name of the protocol
FOOT_SIZE = 5.5  # points


class NotApplicable(Exception):  # noqa: N818 - it is an answer, not an error
    """A figure that cannot be made from the available data; the message gives the reason.

    Raised by ``data`` it leaves out one model, raised by ``draw`` the whole figure.
    """


@dataclass(frozen=True, kw_only=True)
class Source:
    """Everything known about one model while its data are computed.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`, or read from a file.
    diagnosis : Diagnosis or None
        None for a saved result.
    annotations, predictions : Scenes or None
        The scenes that were diagnosed; None without a diagnosis.
    hoi : int or None
        HOI class to show, counted from zero; None leaves the choice to the figure.
    """

    result: Mapping[str, Any]
    diagnosis: Diagnosis | None = None
    annotations: Scenes | None = None
    predictions: Scenes | None = None
    hoi: int | None = None


@dataclass(frozen=True, kw_only=True)
class ModelData:
    """One model of a figure.

    Parameters
    ----------
    label : str
        Its name, in one line and unique.
    data : object
        The result of ``FigureKind.data``.
    stage : {"", "one", "two"}
        One-stage or two-stage; empty if not given.
    backbone : str
        Its backbone; empty if not given.
    protocol : str
        Name of the protocol behind the data.
    """

    label: str
    data: Any
    stage: str = ""
    backbone: str = ""
    protocol: str = ""


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """One kind of figure.

    Parameters
    ----------
    name : str
        Name in the registry, on the command line, and of the file.
    title : str
        What it shows, in a few words without a period.
    needs : {"results", "diagnoses"}
        Whether a saved result is enough, or a diagnosis with its scenes is needed.
    data : callable
        Turns the :class:`Source` of one model into the data to draw. It keeps no reference to the
        source, so that one model can be freed before the next one is read. It raises
        :class:`NotApplicable` if the figure cannot show this model.
    draw : callable
        Draws all models in order into an empty figure of the width of the column, with
        "constrained" layout; it may call ``figure.set_figheight`` if the panels of many models need
        more room. It is called within :func:`diaghoi.plots.paper` and raises
        :class:`NotApplicable` if these models cannot be drawn.
    height : float
        Height of the figure in inches.
    """

    name: str
    title: str
    needs: Literal["results", "diagnoses"]
    data: Callable[[Source], Any]
    draw: Callable[[Figure, Sequence[ModelData]], None]
    height: float = 2.4


def shown_names(models: Sequence[ModelData]) -> list[str]:
    """Return the names of the models of a figure, with their protocols if these differ."""
    if len({model.protocol for model in models}) == 1:
        return [model.label for model in models]
    return [f"{model.label} ({model.protocol})" for model in models]


def tables_of(models: Sequence[ModelData]) -> dict[str, Any]:
    """Return the data of each model of a figure by its shown name."""
    return dict(zip(shown_names(models), [model.data for model in models], strict=True))


def figure_of(kind: FigureKind, models: Sequence[ModelData], width: float) -> Figure:
    """Draw one kind of figure of some models.

    Parameters
    ----------
    kind : FigureKind
        Which figure.
    models : sequence of ModelData
        With the data of this kind.
    width : float
        In inches; see :data:`diaghoi.plots.SINGLE_COLUMN` and :data:`diaghoi.plots.DOUBLE_COLUMN`.

    Returns
    -------
    matplotlib.figure.Figure
        With the name of the protocol at the bottom; see :func:`diaghoi.plots.save`.

    Raises
    ------
    NotApplicable
        If the models allow no such figure.
    """
    with paper():
        figure = Figure(figsize=(width, kind.height), layout="constrained")
        kind.draw(figure, models)
        protocols = {model.protocol for model in models}
        if len(protocols) == 1 and protocols != {""}:
            _sign(figure, f"Protocol {protocols.pop()}")
    return figure


def reserve_below(figure: Figure, inches: float) -> None:
    """Keep the axes of a figure out of its lowest inches, or of more if more are reserved."""
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        height = max(inches / figure.get_figheight(), engine.get()["rect"][1])
        engine.set(rect=(0, height, 1, 1 - height))


def _sign(figure: Figure, text: str) -> None:
    """Write a text at the bottom of a figure."""
    reserve_below(figure, FOOT)
    figure.text(
        0.995,
        0.02 / figure.get_figheight(),
        text,
        ha="right",
        va="bottom",
        fontsize=FOOT_SIZE,
        color="0.35",
        parse_math=False,
    )


def diagnosis_of(source: Source) -> Diagnosis:
    """Return the diagnosis of a model.

    Raises
    ------
    NotApplicable
        For a saved result.
    """
    if source.diagnosis is None:
        raise NotApplicable("a saved result is not enough for it; give the predictions")
    return source.diagnosis

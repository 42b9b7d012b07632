"""What makes a figure: the data of each model, computed alone, and the drawing of all together.

A module of this package draws one kind of figure. It has a function ``NAME_table`` that computes
the data without drawing, a function ``NAME(..., ax=None)`` that draws into one axes, and a
:class:`FigureKind` that says how the figure of a whole study is made; the registry
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
    """A figure that cannot be made of what is there; the message says why, for a note.

    Raised by ``data`` it leaves one model out, raised by ``draw`` the whole figure.
    """


@dataclass(frozen=True, kw_only=True)
class Source:
    """All that is known of one model, for as long as its data are computed.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`, or read from a file.
    diagnosis : Diagnosis or None
        None for a model that is there as a saved result.
    annotations, predictions : Scenes or None
        What the diagnosis was made of; None where there is no diagnosis.
    hoi : int or None
        HOI class that the user asks for, counted from zero; None leaves the choice to the figure.
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
        Its name, in one line, and not that of another model.
    data : object
        What ``FigureKind.data`` made of it.
    stage : {"", "one", "two"}
        One-stage or two-stage, where it is told.
    backbone : str
        Empty where it is not told.
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
        Name in the registry, on the command line and of the file.
    title : str
        What it shows, in a few words without a full stop.
    needs : {"results", "diagnoses"}
        Whether a saved result is enough, or a diagnosis (with its scenes) has to be there.
    data : callable
        Turns the :class:`Source` of one model into what is drawn of it. It keeps no reference to
        the source, so that one model can be freed before the next one is read. It raises
        :class:`NotApplicable` where the figure cannot show this model.
    draw : callable
        Draws all models, in their order, into an empty figure whose width is that of the column
        and whose layout is "constrained"; it may call ``figure.set_figheight`` where the panels of
        many models need more room. It is called within :func:`diaghoi.plots.paper` and raises
        :class:`NotApplicable` where the models allow no figure, such as one.
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
    """Name the models of a figure; where they follow different protocols, with these."""
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
        With the name of the protocol at its foot; see :func:`diaghoi.plots.save`.

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


def _sign(figure: Figure, words: str) -> None:
    """Write at the foot of a figure."""
    height = FOOT / figure.get_figheight()
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, height, 1, 1 - height))
    figure.text(
        0.995,
        0.02 / figure.get_figheight(),
        words,
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
        For a model that is there as a saved result.
    """
    if source.diagnosis is None:
        raise NotApplicable("a saved result is not enough for it; give the predictions")
    return source.diagnosis

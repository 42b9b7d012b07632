"""Kinds of figures: computing the data of each model, and drawing all models together.

Each module of :mod:`diaghoi.plots.figures` draws one kind of figure. It has a function
``NAME_table`` that computes the data without drawing, a function ``NAME(..., ax=None)`` that draws
into one axes, and a :class:`FigureKind` that describes the figure of a whole study; the registry
:data:`diaghoi.plots.FIGURES` names them all. Drawing never saves or shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from diaghoi.data.protocol import PROTOCOLS
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import VERSION
from diaghoi.exceptions import InputError
from diaghoi.oracles.localised import PUBLISHED
from diaghoi.plots.captions import add_note, protocol_of
from diaghoi.plots.labels import model_names
from diaghoi.plots.panels import prepared
from diaghoi.plots.style import SINGLE_COLUMN, paper

Model = Diagnosis | Mapping[str, Any]
"""A detector to draw: its diagnosis, or its result as from :meth:`diaghoi.Diagnosis.to_dict`."""
Models = Model | Sequence[Model]


class NotApplicable(InputError):  # noqa: N818 - in a study it is an answer, not an error
    """A figure that cannot be made from the available data; the message gives the reason.

    In a study, raised by ``data`` it leaves out one model, raised by ``draw`` the whole figure.
    """


@contextmanager
def reading(result: Mapping[str, Any], part: str, writer: str) -> Iterator[None]:
    """Read a part of a result, which may be malformed.

    Raises
    ------
    InputError
        If it is.
    """
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{result.get('label') or 'result'}: '{part}' cannot be drawn "
            f"({type(error).__name__}: {error}); give what {writer} writes"
        ) from error


@dataclass(frozen=True, kw_only=True)
class Source:
    """Everything known about one model while its data are computed.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`, or read from a file.
    diagnosis : Diagnosis or None
        None for a saved result.
    hoi : int or None
        HOI class to show, counted from zero; None leaves the choice to the figure.
    images : pathlib.Path or None
        Folder with the pictures, for figures that show cases.
    """

    result: Mapping[str, Any]
    diagnosis: Diagnosis | None = None
    hoi: int | None = None
    images: Path | None = None


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
    score : str
        Name of the score that is drawn where it is not one of the protocol.
    dataset : str
        Its data set, in a figure of several.
    note : str
        What a reader must know to read the data, in sentences.
    """

    label: str
    data: Any
    stage: str = ""
    backbone: str = ""
    protocol: str = ""
    score: str = ""
    dataset: str = ""
    note: str = ""

    @property
    def key(self) -> str:
        """Its name among the models of all data sets."""
        return f"{self.dataset}: {self.label}" if self.dataset else self.label


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
        "constrained" layout, which it may make higher; where it has a function of its own, with
        the settings of this also into given axes (see :func:`drawn`). It is called within
        :func:`diaghoi.plots.paper` and raises :class:`NotApplicable` if these models cannot be
        drawn.
    height : float
        Height of the figure in inches.
    width : float, optional
        Width in inches of a figure that is not for a column.
    parts : callable, optional
        Names the parts of the title that these models allow, where not all figures have all.
    datasets : bool
        Whether it can show models of several data sets.
    published : bool
        Whether errors are those of the published rule, which V-COCO's needs a word on.
    """

    name: str
    title: str
    needs: Literal["results", "diagnoses"]
    data: Callable[[Source], Any]
    draw: Callable[..., None]
    height: float = 2.4
    width: float | None = None
    parts: Callable[[Sequence[ModelData]], str] | None = None
    datasets: bool = False
    published: bool = False

    def title_of(self, models: Sequence[ModelData]) -> str:
        """Say what the figure shows of these models."""
        return self.title if self.parts is None else f"{self.title}: {self.parts(models)}"


def source_of(model: Model, hoi: int | None = None) -> Source:
    """Return what is known about a detector.

    Raises
    ------
    InputError
        For anything that is neither a diagnosis nor a result.
    """
    if isinstance(model, Diagnosis):
        return Source(result=model.to_dict(), diagnosis=model, hoi=hoi)
    if not isinstance(model, Mapping):
        raise InputError(
            f"a detector to draw is a {type(model).__name__}; give its diagnosis or its result"
        )
    return Source(result=model, hoi=hoi)


def is_model(given: Any) -> bool:
    """Whether something is a diagnosis or a result, and not data of a figure."""
    result = isinstance(given, Mapping) and isinstance(given.get(VERSION), str)
    return result or isinstance(given, Diagnosis)


def data_of(kind: FigureKind, given: Any) -> Any:
    """Return the data of one detector for a figure.

    Parameters
    ----------
    kind : FigureKind
        The figure.
    given : Diagnosis, mapping or object
        The detector, or the data themselves.

    Raises
    ------
    NotApplicable
        If the figure cannot show this detector.
    """
    several = isinstance(given, Sequence) and any(is_model(each) for each in given)
    wanted = is_model(given) or several or isinstance(given, str | PathLike)
    return kind.data(source_of(given)) if wanted else given


def sources_of(given: Any) -> list[Source]:
    """Return what is known about one or more detectors."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [source_of(model) for model in given]
    return [source_of(given)]


def models_for(kind: FigureKind, given: Models) -> list[ModelData]:
    """Return one or more detectors with their data for a figure, named by their labels."""
    sources = sources_of(given)
    names = model_names(source.result.get("label") for source in sources)
    found = []
    for name, source in zip(names, sources, strict=True):
        try:
            data = kind.data(source)
        except NotApplicable as reason:
            raise NotApplicable(f"{kind.name} of {name}: {reason}") from None
        protocol = protocol_of(source.result, "name")
        found.append(ModelData(label=name, data=data, protocol=protocol))
    return found


def drawn(kind: FigureKind, given: Any, ax: Axes | None, **settings: Any) -> Axes:
    """Draw a figure into one axes; a new figure has the width of one column.

    Parameters
    ----------
    kind : FigureKind
        The figure.
    given : Diagnosis, mapping, or sequence of these
        The detectors; or the data of each by its label.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    **settings
        Of ``kind.draw``.

    Raises
    ------
    InputError
        If there is no model.
    NotApplicable
        If the figure cannot show one of them.
    """
    if isinstance(given, Mapping) and not is_model(given):
        models = [ModelData(label=label, data=data) for label, data in given.items()]
    else:
        models = models_for(kind, given)
    if not models:
        raise InputError("models: there is nothing to draw; give at least one")
    with paper():
        if ax is not None:
            kind.draw(prepared(ax), models, **settings)
            return ax
        figure = Figure(figsize=(SINGLE_COLUMN, kind.height), layout="constrained")
        kind.draw(figure, models, **settings)
    return figure.axes[0]


def shown_names(models: Sequence[ModelData]) -> list[str]:
    """Return the names of the models of a figure, with their protocols if these differ."""
    if len({model.protocol for model in models}) == 1 or all(model.dataset for model in models):
        return [model.label for model in models]
    return [f"{model.label} ({model.protocol})" for model in models]


def tables_of(models: Sequence[ModelData]) -> dict[str, Any]:
    """Return the data of each model of a figure by its shown name."""
    return dict(zip(shown_names(models), [model.data for model in models], strict=True))


def figure_of(kind: FigureKind, models: Sequence[ModelData | Model], width: float) -> Figure:
    """Draw one kind of figure of some models.

    Parameters
    ----------
    kind : FigureKind
        Which figure.
    models : sequence of ModelData, Diagnosis or mapping
        The models, with the data of this kind; or their diagnoses or results.
    width : float
        In inches; see :data:`diaghoi.plots.SINGLE_COLUMN` and :data:`diaghoi.plots.DOUBLE_COLUMN`.

    Returns
    -------
    matplotlib.figure.Figure
        Without a sentence in it: what readers must know is :func:`diaghoi.plots.notes_of` it, and
        :func:`diaghoi.plots.save` adds it to the caption.

    Raises
    ------
    NotApplicable
        If the models allow no such figure.
    """
    ready = [model for model in models if isinstance(model, ModelData)]
    shown = ready or models_for(kind, [m for m in models if not isinstance(m, ModelData)])
    with paper():
        figure = _LaidOut(figsize=(kind.width or width, kind.height), layout="constrained")
        kind.draw(figure, shown)
        for model in shown:
            add_note(figure, _behind(model, kind))
    return figure


class _LaidOut(Figure):
    """A figure that is drawn once when it is saved.

    Matplotlib draws figures with a layout twice: first on nothing, to lay them out, then without
    the layout. The first time nothing but the layout is needed here.
    """

    def draw(self, renderer: RendererBase) -> None:
        engine = self.get_layout_engine()
        if self.canvas.is_saving() and isinstance(engine, ConstrainedLayoutEngine):
            engine.execute(self)
        else:
            super().draw(renderer)


def _behind(model: ModelData, kind: FigureKind) -> str:
    """Say what the caption does not say of the numbers of a model: a score, or an unusual rule."""
    if model.score:
        return f"Score: {model.score}."
    known = PROTOCOLS.get(model.protocol)
    if not kind.published or known is None:
        return ""
    if known.class_without_true_positive == "left out":
        return f"Protocol {model.protocol}: a repair changes which classes are in the mean."
    return f"Protocol {model.protocol}: {PUBLISHED}." if known.pairing == "person" else ""


def diagnosis_of(source: Source) -> Diagnosis:
    """Return the diagnosis of a model.

    Raises
    ------
    NotApplicable
        For a saved result.
    """
    if source.diagnosis is None:
        raise NotApplicable(
            "a saved result is not enough for it; give the predictions or a saved diagnosis"
        )
    return source.diagnosis

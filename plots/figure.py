"""Registry of figures, and functions that draw them.

A figure is a function that draws models into an empty figure or given axes; the decorator
:func:`figure` registers the drawing function under a name, with the function that computes the
data. Drawing functions never save or show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, Literal, cast

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from diaghoi.data.protocol import PROTOCOLS
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import VERSION
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles.localised import PUBLISHED
from diaghoi.plots.labels import caption, model_names, protocol_of
from diaghoi.plots.panels import prepared
from diaghoi.plots.style import (
    DOUBLE_COLUMN,
    SINGLE_COLUMN,
    add_note,
    check_suffix,
    paper,
    save,
)

COLUMNS = {"single": SINGLE_COLUMN, "double": DOUBLE_COLUMN}
Model = Diagnosis | Mapping[str, Any]
"""A detector to draw: a diagnosis, or a result of :meth:`diaghoi.Diagnosis.to_dict`."""
Models = Model | Sequence[Model]


class NotApplicable(InputError):  # noqa: N818 - in a study it is an answer, not an error
    """A figure cannot be drawn from the available data; the message gives the reason.

    In a study, ``data`` raises this exception to omit one model, and ``draw`` to omit the whole
    figure.
    """


@contextmanager
def reading(result: Mapping[str, Any], part: str, writer: str) -> Iterator[None]:
    """Raise an input error if a part of a result proves malformed while it is read.

    Raises
    ------
    InputError
        If the part is malformed.
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
        A result of :meth:`diaghoi.Diagnosis.to_dict`, possibly read from a file.
    diagnosis : Diagnosis or None
        None for a saved result.
    hoi : int or None
        HOI class to show, counted from zero; None lets the figure choose.
    images : pathlib.Path or None
        Folder of the pictures, for figures that show cases.
    """

    result: Mapping[str, Any]
    diagnosis: Diagnosis | None = None
    hoi: int | None = None
    images: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ModelData:
    """A model in a figure.

    Parameters
    ----------
    label : str
        Unique one-line name.
    data : object
        The result of ``FigureKind.data``.
    stage : {"", "one", "two"}
        One-stage or two-stage; empty if not given.
    backbone : str
        Backbone; empty if not given.
    protocol : str
        Name of the protocol of the data.
    score : str
        Name of the drawn score, if it does not belong to the protocol.
    dataset : str
        Data set, in a figure with several data sets.
    note : str
        Sentences that explain the data.
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
        """A name that is unique across data sets."""
        return f"{self.dataset}: {self.label}" if self.dataset else self.label


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """A kind of figure.

    Parameters
    ----------
    name : str
        Name in the registry, on the command line, and of the file.
    title : str
        Short title of the figure, without a period.
    data : callable
        Function that turns the :class:`Source` of one model into the data to draw. The data must
        keep no reference to the source, so that a model can be freed before the next one is read.
        The function raises :class:`NotApplicable` if the figure cannot show this model.
    draw : callable
        Function that draws all models, in order, into an empty figure of column width with
        constrained layout; the function may make the figure taller. A public drawing function also
        draws into given axes, and may have settings of its own (see :func:`drawn`). The function is
        called within :func:`diaghoi.plots.paper` and raises :class:`NotApplicable` if these models
        cannot be drawn.
    height : float
        Height of the figure in inches.
    width : float, optional
        Width in inches of a figure that does not fit a column.
    needs : {"results", "diagnoses"}
        What the figure needs: saved results, or diagnoses with scenes.
    parts : callable, optional
        Function that names the parts of the figure that the given models allow, to be appended to
        the title; by default, nothing is appended.
    usual : bool
        Whether a study draws the figure by default.
    single : bool
        Whether each axes shows only one model.
    datasets : bool
        Whether the figure can show models of several data sets.
    published : bool
        Whether the figure shows errors by the published rule; if so, V-COCO needs a remark.
    """

    name: str
    title: str
    data: Callable[[Source], Any]
    draw: Callable[..., None]
    height: float = 2.4
    width: float | None = None
    needs: Literal["results", "diagnoses"] = "diagnoses"
    parts: Callable[[Sequence[ModelData]], str] | None = None
    usual: bool = False
    single: bool = False
    datasets: bool = False
    published: bool = False

    def title_of(self, models: Sequence[ModelData]) -> str:
        """Return the title of the figure for these models."""
        return self.title if self.parts is None else f"{self.title}: {self.parts(models)}"


FIGURES: dict[str, FigureKind] = {}
"""Figures of a study of several models, by name; see :func:`diaghoi.plots.figure.figure`."""
FUNCTIONS: dict[str, Callable[..., Axes]] = {}
"""Functions that draw into one axes, by name."""


def figure(name: str, title: str, **settings: Any) -> Callable[[Callable[..., None]], Any]:
    """Register the drawing function of a figure.

    Parameters
    ----------
    name, title, **settings
        Fields of :class:`FigureKind`.

    Returns
    -------
    callable
        Decorator of the drawing function; the result draws into one axes, like :func:`drawn`. The
        result has the name and docstring of the function.
    """

    def add(draw: Callable[..., None]) -> Callable[..., Axes]:
        kind = FIGURES[name] = FigureKind(name=name, title=title, draw=draw, **settings)

        def function(diagnoses: Any, ax: Axes | None = None, **parameters: Any) -> Axes:
            return drawn(kind, diagnoses, ax, **parameters)

        update_wrapper(function, draw)
        del function.__wrapped__  # type: ignore[attr-defined]
        if not draw.__name__.startswith("_"):
            FUNCTIONS[draw.__name__] = function
        return function

    return add


def plot(
    diagnosis: Diagnosis,
    figure: str,
    ax: Axes | None = None,
    *,
    column: str | None = None,
    path: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Axes:
    """Draw a figure of one detector; see :meth:`diaghoi.Diagnosis.plot`.

    Raises
    ------
    InputError
        If the figure, a column or the suffix of the path is unknown, or the diagnosis does not
        allow the figure.
    """
    kinds: Mapping[str, Any] = FUNCTIONS if column is None else FIGURES
    for name, choice, known in (("column", column, COLUMNS), ("figure", figure, kinds)):
        if choice is not None and choice not in known:
            raise InputError(
                f"{name}: '{choice}' is not known{close_matches(choice, known)}; give one of "
                f"{', '.join(known)}"
            )
    if column is not None:
        for name in (*([] if ax is None else ["ax"]), *settings):
            raise InputError(f"{name}: cannot be combined with column; give only one of them")
    if path is not None:
        check_suffix(path)
    if column is None:
        ax = FUNCTIONS[figure](diagnosis, ax, **settings)
    else:
        ax = figure_of(FIGURES[figure], [diagnosis], COLUMNS[column]).axes[0]
    if path is not None:
        save(cast("Figure", ax.get_figure(root=True)), path, caption=caption([diagnosis.to_dict()]))
    return ax


def source_of(model: Model) -> Source:
    """Return the :class:`Source` of a detector.

    Raises
    ------
    InputError
        If an argument is neither a diagnosis nor a result.
    """
    if isinstance(model, Diagnosis):
        return Source(result=model.to_dict(), diagnosis=model)
    if not isinstance(model, Mapping):
        raise InputError(
            f"a detector to draw is a {type(model).__name__}; give its diagnosis or its result"
        )
    return Source(result=model)


def is_model(given: Any) -> bool:
    """Check whether a value is a diagnosis or a result, rather than figure data."""
    result = isinstance(given, Mapping) and isinstance(given.get(VERSION), str)
    return result or isinstance(given, Diagnosis)


def sources_of(given: Any) -> list[Source]:
    """Return the sources of one or more detectors."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [source_of(model) for model in given]
    return [source_of(given)]


def models_for(kind: FigureKind, given: Models) -> list[ModelData]:
    """Return one or more detectors with their data for a figure, named by label."""
    sources = sources_of(given)
    names = model_names(source.result.get("label") for source in sources)
    models = []
    for name, source in zip(names, sources, strict=True):
        try:
            data = kind.data(source)
        except NotApplicable as reason:
            raise NotApplicable(f"{kind.name} of {name}: {reason}") from None
        protocol = protocol_of(source.result, "name")
        models.append(ModelData(label=name, data=data, protocol=protocol))
    return models


def drawn(kind: FigureKind, given: Any, ax: Axes | None, **settings: Any) -> Axes:
    """Draw a figure into one axes; a new figure is one column wide.

    Parameters
    ----------
    kind : FigureKind
        The figure.
    given : Diagnosis, mapping, or sequence of these
        The detectors, or the data of each detector by label. For a figure of a single model: the
        model or its data.
    ax : matplotlib.axes.Axes or None
        Axes to draw in.
    **settings
        Settings of ``kind.draw``.

    Raises
    ------
    InputError
        If there is no model.
    NotApplicable
        If the figure cannot show a model.
    """
    if kind.single:
        several = isinstance(given, Sequence) and any(is_model(model) for model in given)
        wanted = is_model(given) or several or isinstance(given, str | os.PathLike)
        data = kind.data(source_of(given)) if wanted else given
        if isinstance(data, Sequence) and not data:
            raise InputError(f"diagnosis: there is nothing to draw for {kind.name}")
        models = [ModelData(label="", data=data)]
    elif isinstance(given, Mapping) and not is_model(given):
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
    """Return the names of a figure's models, with protocols if these differ."""
    if len({model.protocol for model in models}) == 1 or all(model.dataset for model in models):
        return [model.label for model in models]
    return [f"{model.label} ({model.protocol})" for model in models]


def tables_of(models: Sequence[ModelData]) -> dict[str, Any]:
    """Return the data of each model of a figure, by displayed name."""
    return dict(zip(shown_names(models), [model.data for model in models], strict=True))


def figure_of(kind: FigureKind, models: Sequence[ModelData | Model], width: float) -> Figure:
    """Draw a figure for several models.

    Parameters
    ----------
    kind : FigureKind
        Which figure.
    models : sequence of ModelData, Diagnosis or mapping
        The models with data for this figure, or their diagnoses or results.
    width : float
        Width in inches; see :data:`diaghoi.plots.SINGLE_COLUMN` and
        :data:`diaghoi.plots.DOUBLE_COLUMN`.

    Returns
    -------
    matplotlib.figure.Figure
        A figure without sentences: :func:`diaghoi.plots.notes_of` returns its notes, which
        :func:`diaghoi.plots.save` adds to the caption.

    Raises
    ------
    NotApplicable
        If these models cannot be drawn.
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
    """A figure that is drawn only once when saved.

    To save a figure with a layout engine, Matplotlib draws it twice: first without output, to
    compute the layout, then with output, without computing the layout again. The first pass needs
    only the layout.
    """

    def draw(self, renderer: RendererBase) -> None:
        engine = self.get_layout_engine()
        if self.canvas.is_saving() and isinstance(engine, ConstrainedLayoutEngine):
            engine.execute(self)
        else:
            super().draw(renderer)


def _behind(model: ModelData, kind: FigureKind) -> str:
    """Describe what the caption omits about a model's numbers: the score, or an unusual rule."""
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
        If only a saved result is available.
    """
    if source.diagnosis is None:
        raise NotApplicable(
            "a saved result is not enough for this figure; give the predictions or a saved "
            "diagnosis"
        )
    return source.diagnosis

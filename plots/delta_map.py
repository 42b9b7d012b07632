"""What each error costs: bars of ΔmAP per oracle, for one or more detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ORACLES
from diaghoi.plots.caption import protocol_of
from diaghoi.plots.style import DOUBLE_COLUMN, colour, lighter, paper

SPLITS = {"full": "", "rare": ", rare classes", "non_rare": ", non-rare classes"}
HEIGHT = 2.4  # inches, where the figure is made here
GROUP = 0.84  # width of the bars of one error, as a share of the distance between errors
PALEST = 0.75  # how far the last model's bars are mixed with white
PALE = 0.45  # the same for the second of few, so that its hatch shows on dark colours
HATCHES = ("", "////", "....", "xxxx")  # up to this many models; more bars are too thin for them
INCHES_FOR_FLAT_LABELS = 0.48  # room of an error from which its name fits without turning it
INCHES_FOR_FIGURES = 0.19  # width of a bar from which its height can be written at its end
INCHES_PER_LETTER, INCHES_PER_MARK = 0.0075, 0.28  # in legends; the first for each point of type
TOTALS = ("false_positive", "false_negative")  # their bars count errors of all other kinds


class Delta(NamedTuple):
    """One bar of the figure.

    Parameters
    ----------
    model : str
        Label of the detector.
    oracle : str
        Name of the oracle.
    delta : float or None
        mAP with the error repaired less mAP, in percent points; None where it is undefined.
    """

    model: str
    oracle: str
    delta: float | None


def delta_map_table(
    results: Sequence[Mapping[str, Any]],
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> list[Delta]:
    """Collect the data of :func:`delta_map`, model by model.

    Parameters
    ----------
    results : sequence of mapping
        Diagnoses as :meth:`diaghoi.Diagnosis.to_dict` gives them, or read from JSON files. Of each,
        ``label`` and ``oracles`` are used; a model without a label is called by its number.
    split : {"full", "rare", "non_rare"}
        Which mean over classes, of those that the results have.
    oracles : sequence of str, optional
        Which errors, in which order; by default all of the results, in the order of the oracles.

    Returns
    -------
    list of Delta
        One row for each model and error.

    Raises
    ------
    InputError
        Where there is no result, one has no oracles, or a split or oracle is not known.
    """
    if not results:
        raise InputError("results: there is nothing to draw; give at least one diagnosis")
    if split not in SPLITS:
        raise InputError(
            f"split: '{split}' is not known{close_matches(split, SPLITS)}; "
            f"give one of {', '.join(SPLITS)}"
        )
    models = _models(results)
    found = [_oracles_of(model, result) for model, result in zip(models, results, strict=True)]
    names = _order(found) if oracles is None else list(oracles)
    return [
        Delta(model, name, _delta(model, outcome, name, split))
        for model, outcome in zip(models, found, strict=True)
        for name in names
    ]


def delta_map(
    results: Sequence[Mapping[str, Any]],
    ax: Axes | None = None,
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> Axes:
    """Draw what each error costs: one group of bars per error, one bar per model.

    The colour tells the error; lightness, and up to four models a hatch, tell the model. Bars of
    negative differences hang below zero; undefined ones are left out. Above the bars stand the
    labels of the models and the protocol.

    Parameters
    ----------
    results, split, oracles
        See :func:`delta_map_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure of the width of two columns.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        As :func:`delta_map_table`.
    """
    rows = delta_map_table(results, split, oracles)
    models = list(dict.fromkeys(row.model for row in rows))
    names = list(dict.fromkeys(row.oracle for row in rows))
    with paper():
        if ax is None:
            ax = Figure(figsize=(DOUBLE_COLUMN, HEIGHT), layout="constrained").add_subplot()
        room = _inches(ax) / max(len(names), 1)
        _bars(ax, rows, models, names, room)
        _label_errors(ax, names, room)
        ax.axhline(0, color="black", linewidth=0.6, zorder=3, clip_on=False)
        ax.spines["bottom"].set_visible(False)
        if names[-2:] == list(TOTALS) and len(names) > len(TOTALS):
            ax.axvline(len(names) - len(TOTALS) - 0.5, color="0.6", linewidth=0.6, linestyle=":")
        ax.set_ylabel(f"ΔmAP (points{SPLITS[split]})")
        ax.yaxis.grid(True, color="0.88", linewidth=0.5)
        _head(ax, models, results)
    return ax


def _models(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the models, each in one line; equal labels are told apart by a number."""
    labels: list[str] = []
    for number, result in enumerate(results, start=1):
        label = str(result.get("label") or f"model {number}")
        # Labels made from names of files need not be Unicode, which no font can draw.
        label = base = " ".join(label.encode(errors="replace").decode().split())
        again = 1
        while label in labels:
            again += 1
            label = f"{base} ({again})"
        labels.append(label)
    return labels


def _oracles_of(model: str, result: Mapping[str, Any]) -> Mapping[str, Any]:
    outcome = result.get("oracles")
    if not isinstance(outcome, Mapping):
        raise InputError(
            f"{model}: the result has no 'oracles'; give what diaghoi report --json writes"
        )
    return outcome


def _order(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """All oracles of the results: first those of the registry, in its order."""
    names = dict.fromkeys(name for outcome in found for name in outcome)
    return [name for name in ORACLES if name in names] + [n for n in names if n not in ORACLES]


def _delta(model: str, outcome: Mapping[str, Any], oracle: str, split: str) -> float | None:
    """Look one difference up, in percent points."""
    if oracle not in outcome:
        if oracle in ORACLES:
            return None
        raise InputError(
            f"{model}: the result has no oracle '{oracle}'{close_matches(oracle, outcome)}; "
            f"it has {', '.join(outcome)}"
        )
    try:
        delta = outcome[oracle]["delta_map"][split]
        return None if delta is None else 100.0 * float(delta)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{model}: oracle '{oracle}' has no number in 'delta_map' for '{split}'; "
            "give what diaghoi report --json writes"
        ) from error


def _bars(
    ax: Axes, rows: Sequence[Delta], models: Sequence[str], names: Sequence[str], room: float
) -> None:
    width = GROUP / len(models)
    for row in rows:
        if row.delta is None:
            continue
        model = models.index(row.model)
        place = names.index(row.oracle) + (model - (len(models) - 1) / 2) * width
        (bar,) = ax.bar(
            place,
            row.delta,
            width * 0.92,
            color=lighter(colour(row.oracle), _paleness(model, len(models))),
            edgecolor="0.15",
            linewidth=min(0.4, 3.0 * room * width),
            hatch=_hatch(model, len(models)),
        )
        bar.set_gid(f"{row.oracle}/{row.model}")
        if room * width >= INCHES_FOR_FIGURES:
            above = row.delta >= 0
            ax.annotate(
                _figure(row.delta),
                (place, row.delta),
                xytext=(0, 1.5 if above else -1.5),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=6,
            )
    ax.margins(x=0.01, y=0.08)


def _figure(delta: float) -> str:
    """Write a difference with one decimal, or two where one would be no more than a tenth."""
    shown = f"{delta:.1f}" if abs(delta) >= 0.095 else f"{delta:.2f}"
    return "0" if float(shown) == 0 else shown.replace("-", "\N{MINUS SIGN}")


def _paleness(model: int, models: int) -> float:
    if model == 0:
        return 0.0
    if models > len(HATCHES):
        return PALEST * model / (models - 1)
    return PALE + (PALEST - PALE) * (model - 1) / max(models - 2, 1)


def _hatch(model: int, models: int) -> str | None:
    return HATCHES[model] or None if models <= len(HATCHES) else None


def _label_errors(ax: Axes, names: Sequence[str], room: float) -> None:
    titles = [ORACLES[n].title if n in ORACLES else n.replace("_", " ") for n in names]
    flat = room >= INCHES_FOR_FLAT_LABELS
    if flat:
        titles = [title.replace(" ", "\n") for title in titles]
    ax.set_xticks(
        range(len(names)),
        titles,
        rotation=0 if flat else 40,
        ha="center" if flat else "right",
        rotation_mode="default" if flat else "anchor",
    )
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.55, len(names) - 0.45)


def _head(ax: Axes, models: Sequence[str], results: Sequence[Mapping[str, Any]]) -> None:
    """Name models and protocol above the bars; each model its own where the protocols differ."""
    protocols = [protocol_of(result, "name") for result in results]
    if len(set(protocols)) > 1:
        models = [f"{model} ({name})" for model, name in zip(models, protocols, strict=True)]
        _legend(ax, models, "")
    elif len(models) > 1:
        _legend(ax, models, protocols[0])
    else:
        size = 7.0
        words = f"Protocol {protocols[0]}" if protocols[0] else ""
        if results[0].get("label"):
            words = f" ({protocols[0]})" if protocols[0] else ""
            words = _fitted(models[0], _inches(ax) - _width(words, size), size) + words
        ax.set_title(words, loc="left", fontsize=size, parse_math=False)


def _legend(ax: Axes, models: Sequence[str], protocol: str) -> None:
    """Explain the models by greys, in as many columns as fit, above the bars.

    Many greys are hard to tell apart, so many models are numbered from left to right.
    """
    many = len(models) > len(HATCHES)
    title = f"Protocol {protocol}" if protocol else ""
    if many:
        title = f"{title}; bars of each error from left to right:".removeprefix("; ")
    labels = [f"{number} {model}" for number, model in enumerate(models, 1)] if many else models
    size = 6.0 if many else 7.0
    labels = [_fitted(label, _inches(ax) - INCHES_PER_MARK, size) for label in labels]
    marks = [
        Patch(
            facecolor=lighter((0.35, 0.35, 0.35), _paleness(number, len(models))),
            edgecolor="0.15",
            hatch=_hatch(number, len(models)),
            label=label,
        )
        for number, label in enumerate(labels)
    ]
    widest = INCHES_PER_MARK + max(_width(label, size) for label in labels)
    rows = ceil(len(models) / max(1, int(_inches(ax) / widest)))
    legend = ax.legend(
        handles=marks,
        fontsize=size,
        title=title or None,
        title_fontsize=size,
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=ceil(len(models) / rows),
        borderaxespad=0.2,
        handlelength=1.4,
        handletextpad=0.4,
        columnspacing=1.0,
        labelspacing=0.25,
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def _fitted(label: str, inches: float, size: float) -> str:
    """Leave the middle of a long label out, so that beginnings and endings can be told apart."""
    letters = max(8, int(inches / (INCHES_PER_LETTER * size)))
    if len(label) <= letters:
        return label
    tail = (letters - 1) // 2
    return f"{label[: letters - 1 - tail]}…{label[-tail:]}"


def _width(words: str, size: float) -> float:
    """Width of some words in inches, roughly."""
    return INCHES_PER_LETTER * size * len(words)


def _inches(ax: Axes) -> float:
    """Width of the axes in inches, as far as it is known before the layout is made."""
    figure = ax.get_figure(root=True)
    width = DOUBLE_COLUMN if figure is None else float(figure.get_figwidth())
    return width * float(ax.get_position().width)

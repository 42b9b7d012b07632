"""Cost of each error: ΔmAP per oracle, as bars for up to four detectors and as dots for more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator

from diaghoi.data.table import has_width
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ORACLES, TOTALS, error_title
from diaghoi.plots.captions import add_note, protocol_of
from diaghoi.plots.figure import Models, sources_of
from diaghoi.plots.labels import (
    MINUS,
    fitted,
    inches_of,
    model_names,
    points,
    split_title,
    text_width,
)
from diaghoi.plots.legend import (
    EDGE,
    HATCHES,
    bar_legend,
    bar_styles,
    both_stages,
    legend_above,
    model_lines,
)
from diaghoi.plots.panels import prepared
from diaghoi.plots.style import DOUBLE_COLUMN, colour, lighter, model_style, paper
from diaghoi.statistics.bootstrap import TOO_FEW

HEIGHT = 2.4  # inches: height of a new figure
GROUP = 0.84  # width of the bars of one error, as a share of the distance between errors
INCHES_FOR_FLAT_LABELS = 0.48  # width of an error from which its name fits horizontally
NUMBER_SIZE = 6.0  # points
LEAN = 0.7  # points: vertical digits lean to the left, by half the room of letters such as p
SMALLEST = 3.0  # points: size of a dot
INCHES_FOR_TURNED_NUMBERS = 0.105  # width of a bar from which a vertical 6 pt number fits above it


class DeltaBar(NamedTuple):
    """One bar or dot of the figure.

    Parameters
    ----------
    model : str
        Label of the detector.
    oracle : str
        Name of the oracle.
    delta : float or None
        mAP with the error repaired minus mAP, in percent points; None if it is undefined.
    interval : tuple of float or None
        Bootstrap interval of it, in percent points; None where the result has none, or one of no
        width.
    """

    model: str
    oracle: str
    delta: float | None
    interval: tuple[float, float] | None = None


def delta_map_table(
    diagnoses: Models,
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> list[DeltaBar]:
    """Collect the data of :func:`delta_map`, model by model.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors: their diagnoses, or results as :meth:`diaghoi.Diagnosis.to_dict`
        gives them, of which ``label``, ``oracles`` and ``intervals`` are used. A model without a
        label is called by its number.
    split : str
        Which mean over classes, of those that the results have: ``full``; ``rare`` and
        ``non_rare`` on HICO-DET, other ones on other data sets.
    oracles : sequence of str, optional
        Which errors, in which order; by default all of the results, in the order of the oracles.

    Returns
    -------
    list of DeltaBar
        One row for each model and error.

    Raises
    ------
    InputError
        If there is no result, one has no oracles, or a split or oracle is not known.
    """
    results = [source.result for source in sources_of(diagnoses)]
    if not results:
        raise InputError("diagnoses: there is nothing to draw; give at least one diagnosis")
    models = model_names(result.get("label") for result in results)
    found = [_oracles_of(model, result) for model, result in zip(models, results, strict=True)]
    names = _order(found) if oracles is None else list(oracles)
    return [
        DeltaBar(model, name, _delta(model, outcome, name, split), _interval(result, name, split))
        for model, outcome, result in zip(models, found, results, strict=True)
        for name in names
    ]


def delta_map(
    diagnoses: Models,
    ax: Axes | None = None,
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> Axes:
    """Draw the cost of each error: one group per error, in it one bar or dot per model.

    Up to four models are bars, whose colour encodes the error and whose lightness and hatch encode
    the model; more are dots. Bars of negative differences point down; undefined ones are left out.
    Lines show bootstrap intervals where the results have them. Labels of the models and the
    protocol are above.

    Parameters
    ----------
    diagnoses, split, oracles
        See :func:`delta_map_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of two columns.

    Raises
    ------
    InputError
        As :func:`delta_map_table`.
    """
    results = [source.result for source in sources_of(diagnoses)]
    rows = delta_map_table(results, split, oracles)
    models = list(dict.fromkeys(row.model for row in rows))
    names = list(dict.fromkeys(row.oracle for row in rows))
    with paper():
        if ax is None:
            figure = Figure(figsize=(DOUBLE_COLUMN, HEIGHT), layout="constrained")
            target: Axes | Figure = figure
            ax = figure.add_subplot()
        else:
            target = prepared(ax)
        draw_costs(ax, rows)
        if names[-2:] == list(TOTALS) and len(names) > len(TOTALS):
            ax.axvline(len(names) - len(TOTALS) - 0.5, color="0.6", linewidth=0.6, linestyle=":")
        of_split = "" if split == "full" else f", {split_title(split).lower()}"
        ax.set_ylabel(f"ΔmAP (points{of_split})")
        _head(ax, models, results)
        add_note(target, intervals_note(results, split))
    return ax


def draw_costs(
    ax: Axes, rows: Sequence[DeltaBar], room: float | None = None, stages: Sequence[str] = ()
) -> None:
    """Draw bars or dots, the names of the errors below and the line at zero; nothing else.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    rows : sequence of DeltaBar
        One bar or dot each.
    room : float, optional
        Width of each error in inches, to which numbers and names are fitted; by default that of the
        axes before layout.
    stages : sequence of str
        The stage of each model, "one" or "two"; if there are both, bars of two-stage models are
        hatched, and their dots hollow.
    """
    models = list(dict.fromkeys(row.model for row in rows))
    names = list(dict.fromkeys(row.oracle for row in rows))
    room = inches_of(ax) / max(len(names), 1) if room is None else room
    draw = _bars if len(models) <= len(HATCHES) else _dots
    draw(ax, rows, models, names, room, stages)
    _label_errors(ax, names, room)
    ax.axhline(0, color="black", linewidth=0.6, zorder=3, clip_on=False)
    ax.spines["bottom"].set_visible(False)
    ax.yaxis.grid(True, color="0.88", linewidth=0.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))


def cost_legend(
    target: Axes | Figure,
    models: Sequence[str],
    title: str = "",
    inches: float | None = None,
    stages: Sequence[str] = (),
) -> Legend:
    """Explain the bars or dots of :func:`draw_costs`; see :func:`bar_legend`."""
    bars = len(models) <= len(HATCHES)
    if both_stages(stages) and len(models) > len(set(stages)):
        title = f"{f'{title}; ' if title else ''}{'hatched' if bars else 'hollow'}: two-stage"
        title = title[0].upper() + title[1:]
    if bars:
        return bar_legend(target, models, title, inches, stages)
    marks = model_lines(models, linestyle="")
    for mark, style in zip(marks, _dot_styles(len(models), stages), strict=True):
        mark.set(**style)
    return legend_above(target, marks, title, mark=1.0, inches=inches)


def intervals_note(results: Sequence[Mapping[str, Any]], split: str = "full") -> str:
    """Say what the lines at bars and dots are; empty where no result has intervals."""
    settings = [result["bootstrap"] for result in results if result.get("intervals")]
    levels = sorted({float(each["confidence"]) for each in settings})
    if not levels:
        return ""
    note = f"Lines: {' and '.join(f'{100 * level:g} %' for level in levels)} bootstrap intervals"
    note += "." if len(settings) == len(results) else ", where a result has them."
    few = any(path.endswith(f".{split}") for each in settings for path in each.get("few", ()))
    return f"{note} None where {TOO_FEW}." if few else note


def _interval(result: Mapping[str, Any], oracle: str, split: str) -> tuple[float, float] | None:
    bounds = (result.get("intervals") or {}).get(f"oracles.{oracle}.delta_map.{split}")
    if bounds is None or not has_width(bounds):
        return None
    return 100 * float(bounds[0]), 100 * float(bounds[1])


def _oracles_of(model: str, result: Mapping[str, Any]) -> Mapping[str, Any]:
    outcome = result.get("oracles")
    if not isinstance(outcome, Mapping):
        raise InputError(
            f"{model}: the result has no 'oracles'; give what diaghoi report --json writes"
        )
    return outcome


def _order(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the oracles of all results: those of the registry first, in its order."""
    names = dict.fromkeys(name for outcome in found for name in outcome)
    return [name for name in ORACLES if name in names] + [n for n in names if n not in ORACLES]


def _delta(model: str, outcome: Mapping[str, Any], oracle: str, split: str) -> float | None:
    """Look up one difference, in percent points."""
    if oracle not in outcome:
        if oracle in ORACLES:
            return None
        raise InputError(
            f"{model}: the result has no oracle '{oracle}'{close_matches(oracle, outcome)}; "
            f"it has {', '.join(outcome)}"
        )
    try:
        deltas = outcome[oracle]["delta_map"]
        if split not in deltas:
            raise InputError(
                f"{model}: split '{split}' is not known{close_matches(split, deltas)}; "
                f"give one of {', '.join(deltas)}"
            )
        return None if deltas[split] is None else 100.0 * float(deltas[split])
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{model}: oracle '{oracle}' has no number in 'delta_map' for '{split}'; "
            "give what diaghoi report --json writes"
        ) from error


def _bars(
    ax: Axes,
    rows: Sequence[DeltaBar],
    models: Sequence[str],
    names: Sequence[str],
    room: float,
    stages: Sequence[str],
) -> None:
    styles = bar_styles(len(models), stages)
    width = GROUP / len(models)
    drawn = [(row, row.delta, points(row.delta)) for row in rows if row.delta is not None]
    needed = max((text_width(number, NUMBER_SIZE) for _, _, number in drawn), default=0.0)
    # All numbers are written the same way, or none: 0.03 inches keep neighbours apart.
    flat = room * width >= needed + 0.03
    turned = not flat and room * width >= INCHES_FOR_TURNED_NUMBERS
    for row, delta, number in drawn:
        model = models.index(row.model)
        place = _place(row, models, names)
        low, high = row.interval or (delta, delta)
        _interval_line(ax, place, row)
        (bar,) = ax.bar(
            place,
            delta,
            width * 0.92,
            color=lighter(colour(row.oracle), styles[model].white),
            edgecolor=EDGE,
            # Edges of very thin bars would hide their fill.
            linewidth=min(0.4, 3.0 * room * width),
            hatch=styles[model].hatch,
        )
        bar.set_gid(f"{row.oracle}/{row.model}")
        if flat or turned:
            above = number[0] != MINUS
            ax.annotate(
                number,
                (place, max(delta, high) if above else min(delta, low)),
                xytext=(0 if flat else LEAN, 1.5 if above else -1.5),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=NUMBER_SIZE,
                rotation=0 if flat else 90,
            )
    ax.margins(x=0.01, y=0.18 if turned else 0.08)


def _dots(
    ax: Axes,
    rows: Sequence[DeltaBar],
    models: Sequence[str],
    names: Sequence[str],
    room: float,
    stages: Sequence[str],
) -> None:
    shapes = _dot_styles(len(models), stages)
    # Smaller ones could not be told apart; neighbours may touch.
    size = max(SMALLEST, min(4.0, 72 * room * GROUP / len(models)))
    for row in rows:
        if row.delta is None:
            continue
        place, style = _place(row, models, names), model_style(models.index(row.model))
        _interval_line(ax, place, row, style["color"])
        (dot,) = ax.plot(place, row.delta, **(style | {"linestyle": ""}), markersize=size)
        dot.set(gid=f"{row.oracle}/{row.model}", zorder=4, **shapes[models.index(row.model)])
    _ranges(ax, rows, names, room)
    for number in range(1, len(names)):
        ax.axvline(number - 0.5, color="0.88", linewidth=0.5, zorder=0.5)
    ax.margins(y=0.12)


def _ranges(ax: Axes, rows: Sequence[DeltaBar], names: Sequence[str], room: float) -> None:
    """Write the lowest and the highest value of each error above its dots, where there is room."""
    shown = {}
    for place, name in enumerate(names):
        own = [row for row in rows if row.oracle == name and row.delta is not None]
        deltas = sorted(row.delta for row in own if row.delta is not None)
        if deltas:
            top = max(row.interval[1] if row.interval else deltas[-1] for row in own)
            ends = dict.fromkeys(map(points, (deltas[0], deltas[-1])))
            shown[place] = max(top, deltas[-1]), " to ".join(ends)
    needed = max((text_width(text, NUMBER_SIZE) for _, text in shown.values()), default=0.0)
    if room < needed + 0.03:
        return
    for place, (top, text) in shown.items():
        ax.annotate(
            text,
            (place, top),
            xytext=(0, 3.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=NUMBER_SIZE,
            # No line of the grid goes through it.
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )


def _dot_styles(models: int, stages: Sequence[str]) -> list[dict[str, Any]]:
    """Fill the dots, but those of two-stage models if there are both kinds."""
    filled: dict[str, Any] = {"markeredgewidth": 0}
    hollow = {"markeredgewidth": 0.6, "markerfacecolor": "white"}
    staged = stages if both_stages(stages) else [""] * models
    return [hollow if stage == "two" else filled for stage in staged]


def _place(row: DeltaBar, models: Sequence[str], names: Sequence[str]) -> float:
    """Return where the bar or dot is on the x-axis."""
    beside = models.index(row.model) - (len(models) - 1) / 2
    return names.index(row.oracle) + beside * GROUP / len(models)


def _interval_line(ax: Axes, place: float, row: DeltaBar, colour: str = "0.15") -> None:
    if row.interval is not None:
        ends: dict[str, Any] = {"marker": "_", "markersize": 2.5, "markeredgewidth": 0.6}
        (line,) = ax.plot(
            [place] * 2, row.interval, color=colour, linewidth=0.6, zorder=3.5, **ends
        )
        line.set_gid(f"interval/{row.oracle}/{row.model}")


def _label_errors(ax: Axes, names: Sequence[str], room: float) -> None:
    titles = [error_title(name) for name in names]
    flat = room >= INCHES_FOR_FLAT_LABELS
    if flat:
        titles = [title.replace(" ", "\n") for title in titles]
    ax.set_xticks(
        range(len(names)),
        titles,
        rotation=0 if flat else 60,
        ha="center" if flat else "right",
        rotation_mode="default" if flat else "anchor",
    )
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.55, len(names) - 0.45)


def _head(ax: Axes, models: Sequence[str], results: Sequence[Mapping[str, Any]]) -> None:
    """Write models and protocol above the bars; each model with its own if protocols differ."""
    protocols = [protocol_of(result, "name") for result in results]
    if len(set(protocols)) > 1:
        models = [f"{model} ({name})" for model, name in zip(models, protocols, strict=True)]
        cost_legend(ax, models)
    elif len(models) > 1:
        cost_legend(ax, models, f"Protocol {protocols[0]}" if protocols[0] else "")
    else:
        size = 7.0
        title = f"Protocol {protocols[0]}" if protocols[0] else ""
        if results[0].get("label"):
            title = f" ({protocols[0]})" if protocols[0] else ""
            title = fitted(models[0], inches_of(ax) - text_width(title, size), size) + title
        ax.set_title(title, loc="left", fontsize=size, parse_math=False)

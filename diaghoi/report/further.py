"""Tables of what a report holds beyond the diagnosis: intervals, additive costs, causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from diaghoi.cases.causes import CAUSES
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.report.numbers import UNDEFINED, shown

Result = Mapping[str, Any]


class Sheet(NamedTuple):
    """A table of texts.

    Parameters
    ----------
    title : str
        Heads the first column.
    heads : tuple of str
        Titles of the other columns.
    rows : list of (str, sequence of str)
        Name and cells of each row.
    caption : str
        Stands below; empty for none.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, Sequence[str]]]
    caption: str = ""


def further_sheets(result: Result, titles: Mapping[str, str]) -> Iterator[Sheet]:
    """Give the tables of all that was asked for.

    Parameters
    ----------
    result : mapping
        The report; keys that are not there give no table.
    titles : mapping
        Title of each split that the report shows, by its key.
    """
    if "intervals" in result:
        yield _intervals(result, titles)
    if result.get("attribution", {}).get("map") is not None:
        yield _attribution(result)
    if "annotation_causes" in result:
        yield _causes(result, titles)
    if "calibration" in result:
        yield _calibration(result)


def _intervals(result: Result, titles: Mapping[str, str]) -> Sheet:
    """Bounds of the figures that people quote; all are in the JSON."""
    how = result["bootstrap"]
    rows: list[tuple[str, Sequence[str]]] = []

    def add(name: str, path: str, *, signed: bool = False) -> None:
        found = {split: result["intervals"].get(path.format(split)) for split in titles}
        if any(bounds is not None for bounds in found.values()):
            rows.append((name, [_bounds(bounds, signed=signed) for bounds in found.values()]))

    def add_one(name: str, path: str) -> None:
        bounds = result["intervals"].get(path)
        if bounds is not None:
            rows.append((name, [_bounds(bounds), *[""] * (len(titles) - 1)]))

    add("Official, Default", "official.default.{}")
    add("Official, Known Object", "official.known_object.{}")
    add_one("Official, agent", "official.agent.ap")
    add_one("Official, scenario 1", "official.scenario_1.ap")
    add_one("Official, scenario 2", "official.scenario_2.ap")
    add(f"Protocol {result['protocol']['name']}", "map.{}")
    for name, oracle in ORACLES.items():
        add(f"ΔmAP, {oracle.title.lower()}", f"oracles.{name}.delta_map.{{}}", signed=True)
    add_one("Pair recall", "pairs.recall")
    add_one("Pair precision", "pairs.precision")
    add_one("Negatives", "negatives.ap")
    add_one("Actions", "actions.map")
    return Sheet(
        f"Intervals, {100 * how['confidence']:g} %",
        tuple(titles.values()),
        rows,
        f"From {how['resamples']:,} resamples of the images, {how['method']}, seed {how['seed']}.",
    )


def _bounds(bounds: Sequence[float] | None, *, signed: bool = False) -> str:
    if bounds is None:
        return UNDEFINED
    low, high = (shown(bound, "percent", signed=signed) for bound in bounds)
    return f"{low} to {high}"


def _attribution(result: Result) -> Sheet:
    values = result["attribution"]
    rows: list[tuple[str, Sequence[str]]] = [
        (
            ORACLES[name].title,
            (
                shown(result["oracles"][name]["delta_map"]["full"], "points"),
                shown(values[name], "points"),
            ),
        )
        for name in ERRORS
    ]
    alone = [result["oracles"][name]["delta_map"]["full"] for name in ERRORS]
    rows.append(("Sum", (shown(sum(alone), "points"), shown(values["total"], "points"))))
    return Sheet(
        "What errors cost",
        ("ΔmAP alone", "Shapley value"),
        rows,
        "Shapley values add up: from mAP "
        f"{shown(values['map'], 'percent')} to {shown(values['map_repaired'], 'percent')} with all "
        "seven errors repaired.",
    )


def _causes(result: Result, titles: Mapping[str, str]) -> Sheet:
    rows: list[tuple[str, Sequence[str]]] = []
    for name, cause in result["annotation_causes"].items():
        delta = cause["delta_map"]
        rows.append(
            (
                CAUSES[name].title if name in CAUSES else name,
                (
                    shown(cause["count"], "count"),
                    shown(cause["share"], "percent"),
                    *(shown(delta.get(split), "points") for split in titles),
                ),
            )
        )
    return Sheet(
        "False positives by likely cause",
        ("Count", "Share, %", *(f"ΔmAP\n{title}" for title in titles.values())),
        rows,
    )


def _calibration(result: Result) -> Sheet:
    found = result["calibration"]
    names = {"ece": "Expected calibration error", "mce": "Largest in a bin", "brier": "Brier score"}
    rows: list[tuple[str, Sequence[str]]] = [
        (title, (shown(found.get(key), "percent"),)) for key, title in names.items() if key in found
    ]
    return Sheet("Calibration of triplet scores, %", ("All",), rows)

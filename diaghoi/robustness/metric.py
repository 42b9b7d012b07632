"""The metric of a robustness study: any score of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diaghoi.comparison.results import Result, figure, text
from diaghoi.comparison.semantic import FIGURES, similarity_tables
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import InputError, close_matches

# The metric of the RoHOI paper; on other data sets mAP under the protocol.
DEFAULTS = {"hico-det": "official.default.full", "v-coco": "official.scenario_2.ap"}
FALLBACK = "map.full"
# Sections and keys of a result whose numbers are not scores: higher is not better.
NOT_SCORES = ("counts", "errors", "intervals", "bootstrap", "measure", "similarity")
NOT_SCORE_KEYS = ("per_image", "delta_map", "pairs", "negatives")
SCENARIOS = ("official.scenario_1.ap", "official.scenario_2.ap")
OFFICIAL = {"official.default": "Default", "official.known_object": "Known Object"}
SHOWN = {
    "ap": "AP",
    "ap_without_point": "AP without point",
    "official.scenario_1.ap": "Scenario 1",
    "official.scenario_2.ap": "Scenario 2",
}
SOFT = {path: FIGURES[path] for path in ("soft_map", "mf1")}
"""Scores by tables of similarity, whatever the protocol says of AP."""


def default_metric(dataset: str) -> str:
    """Return the metric of the paper on a data set."""
    return DEFAULTS.get(dataset, FALLBACK)


def check_metric(metric: str, result: Result) -> None:
    """Check that a result has a metric.

    Parameters
    ----------
    metric : str
        Keys of the JSON of a report joined by dots, like ``map.full``.
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Raises
    ------
    InputError
        If it does not, or the number is not a score, such as a count.
    """
    known = list(score_paths(result))
    if metric in known:
        return
    if any(metric == path for path, _ in _leaves(result)):
        raise InputError(
            f"--metric {metric}: is not a score where higher is better; give one like map.full or "
            "pairs.recall"
        )
    usual = [path for path in known if ".classes." not in path and not path.startswith("oracles.")]
    raise InputError(
        f"--metric {metric}: not in the report{close_matches(metric, known)}; known: "
        f"{', '.join(usual)}"
        + ("" if "soft_map" in known else ", and soft_map and mf1 of a study with similarities")
    )


def score_paths(result: Result) -> Iterator[str]:
    """Yield the paths of all scores of a result."""
    for path, value in _leaves(result):
        keys = path.split(".")
        leaf = keys[-1] not in NOT_SCORE_KEYS and "delta_map" not in keys
        if keys[0] not in NOT_SCORES and leaf and not isinstance(value, int):  # integers are counts
            yield path


def _leaves(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float | None]]:
    """Yield path and value of all numbers of a result, including undefined ones."""
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{key}.")
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield f"{before}{key}", value


def score_of(metric: str, result: Result) -> float | None:
    """Look up a metric in a result: a fraction, or None if it is undefined."""
    return figure(result, *metric.split("."))


def metric_title(metric: str, result: Result) -> str:
    """Name a metric in words, with the classes that it is a mean over.

    Parameters
    ----------
    metric : str
        Its path, ``official.default.full`` for instance.
    result : mapping
        A result that has it.
    """
    dataset, protocol = text(result, "dataset"), text(result, "protocol", "name")
    parent, _, leaf = metric.rpartition(".")
    if metric in SCENARIOS:
        return f"official role AP, {SHOWN[metric].lower()}"
    if parent in OFFICIAL:
        counted = figure(result, "counts", "classes_in_official", leaf) if leaf == "full" else None
        every = dataset in VOCABULARIES and counted == len(VOCABULARIES[dataset]())
        classes = "" if counted is None else f" ({'all ' if every else ''}{counted:g} classes)"
        return f"official mAP, {OFFICIAL[parent]}, {TITLES.get(leaf, leaf)}{classes}"
    if metric in SOFT:
        return f"{SOFT[metric]}, classes of protocol {protocol}"
    name = f"mAP, {TITLES.get(leaf, leaf)}" if parent == "map" else metric
    return f"{name}, under protocol {protocol}"


def sourced_title(metric: str, result: Result) -> str:
    """Name a metric in words, with the tables of similarity that it rests on."""
    title = metric_title(metric, result)
    if metric not in SOFT:
        return title
    tables = " and ".join(similarity_tables(result))
    return title.replace(SOFT[metric], f"{SOFT[metric]} by {tables}", 1)


def scores_with(metric: str, results: Sequence[Result]) -> dict[str, str]:
    """List the scores to show together with a metric, and their titles.

    Parameters
    ----------
    metric : str
        The metric.
    results : sequence of mapping
        Results that have these scores.

    Returns
    -------
    dict
        Title of each by its path: the splits of a mean, or both scenarios of V-COCO.
    """
    if metric in SCENARIOS:
        return {path: SHOWN[path] for path in SCENARIOS}
    parent, _, leaf = metric.rpartition(".")
    found = {metric: _title(metric, leaf)}
    if not parent or leaf not in TITLES:
        return found
    paths = [path for path in score_paths(results[0]) if path.rpartition(".")[0] == parent]
    return {path: _title(path, path.rpartition(".")[2]) for path in paths}


def _title(path: str, leaf: str) -> str:
    return TITLES.get(leaf) or (SHOWN | SOFT).get(leaf) or path

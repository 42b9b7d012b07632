"""What robustness is measured by: any score of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diaghoi.comparison.results import Result, figure
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import InputError, close_matches

# What the RoHOI paper takes; on other data sets mAP under the protocol.
USUAL = {"hico-det": "official.default.full", "v-coco": "official.scenario_2.ap"}
OTHERWISE = "map.full"
# Numbers of a result that are no scores: a detector is not the better, the more of it there is.
NO_SCORES = ("counts", "errors", "intervals", "bootstrap")
NO_LEAVES = ("per_image", "delta_map", "pairs", "negatives")
SCENARIOS = ("official.scenario_1.ap", "official.scenario_2.ap")
SHOWN = {
    "ap": "AP",
    "ap_without_point": "AP without point",
    "official.scenario_1.ap": "Scenario 1",
    "official.scenario_2.ap": "Scenario 2",
}


def usual_metric(dataset: str) -> str:
    """Return the metric of the paper on a data set."""
    return USUAL.get(dataset, OTHERWISE)


def check_metric(metric: str, result: Result) -> None:
    """Check that a result has a metric.

    Parameters
    ----------
    metric : str
        Keys of the JSON of a report with points between, like ``map.full``.
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Raises
    ------
    InputError
        Where it has not, or the figure is no score, such as a count.
    """
    known = list(score_paths(result))
    if metric in known:
        return
    if any(metric == path for path, _ in _leaves(result)):
        raise InputError(
            f"--metric {metric}: is no score of which more is better; give one like map.full or "
            "pairs.recall"
        )
    usual = [path for path in known if ".classes." not in path and not path.startswith("oracles.")]
    raise InputError(
        f"--metric {metric}: not in the report{close_matches(metric, known)}; known: "
        f"{', '.join(usual)}"
        + ("" if "soft_map" in known else ", and soft_map and mf1 of a study with similarities")
    )


def score_paths(result: Result) -> Iterator[str]:
    """List the scores of a result by their path."""
    for path, value in _leaves(result):
        keys = path.split(".")
        leaf = keys[-1] not in NO_LEAVES and "delta_map" not in keys
        if keys[0] not in NO_SCORES and leaf and not isinstance(value, int):
            yield path


def _leaves(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float | None]]:
    """List the numbers of a result, also those that are undefined."""
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{key}.")
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield f"{before}{key}", value


def score_of(metric: str, result: Result) -> float | None:
    """Look a metric up in a result: a fraction, or None where it is undefined."""
    return figure(result, *metric.split("."))


def beside(metric: str, results: Sequence[Result]) -> dict[str, str]:
    """List the scores that belong beside a metric, and their titles.

    Parameters
    ----------
    metric : str
        The metric.
    results : sequence of mapping
        What must have them.

    Returns
    -------
    dict
        By path the title of each: the splits of a mean, or both scenarios of V-COCO.
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
    return TITLES.get(leaf) or SHOWN.get(leaf) or path

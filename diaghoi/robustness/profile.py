"""Profile of a detector under every condition: its score, MRI and CRI, and the growth of errors.

MRI and CRI are the indices of the RoHOI paper (equations 1 and 2). MRI and CRI can be computed from
any score of the report.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from diaghoi.comparison.results import Result, error_count, figure, text
from diaghoi.comparison.semantic import FIGURES, similarity_tables
from diaghoi.comparison.study import StudyModel
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ERRORS
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS
from diaghoi.robustness.study import CLEAN, Condition, Scope, conditions_of, scope_of
from diaghoi.statistics.significance import Difference

# The metrics of the RoHOI paper; the metric on other data sets is mAP under the protocol.
DEFAULTS = {"hico-det": "official.default.full", "v-coco": "official.scenario_2.ap"}
# Sections and keys of a result whose numbers are not scores: higher values are not better.
NOT_SCORES = ("counts", "errors", "intervals", "bootstrap", "measure", "similarity", "delta_map")
NOT_SCORE_KEYS = ("per_image", "pairs", "negatives")
OFFICIAL = {"official.default": "Default", "official.known_object": "Known Object"}
SCENARIOS = {"official.scenario_1.ap": "Scenario 1", "official.scenario_2.ap": "Scenario 2"}
SOFT = {path: FIGURES[path] for path in ("soft_map", "mf1")}
"""Scores that are based on similarity tables and do not use the protocol's definition of AP."""
SHOWN = {"ap": "AP", "ap_without_point": "AP without point", **SCENARIOS, **SOFT, **TITLES}
"""Titles of scores, by path or by the last key of the path."""
DELTA = "oracles.{}.delta_map.full"
"""Path of the ΔmAP of an error."""
Scores = Mapping[str, Sequence[float]]


def mean_robustness_index(scores: Scores) -> float | None:
    """Average scores over severities, and then over corruptions (MRI, equation 1).

    Scores may have any scale; the result has the same scale. Corruptions without scores do not
    count; the index is None if there are no scores at all.
    """
    means = [statistics.mean(values) for values in scores.values() if values]
    return float(statistics.mean(means)) if means else None


def composite_robustness_index(scores: Scores, clean: float | None) -> float | None:
    """Average the product of relative score and stability over corruptions (CRI, equation 2).

    A corruption contributes M / M_clean / (ln(1 + sigma) + 1), where M is the mean of its scores
    and sigma their population standard deviation over the severities. Sigma grows with the scale of
    the scores, so the index depends on that scale.

    All scores are in percent, as in the paper. The index is 1 if all scores equal the clean score,
    and None if there are no scores or the clean score is not positive.
    """
    terms = [
        statistics.mean(values) / clean / (math.log1p(statistics.pstdev(values)) + 1)
        for values in scores.values()
        if values and clean
    ]
    return float(statistics.mean(terms)) if terms else None


class Index(NamedTuple):
    """MRI and CRI over the given conditions.

    MRI is a fraction, and None if no condition has a score. CRI covers the corruptions with scores
    at several severities, and is None if no corruption has several scores or the clean score is not
    positive. ``conditions`` is the number of conditions with a score, and ``of`` the number of
    given conditions.
    """

    mri: float | None
    cri: float | None
    conditions: int
    of: int

    @property
    def partial(self) -> bool:
        """Whether some condition has no score."""
        return self.conditions < self.of

    def to_dict(self) -> dict[str, float | int | bool | None]:
        """Return all values as plain Python."""
        return self._asdict() | {"partial": self.partial}


def index_of(scores: Mapping[str, Sequence[float | None]], clean: float | None) -> Index:
    """Compute MRI and CRI over the available scores.

    A corruption with a single score is not part of CRI: its deviation of 0 would count as perfect
    stability, although its stability is unknown. Scores are fractions, one per severity for each
    corruption; a missing score is None.
    """
    known = {name: [each for each in row if each is not None] for name, row in scores.items()}
    percent = {name: [100 * each for each in row] for name, row in known.items() if len(row) > 1}
    whole = None if clean is None else 100 * clean
    return Index(
        mri=mean_robustness_index(known),
        cri=composite_robustness_index(percent, whole),
        conditions=sum(map(len, known.values())),
        of=sum(map(len, scores.values())),
    )


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Results of a detector on clean and corrupted pictures.

    The profile contains the detector's descriptions from the study, the path of its score in a
    result (``metric``), the corruptions and severities of the study, and for each condition the
    available result and the tested differences from clean pictures.
    """

    model: StudyModel
    metric: str
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    results: Mapping[Condition, Result]
    tests: Mapping[Condition, list[Difference]]

    @property
    def scope(self) -> Scope:
        """Scope of MRI and CRI."""
        return scope_of(self.corruptions, self.severities)

    @property
    def conditions(self) -> list[Condition]:
        """Conditions with a result, clean pictures first."""
        conditions = conditions_of(self.corruptions, self.severities)
        return [condition for condition in conditions if condition in self.results]

    @property
    def clean(self) -> float | None:
        """The score on clean pictures, a fraction."""
        return self.number(CLEAN)

    def number(self, condition: Condition, path: str = "") -> float | None:
        """Look up a number of a result, by default the score; None if undefined."""
        return figure(self.results.get(condition, {}), *(path or self.metric).split("."))

    def index(
        self, corruptions: Iterable[str] | None = None, severities: Iterable[int] | None = None
    ) -> Index:
        """Return MRI and CRI over some corruptions and severities, by default all of the study."""
        names = self.corruptions if corruptions is None else corruptions
        levels = self.severities if severities is None else tuple(severities)
        scores = {name: [self.number(Condition(name, n)) for n in levels] for name in names}
        return index_of(scores, self.clean)

    def groups(self) -> dict[str, list[str]]:
        """Return the corruptions of the study by group, without empty groups."""
        members = {
            group: [name for name in self.corruptions if CORRUPTIONS[name].group == group]
            for group in GROUPS
        }
        return {group: names for group, names in members.items() if names}

    def drop(self, corruption: str) -> float | None:
        """Return the average share of the clean score that a corruption costs."""
        mean, clean = self.index([corruption]).mri, self.clean
        return None if mean is None or not clean else 1 - mean / clean

    def share(self, condition: Condition, error: str) -> float | None:
        """Return the share of an error among predictions, or of misses among annotations."""
        if condition not in self.results:
            return None
        part, whole = error_count(self.results[condition], error) or (0, 0)
        return part / whole if whole else None

    def change(self, condition: Condition, path: str) -> float | None:
        """Return by how much a number exceeds the number on clean pictures."""
        here, clean = self.number(condition, path), self.number(CLEAN, path)
        return None if here is None or clean is None else here - clean

    def mean_growth(self, corruption: str, error: str) -> float | None:
        """Return the growth of an error's ΔmAP from clean pictures, averaged over severities."""
        return _mean(
            self.change(condition, DELTA.format(error))
            for condition in self.conditions
            if condition.corruption == corruption
        )

    def strongest(self) -> dict[str, Condition]:
        """Return each corruption's highest severity with a result; empty without a clean result."""
        if CLEAN not in self.results:
            return {}
        return {each.corruption: each for each in self.conditions if each != CLEAN}

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python, including every available condition."""
        names = self.corruptions
        groups = {group: self.index(members) for group, members in self.groups().items()}
        levels = {str(level): self.index(severities=[level]) for level in self.severities}
        return {
            **self.model.to_dict(),
            "clean": self.clean,
            "indices": {
                "all": self.index().to_dict(),
                "groups": {group: index.to_dict() for group, index in groups.items()},
                "corruptions": {name: self.index([name]).to_dict() for name in names},
                "severities": {level: index.to_dict() for level, index in levels.items()},
            },
            "drops": {name: self.drop(name) for name in names},
            "growth": {
                error: {name: self.mean_growth(name, error) for name in names} for error in ERRORS
            },
            "cells": [self._cell(condition) for condition in self.conditions],
        }

    def _cell(self, condition: Condition) -> dict[str, Any]:
        result = self.results[condition]
        paths = {error: DELTA.format(error) for error in ERRORS}
        cell: dict[str, Any] = {
            **condition.to_dict(),
            "score": self.number(condition),
            "map": self.number(condition, "map.full"),
            "delta_map": {error: self.number(condition, path) for error, path in paths.items()},
            "shares": {error: self.share(condition, error) for error in ERRORS},
        }
        intervals = result.get("intervals")
        if intervals is not None:
            cell["intervals"] = {
                "score": intervals.get(self.metric),
                "map": intervals.get("map.full"),
                "delta_map": {error: intervals.get(path) for error, path in paths.items()},
                "shares": {error: intervals.get(f"shares.{error}") for error in ERRORS},
            }
        if condition in self.tests:
            cell["tests"] = [test.to_dict() for test in self.tests[condition]]
        return cell


def costliest(profiles: Sequence[Profile]) -> list[str]:
    """Order the corruptions by their average cost, as a share of the clean score.

    The costliest corruption comes first; corruptions whose cost is undefined for all detectors are
    omitted.
    """
    names = profiles[0].corruptions
    costs = {name: _mean(profile.drop(name) for profile in profiles) for name in names}
    known = {name: cost for name, cost in costs.items() if cost is not None}
    return sorted(known, key=lambda name: -known[name])


def check_metric(metric: str, result: Result) -> None:
    """Check that a result has a metric, given by JSON keys joined by dots, like ``map.full``.

    Raises
    ------
    InputError
        If the result lacks the metric, or the number is not a score but, for example, a count.
    """
    known = list(score_paths(result))
    if metric in known:
        return
    usual = [path for path in known if ".classes." not in path and not path.startswith("oracles.")]
    raise InputError(
        f"--metric {metric}: is not a score of the report{close_matches(metric, known)}; give one "
        f"of {', '.join(usual)}"
        + ("" if "soft_map" in known else ", or, if the study has similarities, soft_map or mf1")
    )


def score_paths(result: Result, before: str = "") -> Iterator[str]:
    """Yield the paths of all scores below some keys of a result, including undefined scores."""
    for key, value in result.items():
        if isinstance(value, Mapping):
            if key not in NOT_SCORES:
                yield from score_paths(value, f"{before}{key}.")
        # Integers are counts.
        elif (value is None or isinstance(value, float)) and key not in NOT_SCORE_KEYS:
            yield f"{before}{key}"


def metric_title(metric: str, result: Result, *, sourced: bool = False) -> str:
    """Describe a metric of a result in words, with the classes of the mean.

    With ``sourced``, the name of a soft score includes the names of its similarity tables.
    """
    dataset, protocol = text(result, "dataset"), text(result, "protocol", "name")
    parent, _, leaf = metric.rpartition(".")
    if metric in SCENARIOS:
        return f"official role AP, {SCENARIOS[metric].lower()}"
    if parent in OFFICIAL:
        counted = figure(result, "counts", "classes_in_official", leaf) if leaf == "full" else None
        every = dataset in VOCABULARIES and counted == len(VOCABULARIES[dataset]())
        classes = "" if counted is None else f" ({'all ' if every else ''}{counted:g} classes)"
        return f"official mAP, {OFFICIAL[parent]}, {TITLES.get(leaf, leaf)}{classes}"
    if metric in SOFT:
        by = f" by {' and '.join(similarity_tables(result))}" if sourced else ""
        return f"{SOFT[metric]}{by}, classes of protocol {protocol}"
    name = f"mAP, {TITLES.get(leaf, leaf)}" if parent == "map" else metric
    return f"{name}, under protocol {protocol}"


def scores_with(metric: str, result: Result) -> dict[str, str]:
    """Return titles of the scores to show together with a metric, by path.

    The scores to show together are the splits of a mean, or both scenarios of V-COCO.
    """
    parent, _, leaf = metric.rpartition(".")
    paths = [metric]
    if metric in SCENARIOS:
        paths = list(SCENARIOS)
    elif parent and leaf in TITLES:
        paths = [path for path in score_paths(result) if path.rpartition(".")[0] == parent]
    return {path: SHOWN.get(path, SHOWN.get(path.rpartition(".")[2], path)) for path in paths}


def _mean(values: Iterable[float | None]) -> float | None:
    """Average the available values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

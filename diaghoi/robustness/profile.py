"""One detector under every condition: its scores, indices, and the growth of its errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diaghoi.comparison.results import Result, error_count, figure
from diaghoi.comparison.study import StudyModel
from diaghoi.oracles import ERRORS
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS
from diaghoi.robustness.indices import Index, index_of
from diaghoi.robustness.metric import score_of
from diaghoi.robustness.scope import Scope
from diaghoi.robustness.study import CLEAN, Condition
from diaghoi.statistics.significance import Difference


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One detector on clean and on corrupted pictures.

    Parameters
    ----------
    model : StudyModel
        What the study says about it.
    metric : str
        Path of its score in a result.
    corruptions : tuple of str
        Those of the study.
    severities : tuple of int
        Those of the study.
    results : mapping
        Result of each available run, by condition.
    tests : mapping
        Tested differences from clean pictures, by condition.
    """

    model: StudyModel
    metric: str
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    results: Mapping[Condition, Result]
    tests: Mapping[Condition, list[Difference]]

    @property
    def scope(self) -> Scope:
        """What its indices are over."""
        return Scope(corruptions=self.corruptions, severities=self.severities)

    @property
    def clean(self) -> float | None:
        """The score on clean pictures, a fraction."""
        return self.score(CLEAN)

    def score(self, condition: Condition) -> float | None:
        """Return the score under a condition, None if there is none."""
        result = self.results.get(condition)
        return None if result is None else score_of(self.metric, result)

    def index(self, corruptions: Iterable[str] | None = None) -> Index:
        """Return MRI and CRI over some corruptions, by default all of the study."""
        chosen = self.corruptions if corruptions is None else corruptions
        scores = {name: [self.score(each) for each in self._of(name)] for name in chosen}
        return index_of(scores, self.clean)

    def groups(self) -> dict[str, Index]:
        """Return the indices of each group that the study has corruptions of."""
        members = {
            group: [name for name in self.corruptions if CORRUPTIONS[name].group == group]
            for group in GROUPS
        }
        return {group: self.index(names) for group, names in members.items() if names}

    def at_severity(self, severity: int) -> Index:
        """Return MRI at one severity. CRI, which needs several severities, is undefined."""
        scores = {name: [self.score(Condition(name, severity))] for name in self.corruptions}
        return index_of(scores, self.clean)

    def drop(self, corruption: str) -> float | None:
        """Return the share of the clean score that a corruption costs, on average."""
        mean, clean = self.index([corruption]).mri, self.clean
        return None if mean is None or not clean else 1 - mean / clean

    def delta(self, condition: Condition, error: str) -> float | None:
        """Return the ΔmAP (full) of an error under a condition, a fraction."""
        result = self.results.get(condition)
        return None if result is None else figure(result, "oracles", error, "delta_map", "full")

    def share(self, condition: Condition, error: str) -> float | None:
        """Return the share of an error among predictions, or of misses among annotations."""
        result = self.results.get(condition)
        found = None if result is None else error_count(result, error)
        return None if found is None or not found[1] else found[0] / found[1]

    def growth(self, condition: Condition, error: str) -> float | None:
        """Return by how much the ΔmAP of an error exceeds that on clean pictures."""
        here, clean = self.delta(condition, error), self.delta(CLEAN, error)
        return None if here is None or clean is None else here - clean

    def mean_growth(self, corruption: str, error: str) -> float | None:
        """Return the mean of :meth:`growth` over the available severities."""
        grown = [self.growth(each, error) for each in self._of(corruption)]
        known = [each for each in grown if each is not None]
        return sum(known) / len(known) if known else None

    def strongest(self, corruption: str) -> Condition | None:
        """Return the highest severity of a corruption with a result."""
        known = [each for each in self._of(corruption) if each in self.results]
        return known[-1] if known else None

    def cells(self) -> list[dict[str, Any]]:
        """Return the values of every available condition, as plain Python."""
        conditions = (CLEAN, *(each for name in self.corruptions for each in self._of(name)))
        return [self._cell(each) for each in conditions if each in self.results]

    def _of(self, corruption: str) -> list[Condition]:
        return [Condition(corruption, each) for each in self.severities]

    def _cell(self, condition: Condition) -> dict[str, Any]:
        result = self.results[condition]
        cell: dict[str, Any] = {
            "corruption": condition.corruption or None,
            "severity": condition.severity,
            "score": self.score(condition),
            "map": figure(result, "map", "full"),
            "delta_map": {error: self.delta(condition, error) for error in ERRORS},
            "shares": {error: self.share(condition, error) for error in ERRORS},
        }
        intervals = result.get("intervals")
        if intervals is not None:
            cell["intervals"] = {
                "score": intervals.get(self.metric),
                "map": intervals.get("map.full"),
                "delta_map": {e: intervals.get(f"oracles.{e}.delta_map.full") for e in ERRORS},
                "shares": {error: intervals.get(f"shares.{error}") for error in ERRORS},
            }
        if condition in self.tests:
            cell["tests"] = [each.to_dict() for each in self.tests[condition]]
        return cell


def costliest(profiles: Sequence[Profile]) -> list[str]:
    """Order the corruptions by the share of the clean score that they cost detectors on average.

    Parameters
    ----------
    profiles : sequence of Profile
        One a detector, of one study.

    Returns
    -------
    list of str
        Names, the costliest first, without those of which no detector has a drop.
    """
    costs: dict[str, float] = {}
    for name in profiles[0].corruptions:
        drops = [profile.drop(name) for profile in profiles]
        known = [each for each in drops if each is not None]
        if known:
            costs[name] = sum(known) / len(known)
    return sorted(costs, key=lambda name: -costs[name])

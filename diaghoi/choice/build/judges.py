"""Judges of candidates: what all of them share, and those that go by words alone.

Section 2.2 of the paper (002): language models that see the picture, three of them in turn. A
judge can also be a file of verdicts (:mod:`diaghoi.choice.build.verdict_files`) or look at no
picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from diaghoi.choice.build.candidates import ImageTargets, Target
from diaghoi.choice.build.time_sensitive import time_sensitive_classes
from diaghoi.choice.classes import NO_INTERACTION, Interaction, normalised
from diaghoi.exceptions import some_of
from diaghoi.semantic.tables.similarity import Similarity, fit

Verdicts = dict[Interaction, bool]
"""Whether each candidate is consistent with what is seen; what a judge cannot say is missing."""
THRESHOLD = 0.5


class JudgeRequest(NamedTuple):
    """Candidates of one target that a judge is asked about."""

    target: Target
    candidates: tuple[Interaction, ...]


class Judge(Protocol):
    """Separates candidates that are consistent with a picture from those that are not."""

    @property
    def name(self) -> str:
        """Name for tables and files."""

    @property
    def sees_pictures(self) -> bool:
        """Whether it sees the picture, and not words alone."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for readers of the benchmark, complete when it is done."""

    def judge(self, asked: Sequence[JudgeRequest]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""


class TimeSensitiveJudge:
    """Calls all 68 classes of appendix A consistent with any picture.

    Counterparts of annotated classes are never candidates; this judge also rules out the classes
    whose counterpart is not annotated, or not a class: ``open`` of a refrigerator.
    """

    name = "time-sensitive"
    sees_pictures = False
    notes = ()

    def judge(self, asked: Sequence[JudgeRequest]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""
        listed = time_sensitive_classes()
        return [{each: normalised(each) in listed for each in one.candidates} for one in asked]


class SimilarityJudge:
    """Calls candidates consistent that mean nearly the same as an annotated action on the object.

    Parameters
    ----------
    table : Similarity
        Table of verbs.
    image_targets : iterable of ImageTargets
        The table is fitted to their verbs.
    threshold : float
        The similarity in [0, 1] from which two actions can be the same.
    """

    sees_pictures = False

    def __init__(
        self, table: Similarity, image_targets: Iterable[ImageTargets], threshold: float = THRESHOLD
    ) -> None:
        self.name = f"similarity:{table.name}"
        self.threshold = threshold
        targets = [each for one in image_targets for each in (one.scene, *one.people)]
        named = {each.verb for one in targets for each in (*one.candidates, *one.annotated)}
        verbs = sorted(named - {NO_INTERACTION})
        fitted = fit(table, [verb.replace("_", " ") for verb in verbs])
        missing = [verb.replace(" ", "_") for verb in fitted.missing]
        self._values, self._verbs = fitted.similarity, {verb: n for n, verb in enumerate(verbs)}
        self._missing = frozenset(missing)
        self.notes: tuple[str, ...] = table.notes
        if missing:
            self.notes += (
                f"{table.source or table.name}: does not have {len(missing)} of {len(verbs)} "
                f"verbs, which then are no negatives: {some_of(missing)}",
            )

    def judge(self, asked: Sequence[JudgeRequest]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""
        return [
            {
                each: self._near(each, one.target)
                for each in one.candidates
                if each.verb not in self._missing
            }
            for one in asked
        ]

    def _near(self, candidate: Interaction, target: Target) -> bool:
        """Whether a candidate is near something annotated; "no interaction" never is."""
        done = [
            self._verbs[each.verb]
            for each in target.annotated
            if each.object == candidate.object and each.verb != NO_INTERACTION
        ]
        if candidate.verb == NO_INTERACTION or not done:
            return False
        one = np.full(len(done), self._verbs[candidate.verb], dtype=np.int64)
        found = self._values.at(one, np.array(done, dtype=np.int64))
        return bool(found.max() >= self.threshold)

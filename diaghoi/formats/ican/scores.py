"""The scores of iCAN's files: of the 600 HOI classes or the 117 verbs of HICO-DET, for each pair.

VCL writes 0 in place of the scores, and the 600 scores of each of its branches after the six values
of a pair: human, object, spatial, and human and object together. Its scripts fuse them before they
evaluate. Here that is done as they do it by default: spatial times the last (which they call
``spv``), or, for models without that branch, spatial times the sum of the first two (``spho``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.checks import check_amount, first_not_finite, shown
from diaghoi.formats.ican.objects import Clearest
from diaghoi.formats.ican.pairs import VALUES, ListedPairs, single, size, vector
from diaghoi.formats.numbering import TripletNumbers

_SCORES = "scores"
_PLACE = VALUES.index(_SCORES)
# The four branches of VCL that its scripts fuse.
_BRANCHES = slice(6, 10)
_BOTH_BRANCHES, _THREE_BRANCHES = "spv", "spho"


@dataclass(frozen=True, eq=False)
class PairScores:
    """The scores of all pairs, image by image.

    Parameters
    ----------
    pairs : ListedPairs
        The pairs.
    vocabulary : Vocabulary
        HICO-DET.
    width : int
        How many scores each pair has: one for each HOI class, or for each verb.
    fused : str or None
        How VCL's branches are fused, None for other files.
    """

    pairs: ListedPairs
    vocabulary: Vocabulary
    width: int
    fused: str | None

    @classmethod
    def of(cls, pairs: ListedPairs, vocabulary: Vocabulary) -> PairScores:
        """Find what the scores are of, from the first pair.

        Raises
        ------
        InputError
            If their number is not that of the classes or of the verbs.
        """
        classes, verbs = len(vocabulary), len(vocabulary.verbs)
        first = next(iter(pairs), None)
        width, fused = classes, None
        if first is not None and single(first[_PLACE]) is not None:
            fused = _fusion(first, classes)
            width = classes if fused else 1
        elif first is not None:
            width = size(first[_PLACE])
        if first is not None and width not in (classes, verbs):
            raise pairs.rows.error(
                0,
                _SCORES,
                f"is {shown(first[_PLACE])}; give {classes} scores, of the HOI classes, or "
                f"{verbs}, of the verbs; or 0, with the scores of VCL's branches after the "
                f"{len(VALUES)} values",
            )
        check_amount(pairs.rows.file, _SCORES, width * len(pairs.rows), pairs.size)
        return cls(pairs, vocabulary, width, fused)

    @property
    def notes(self) -> tuple[str, ...]:
        """Note how branches were fused."""
        if self.fused is None:
            return ()
        return (
            f"{self.pairs.rows.file}: the scores of VCL's branches are fused as {self.fused!r}",
        )

    @property
    def numbers(self) -> TripletNumbers:
        """What each column is a score of."""
        return TripletNumbers("class" if self.width == len(self.vocabulary) else "verb", 0)

    def clearest(self, both: FloatArray) -> Clearest:
        """Return the interaction of each pair with the highest score.

        Parameters
        ----------
        both : (P,) float64 array
            Product of the scores of both boxes.

        Raises
        ------
        InputError
            For scores that are not finite numbers, or differ in number.
        """
        of_class = self.numbers.of == "class"
        verb = self.vocabulary.class_verb if of_class else np.arange(self.width)
        real = np.flatnonzero(verb != self.vocabulary.no_interaction)
        column: IntArray = np.zeros(len(both), dtype=np.int64)
        score, start = np.zeros(len(both)), 0
        for part in self._by_image():
            rows = slice(start, start + len(part))
            column[rows] = real[part[:, real].argmax(axis=1)]
            with np.errstate(over="ignore"):
                score[rows] = part[np.arange(len(part)), column[rows]] * both[rows]
            start += len(part)
        return Clearest(self.numbers, column, score)

    def by_verb(self, both: FloatArray, label: IntArray) -> Iterator[tuple[Array, Array]]:
        """Yield the (pairs, V) scores of the triplets and of the actions of each image.

        Parameters
        ----------
        both : (P,) float64 array
            Product of the scores of both boxes.
        label : (P,) int array
            Category of the object.
        """
        start = 0
        for part in self._by_image():
            rows = slice(start, start + len(part))
            action = part
            if self.numbers.of == "class":
                hoi = self.vocabulary.class_of[label[rows]]
                action = np.where(hoi < 0, 0.0, np.take_along_axis(part, np.maximum(hoi, 0), 1))
            with np.errstate(over="ignore", invalid="ignore"):
                yield action * both[rows, None], action
            start += len(part)

    def _by_image(self) -> Iterator[FloatArray]:
        rows, start = self.pairs.rows, 0
        for pairs in self.pairs.lists:
            part = np.zeros((len(pairs), self.width))
            for row, pair in enumerate(pairs):
                scores = self._scores(pair)
                if scores is None or len(scores) != self.width:
                    raise rows.error(
                        start + row,
                        _SCORES,
                        f"is {shown(pair[_PLACE])}; give {self.width} numbers, like the first pair",
                    )
                part[row] = scores
            bad = first_not_finite(part)
            if bad >= 0:
                column = int(np.argmax(~np.isfinite(part[bad])))
                value = part[bad, column]
                problem = f"number {column} is {value}; give a finite number"
                raise rows.error(start + bad, _SCORES, problem)
            yield part
            start += len(pairs)

    def _scores(self, pair: Sequence[Any]) -> FloatArray | None:
        if self.fused is None:
            return vector(pair[_PLACE])
        branches = [vector(branch) for branch in pair[_BRANCHES]]
        if len(branches) < len(range(10)[_BRANCHES]) or single(pair[_PLACE]) is None:
            return None
        human, thing, spatial, together = branches
        used = (spatial, together) if self.fused == _BOTH_BRANCHES else (spatial, human, thing)
        right = [branch for branch in used if branch is not None and len(branch) == self.width]
        if len(right) < len(used):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(right[0] * sum(right[1:]), dtype=np.float64)


def _fusion(pair: Sequence[Any], classes: int) -> str | None:
    """Choose how to fuse the branches of VCL by those that a pair has; None without them."""
    human, thing, spatial, together = (*map(size, pair[_BRANCHES]), -1, -1, -1, -1)[:4]
    if spatial == together == classes:
        return _BOTH_BRANCHES
    return _THREE_BRANCHES if human == thing == spatial == classes else None

"""What the number of a triplet means: a verb or an HOI class, counted from zero or from one.

Code bases write either into the same key. Which it is shows in the triplets themselves: under the
right reading nearly every confident triplet is an HOI class of the data set, under a wrong one few
are, because only 600 of the 9,360 combinations of object and verb are classes of HICO-DET.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import UnknownNumberError

# How many different triplets it takes to contradict a format clearly, how many triplets to bring it
# into doubt, and the share of predictions that are looked at.
FEW, ENOUGH, BEST = 5, 20, 0.1
# Another reading is taken if this share of the triplets are classes under it, and so many times the
# share under the format's own; it is in doubt from so many times on.
LEAST, CLEAR, DOUBTFUL = 0.5, 3.0, 1.5
# Of the triplets in files of a known data set, more than this share are classes of it (99 % in
# HOI-A, all in the others); of those of another data set, up to three quarters happen to be.
GENUINE = 0.95


class TripletNumbers(NamedTuple):
    """How triplets are numbered.

    Parameters
    ----------
    of : {"verb", "class"}
        What is numbered.
    origin : int
        The first number.
    listed : tuple of int or None
        The number of each verb or HOI class, -1 for none, where they are not all numbers from the
        first one on; else None.
    """

    of: Literal["verb", "class"]
    origin: int
    listed: tuple[int, ...] | None = None

    @classmethod
    def of_verbs(cls, numbers: tuple[int, ...]) -> TripletNumbers:
        """Return the reading in which verbs have these numbers."""
        first = numbers[0]
        follow = first in (0, 1) and numbers == tuple(range(first, first + len(numbers)))
        return cls("verb", first) if follow else cls("verb", first, numbers)

    def __str__(self) -> str:
        if self.listed is not None:
            known = "verbs as the description lists them"
            return known if self.of == "verb" else "HOI classes of the annotations from 0"
        return f"{'verbs' if self.of == 'verb' else 'HOI classes'} from {self.origin}"

    def numbers(self, vocabulary: Vocabulary) -> Sequence[int]:
        """Return the number of each verb or HOI class."""
        if self.listed is not None:
            return self.listed
        count = len(vocabulary.verbs if self.of == "verb" else vocabulary.class_verb)
        return range(self.origin, self.origin + count)

    def places(self, numbers: IntArray, vocabulary: Vocabulary) -> IntArray:
        """Return the verb or HOI class, counted from zero, of each number; -1 for none."""
        known = self.numbers(vocabulary)
        if isinstance(known, range):
            inside = (numbers >= known.start) & (numbers < known.stop)
            return np.where(inside, numbers - known.start, -1)
        table = {number: place for place, number in enumerate(known) if number >= 0}
        return translated(numbers, table)

    def holds(self, numbers: IntArray, vocabulary: Vocabulary) -> bool:
        """Whether all numbers exist under this reading."""
        return bool(len(numbers) and (self.places(numbers, vocabulary) >= 0).all())

    @property
    def option(self) -> str:
        """The option that asks for it."""
        if self.listed is not None:
            return f"{'numbers' if self.of == 'verb' else 'classes'} in the description"
        return f"--read {'verbs' if self.of == 'verb' else 'classes'}={self.origin}"

    def classes(self, numbers: IntArray, labels: IntArray, vocabulary: Vocabulary) -> IntArray:
        """HOI class of each triplet under this reading; -1 for none.

        Parameters
        ----------
        numbers : (T,) int array
            As in the file.
        labels : (T,) int array
            Category of the object, -1 where the file does not say.
        vocabulary : Vocabulary
            The data set.
        """
        place = self.places(numbers, vocabulary)
        inside = place >= 0
        place = np.where(inside, place, 0)
        if self.of == "verb":
            return np.where(inside, vocabulary.class_of[labels, place], -1)
        fits = inside & ((labels < 0) | (vocabulary.class_object[place] == labels))
        return np.where(fits, place, -1)


READINGS = tuple(TripletNumbers(of, origin) for of in ("verb", "class") for origin in (0, 1))


def find_triplet_numbers(
    file: str,
    numbers: IntArray,
    labels: IntArray,
    score: FloatArray | None,
    vocabulary: Vocabulary,
    *,
    fixed: TripletNumbers,
    given: Sequence[TripletNumbers] = (),
    more: Sequence[TripletNumbers] = (),
) -> tuple[TripletNumbers, tuple[str, ...]]:
    """Determine how a file numbers its triplets.

    The format's own reading counts unless the file contradicts it.

    Parameters
    ----------
    file : str
        The file, for messages.
    numbers, labels : (T,) int array
        Number of each triplet, and the category of its object; -1 where the file does not say.
    score : (T,) float64 array or None
        Ranking scores: only the best predictions are evidence.
    vocabulary : Vocabulary
        The data set.
    fixed : TripletNumbers
        The reading of the format.
    given : sequence of TripletNumbers
        The readings that the user allows; empty for all.
    more : sequence of TripletNumbers
        Readings beside ``READINGS``.

    Returns
    -------
    reading : TripletNumbers
        How triplets are numbered.
    notes : tuple of str
        What was found, if it is not the reading of the format.

    Raises
    ------
    InputError
        If the triplets contradict the format without showing another reading clearly.
    """
    if len(given) == 1:
        if given[0].of == "verb" or given[0].listed is None:
            return given[0], ()
        count = f"{len(np.unique(numbers))} numbers, as many as classes are annotated"
        return given[0], (f"{file}: triplets are numbered as {given[0]}: there are {count}",)
    best = most_confident(score, len(numbers))
    shares = {
        reading: _share(reading.classes(numbers[best], labels[best], vocabulary) >= 0)
        for reading in given or (*READINGS, *more)
        # Without categories every number is a verb of something.
        if reading.of == "class" or fixed.of == "verb"
    }
    own = shares.setdefault(fixed, 0.0)
    if not fixed.holds(numbers, vocabulary):
        other = _complete(numbers, labels, shares, own, vocabulary)
        if other is not None:
            note = f"{file}: triplets are numbered as {other}: as {fixed} some do not exist"
            return other, (note,)
    other = max(shares, key=lambda reading: shares[reading])
    # Ties go to the format.
    # The same triplet over and over is no more evidence than once.
    if shares[other] <= own * DOUBTFUL or _kinds(numbers[best], labels[best]) < FEW:
        return fixed, ()
    if shares[other] >= LEAST and shares[other] >= own * CLEAR:
        return other, (
            f"{file}: triplets are numbered as {other}: {percent(shares[other])} of the best are "
            f"HOI classes of {vocabulary.name}, as {fixed} {percent(own)} are",
        )
    if len(numbers) < ENOUGH:
        return fixed, ()
    if shares[other] < LEAST and not given:
        raise UnknownNumberError(
            f"{file}: at most {percent(shares[other])} of the best triplets are HOI classes of "
            f"{vocabulary.name}, however they are numbered: is the file of another data set? "
            f"Describe it in a .toml file for --dataset, or give {fixed.option} to read it as it "
            "is",
            np.ones(len(numbers), dtype=bool),
        )
    raise InputError(
        f"{file}: cannot determine how triplets are numbered: as {fixed}, {percent(own)} of the "
        f"best are HOI classes of {vocabulary.name}, as {other}, {percent(shares[other])} are; "
        f"give {fixed.option} or {other.option}"
    )


def _kinds(numbers: IntArray, labels: IntArray) -> int:
    order = np.lexsort((numbers, labels))
    return int((first_of_run(numbers[order]) | first_of_run(labels[order])).sum())


def _complete(
    numbers: IntArray,
    labels: IntArray,
    shares: Mapping[TripletNumbers, float],
    own: float,
    vocabulary: Vocabulary,
) -> TripletNumbers | None:
    """Return the best reading under which all numbers exist, and no fewer are classes."""
    # One number too many is as likely an error; classes show by the objects of several triplets.
    few = len(numbers) < FEW
    by_object = len(numbers) > 1 and bool((labels >= 0).all())
    fitting = [
        each
        for each in shares
        if shares[each] >= own
        and each.holds(numbers, vocabulary)
        and (not few or (by_object and each.of == "class" and shares[each] == 1))
    ]
    return max(fitting, key=lambda reading: shares[reading], default=None)


def readings(verbs: int | None, classes: int | None) -> tuple[TripletNumbers, ...]:
    """Return the readings that the options of the user leave; empty for all."""
    found = () if verbs is None else (TripletNumbers("verb", verbs),)
    return found if classes is None else (*found, TripletNumbers("class", classes))


def most_confident(score: FloatArray | None, count: int) -> BoolArray | slice:
    """Choose the rows that are evidence: all without scores, else the best.

    Parameters
    ----------
    score : (count,) float64 array or None
        Ranking scores.
    count : int
        Number of rows.
    """
    if score is None or count <= ENOUGH:
        return slice(None)
    kept = max(ENOUGH, int(BEST * count))
    return np.asarray(score >= np.partition(score, count - kept)[count - kept])


def _share(fits: BoolArray) -> float:
    return float(fits.mean()) if len(fits) else 1.0


def translated(numbers: IntArray, table: Mapping[int, int]) -> IntArray:
    """Return the place of each number in a table; -1 for numbers that are not in it."""
    known = np.array(sorted(table), dtype=np.int64)
    place = np.array([table[number] for number in known.tolist()], dtype=np.int64)
    row = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.where(known[row] == numbers, place[row], -1)


def percent(share: float) -> str:
    """Format a share for a message."""
    return f"{100 * share:.0f} %"

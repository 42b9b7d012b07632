"""Interpret the numbers in files: how objects, verbs and HOI classes are numbered.

Box labels are evidence of the object numbering: a person is 0 in COCO-80, 1 in COCO's own ids and
49 in HICO's alphabetical order. A label that is invalid in one numbering may be valid in another
that has the same number for a person. Data sets with :class:`~diaghoi.data.vocabulary.Conventions`
have their own numbering, which some code bases shift to another first number.

A triplet's number is the number of a verb or an HOI class, counted from zero or one: code bases
write any of these under the same key. Under the right reading, nearly all confident triplets are
HOI classes of the data set; under a wrong reading, few are, because only 600 of the 9,360
combinations of object and verb are HICO-DET classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, object_numberings
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Options, UnknownNumberError
from diaghoi.formats.checks import Rows

# Minimum number of distinct triplets to contradict a format, minimum number of triplets to cast
# doubt on it, and share of the predictions to examine.
FEW, ENOUGH, BEST = 5, 20, 0.1
# Another reading wins if at least LEAST of the triplets are classes under it, and at least CLEAR
# times as many as under the format's reading; DOUBTFUL times as many only cast doubt on the
# format's reading.
LEAST, CLEAR, DOUBTFUL = 0.5, 3.0, 1.5
# In a file of a known data set, more than this share of the triplets are classes of the data set
# (99 % in HOI-A, all in other data sets). In files of other data sets, up to three quarters may be
# classes by coincidence.
GENUINE = 0.95


class TripletNumbers(NamedTuple):
    """Numbering of triplets.

    Parameters
    ----------
    of : {"verb", "class"}
        What is numbered.
    origin : int
        The first number.
    listed : tuple of int or None
        The number of each verb or HOI class, -1 if it has none; None if the numbers are
        consecutive.
    """

    of: Literal["verb", "class"]
    origin: int
    listed: tuple[int, ...] | None = None

    @classmethod
    def of_verbs(cls, numbers: tuple[int, ...]) -> TripletNumbers:
        """Return the reading in which verbs have the given numbers."""
        first = numbers[0]
        follow = first in (0, 1) and numbers == tuple(range(first, first + len(numbers)))
        return cls("verb", first, None if follow else numbers)

    def __str__(self) -> str:
        verbs = self.of == "verb"
        if self.listed is None:
            return f"{'verbs' if verbs else 'HOI classes'} from {self.origin}"
        lists = "verbs as the description lists them", "HOI classes of the annotations from 0"
        return lists[not verbs]

    @property
    def option(self) -> str:
        """The option that requests this reading."""
        if self.listed is None:
            return f"--read {'verbs' if self.of == 'verb' else 'classes'}={self.origin}"
        return f"{'numbers' if self.of == 'verb' else 'classes'} in the description"

    def numbers(self, vocabulary: Vocabulary) -> Sequence[int]:
        """Return the file's number of each verb or HOI class."""
        count = len(vocabulary.verbs if self.of == "verb" else vocabulary.class_verb)
        return self.listed or range(self.origin, self.origin + count)

    def places(self, numbers: IntArray, vocabulary: Vocabulary) -> IntArray:
        """Return the zero-based verb or HOI class of each number; -1 if there is none."""
        known = self.numbers(vocabulary)
        if isinstance(known, range):
            inside = (numbers >= known.start) & (numbers < known.stop)
            return np.where(inside, numbers - known.start, -1)
        return translated(numbers, {n: place for place, n in enumerate(known) if n >= 0})

    def holds(self, numbers: IntArray, vocabulary: Vocabulary) -> bool:
        """Check whether there are numbers, and whether all of them exist under this reading."""
        return bool(len(numbers) and (self.places(numbers, vocabulary) >= 0).all())

    def classes(self, numbers: IntArray, labels: IntArray, vocabulary: Vocabulary) -> IntArray:
        """Return the HOI class of each triplet under this reading; -1 for none.

        ``labels`` are the object categories, (T,), -1 if unknown.
        """
        place = self.places(numbers, vocabulary)
        inside = place >= 0
        place = np.where(inside, place, 0)
        if self.of == "verb":
            return np.where(inside, vocabulary.class_of[labels, place], -1)
        fits = inside & ((labels < 0) | (vocabulary.class_object[place] == labels))
        return np.where(fits, place, -1)


READINGS = tuple(TripletNumbers(of, origin) for of in ("verb", "class") for origin in (0, 1))
_Readings = tuple[TripletNumbers, ...]


def read_triplets(
    rows: Rows,
    numbers: IntArray,
    labels: IntArray,
    score: FloatArray | None,
    options: Options,
    column: str,
    *,
    of_format: TripletNumbers,
    numbering: Numbering,
) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Return the object categories and verbs of triplets, (T,) each, and notes on the reading.

    If the objects in a file start at a different number than in its data set, the verbs are taken
    to start at the same number as the objects, if possible.

    Parameters
    ----------
    rows, column
        The triplets, and the column of their numbers, for messages.
    numbers, labels : (T,) int array
        Number and object category of each triplet; -1 if the category is unknown.
    score : (T,) float64 array or None
        Ranking scores; only the best predictions are used as evidence.
    options : Options
        The user's options, which then record how the numbers were read.
    of_format : TripletNumbers
        How the format numbers triplets; a numbering of verbs is not used if the data set has
        conventions.
    numbering : Numbering
        Numbering of the objects.

    Raises
    ------
    InputError
        If a verb or class is not in the data set, or if the triplets contradict the format without
        clearly showing another reading.
    """
    vocabulary, usual, predictions = options.vocabulary, of_format, numbering.predictions
    triplets = _Triplets(rows, numbers, labels, score, options, column)
    conventions = vocabulary.conventions if usual.of == "verb" else None
    if conventions is not None:
        usual = TripletNumbers.of_verbs(conventions.numbers(predictions=predictions).verbs)
        if numbering.found:
            # If a data set has conventions, only NAME-0 and NAME-1 are tried.
            shifted = TripletNumbers("verb", int(numbering.name.rpartition("-")[2]))
            usual = shifted if shifted.holds(numbers, vocabulary) else usual
    holds = usual.holds(numbers, vocabulary)
    more: _Readings = ()
    # A description is stronger evidence than the predicted combinations.
    stated = options.states(predictions=predictions) or (conventions is not None and holds)
    given = _allowed(options.verbs, options.classes) or ((usual,) if stated else ())
    if not given and usual.of == "class":
        given = triplets.annotated_classes()
    elif not given and not holds:
        more = triplets.annotated_classes()
    reading, place, notes = triplets.read(usual, given, more)
    if reading.of == "verb":
        if numbering.found and conventions is not None and reading == usual:
            notes = (*notes, f"{rows.file}: triplets are numbered as {reading}")
        return labels, place, notes
    category = np.where(labels < 0, vocabulary.class_object[place].astype(np.int64), labels)
    return category, vocabulary.class_verb[place].astype(np.int64), notes


def hoi_classes(
    rows: Rows,
    numbers: IntArray,
    score: FloatArray | None,
    options: Options,
    column: str,
    *,
    first: int = 0,
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the zero-based HOI classes, and notes, for files without object and verb numbers.

    Parameters and errors are as in :func:`read_triplets`; ``first`` is the number of the first
    class in the format. The data set's classes must determine the object.
    """
    check_objects(rows.file, options.vocabulary)
    triplets = _Triplets(rows, numbers, np.full_like(numbers, -1), score, options, column)
    given = _allowed(None, options.classes) or triplets.annotated_classes()
    return triplets.read(TripletNumbers("class", first), given)[1:]


def _allowed(verbs: int | None, classes: int | None) -> _Readings:
    """Return the readings that the user's options allow; empty if they allow all."""
    found = () if verbs is None else (TripletNumbers("verb", verbs),)
    return found if classes is None else (*found, TripletNumbers("class", classes))


@dataclass(frozen=True, eq=False)
class _Triplets:
    """The triplets of a file; attributes as in :func:`read_triplets`."""

    rows: Rows
    numbers: IntArray
    labels: IntArray
    score: FloatArray | None
    options: Options
    column: str

    def read(
        self, fixed: TripletNumbers, given: _Readings, more: _Readings = ()
    ) -> tuple[TripletNumbers, IntArray, tuple[str, ...]]:
        """Return the numbering of triplets, their verbs or HOI classes, and notes.

        ``given`` are the readings that the user allows (all if empty); ``more`` are readings to try
        in addition to ``READINGS``.
        """
        reading, why = self._find(fixed, given, more)
        self.options.shown["triplets"] = str(reading)
        vocabulary = self.options.vocabulary
        place = reading.places(self.numbers, vocabulary)
        if (place < 0).any():
            bad, known = int(np.argmax(place < 0)), reading.numbers(vocabulary)
            verb = reading.of == "verb"
            what, all_of = ("verb", "verbs") if verb else ("HOI class", "HOI classes")
            in_format = "" if verb and vocabulary.conventions is not None else " in this format"
            problem = (
                f"unknown {what} {int(self.numbers[bad])}; {all_of} of {vocabulary.name} are "
                f"numbered {min(known)} to {max(known)}{in_format}"
            )
            raise UnknownNumberError(str(self.rows.error(bad, self.column, problem)), place < 0)
        note = f"{self.rows.file}: triplets are numbered as {reading}: {why}"
        return reading, place, (note,) if why else ()

    def _find(
        self, fixed: TripletNumbers, given: _Readings, more: _Readings
    ) -> tuple[TripletNumbers, str]:
        """Choose the format's reading or, with a note, another reading that the file shows."""
        vocabulary, numbers = self.options.vocabulary, self.numbers
        if len(given) == 1:
            if given[0].of == "verb" or given[0].listed is None:
                return given[0], ""
            count = len(np.unique(numbers))
            return given[0], f"there are {count} numbers, as many as annotated classes"
        best = most_confident(self.score, len(numbers))
        likely, labels = numbers[best], self.labels[best]
        shares: dict[TripletNumbers, float] = {}
        for reading in given or (*READINGS, *more):
            # Without object categories, every number fits as a verb, so readings of verbs prove
            # nothing.
            if reading.of == "class" or fixed.of == "verb":
                fits = reading.classes(likely, labels, vocabulary) >= 0
                shares[reading] = float(fits.mean()) if len(fits) else 1.0
        own = shares.setdefault(fixed, 0.0)
        if not fixed.holds(numbers, vocabulary):
            # Find readings under which all numbers exist and which turn at least as many triplets
            # into HOI classes as the format's reading does. A single extra number could be an
            # error; with several numbers, the objects show whether the numbers are classes.
            few = len(numbers) < FEW
            by_object = len(numbers) > 1 and bool((self.labels >= 0).all())
            complete = [
                reading
                for reading, share in shares.items()
                if share >= own
                and reading.holds(numbers, vocabulary)
                and (not few or (by_object and reading.of == "class" and share == 1))
            ]
            if complete:
                other = max(complete, key=lambda reading: shares[reading])
                return other, f"as {fixed}, some numbers would not exist"
        other = max(shares, key=lambda reading: shares[reading])
        share, order = shares[other], np.lexsort((likely, labels))
        # Repeated triplets are not additional evidence.
        kinds = (first_of_run(likely[order]) | first_of_run(labels[order])).sum()
        # If the shares tie, the format's reading is kept.
        if share <= own * DOUBTFUL or kinds < FEW:
            return fixed, ""
        if share >= LEAST and share >= own * CLEAR:
            return other, (
                f"{percent(share)} of the best triplets are HOI classes of {vocabulary.name}; as "
                f"{fixed}, only {percent(own)} are"
            )
        if len(numbers) < ENOUGH:
            return fixed, ""
        if share < LEAST and not given:
            raise UnknownNumberError(
                f"{self.rows.file}: at most {percent(share)} of the best triplets are HOI classes "
                f"of {vocabulary.name}, however they are numbered: does the file belong to another "
                f"data set? Describe it in a .toml file for --dataset, or give {fixed.option} to "
                "read it anyway",
                np.ones(len(numbers), dtype=bool),
            )
        raise InputError(
            f"{self.rows.file}: cannot determine how triplets are numbered: as {fixed}, "
            f"{percent(own)} of the best are HOI classes of {vocabulary.name}, but as {other}, "
            f"{percent(share)} are; give {fixed.option} or {other.option}"
        )

    def annotated_classes(self) -> _Readings:
        """Return the reading in which only the annotated HOI classes have numbers, if possible.

        A reading exists only if a description lists no classes, so that every verb goes with every
        object, and the file has exactly as many numbers as annotated classes.
        """
        words = self.options.vocabulary
        if words.known:
            return ()
        numbers = np.unique(self.numbers)
        by_verb = words.class_verb * len(words.objects) + words.class_object
        everything = np.arange(len(words.verbs) * len(words.objects))
        follow = np.array_equal(numbers, np.arange(len(numbers))) and 0 < len(numbers) < len(words)
        if not follow or not np.array_equal(by_verb, everything):
            return ()
        classes = self.options.annotated()
        if len(classes) != len(numbers):
            return ()
        listed = np.full(len(words), -1)
        listed[classes] = numbers
        return (TripletNumbers("class", 0, tuple(listed.tolist())),)


def most_confident(score: FloatArray | None, count: int) -> BoolArray | slice:
    """Choose evidence among ``count`` rows: the best rows, or all if there are no scores."""
    if score is None or count <= ENOUGH:
        return slice(None)
    kept = max(ENOUGH, int(BEST * count))
    return np.asarray(score >= np.partition(score, count - kept)[count - kept])


def translated(numbers: IntArray, table: Mapping[int, int]) -> IntArray:
    """Return the table index of each number; -1 for numbers that are not in the table."""
    known = np.array(sorted(table), dtype=np.int64)
    place = np.array([table[number] for number in known.tolist()], dtype=np.int64)
    row = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.where(known[row] == numbers, place[row], -1)


def percent(share: float) -> str:
    """Format a share for a message."""
    return f"{100 * share:.0f} %"


_Tables = Mapping[str, Mapping[int, int]]


def numberings(vocabulary: Vocabulary, *, predictions: bool = True) -> _Tables:
    """Return the possible object numberings of a data set's files, each as ``{number: index}``.

    A data set with conventions has its own numbering, under its name, and two more, which start at
    0 and 1: ``NAME-0`` and ``NAME-1``.
    """
    conventions = vocabulary.conventions
    if conventions is None:
        return object_numberings()
    own = conventions.numbers(predictions=predictions).objects
    tables = {vocabulary.name: {number: row for row, number in enumerate(own)}}
    for first in (0, 1):
        table = {row + first: row for row in range(len(own))}
        if table not in tables.values():
            tables[f"{vocabulary.name}-{first}"] = table
    return tables


def numbers_of_files(scenes: Scenes) -> Scenes:
    """Return scenes with the numbering and box layout of the data set's files, for writers.

    The scenes are unchanged if the data set has no conventions of its own.
    """
    conventions = scenes.vocabulary.conventions
    if conventions is None:
        return scenes
    numbers = conventions.numbers(predictions=scenes.scored)
    box = scenes.box_xyxy + conventions.origin
    if conventions.boxes == "xywh":
        margin = scenes.vocabulary.protocol.margin
        box = np.concatenate([box[:, :2], box[:, 2:] - box[:, :2] + margin], axis=1)
    return replace(
        scenes,
        box_xyxy=box,
        box_label=np.array(numbers.objects)[scenes.box_label],
        triplet_verb=np.array(numbers.verbs)[scenes.triplet_verb],
    )


class Numbering(NamedTuple):
    """The numbering of object categories in a file.

    Parameters
    ----------
    name : str
        One of :func:`numberings`.
    vocabulary : Vocabulary
        The data set.
    predictions : bool
        Whether the file contains predictions, for which the data set may define separate numbers.
    notes : tuple of str
        Evidence in the boxes for a numbering other than the format's; empty if the format or the
        user determined the numbering.
    """

    name: str
    vocabulary: Vocabulary
    predictions: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def usual(
        cls, options: Options, name: str = "coco80", *, predictions: bool = True
    ) -> Numbering:
        """Return the numbering given by the user, else by the data set, else by the format."""
        words = options.vocabulary
        own = name if words.conventions is None else words.name
        return cls(options.objects or own, words, predictions)

    @property
    def found(self) -> bool:
        """Whether the boxes showed the numbering; if so, the detector's other files share it."""
        return bool(self.notes)

    @property
    def tables(self) -> _Tables:
        """The numberings that the file may have."""
        return numberings(self.vocabulary, predictions=self.predictions)

    @property
    def nothing(self) -> int:
        """The number after the last object, often used for "no object"."""
        return max(self.tables[self.name]) + 1

    def positions(
        self, rows: Rows, labels: IntArray, column: str, *, unknown: bool = False
    ) -> IntArray:
        """Convert the file's numbers to vocabulary indices of categories, (R,).

        If ``unknown``, -1 is kept for an unknown category; any other number outside the numbering
        raises an ``InputError`` that names the ``rows`` and their ``column``.
        """
        words, tables = self.vocabulary, self.tables
        table = tables[self.name]
        place = translated(labels, table)
        wrong = (place < 0) & ~((labels == -1) & unknown)
        if wrong.any():
            bad, advice = int(np.argmax(wrong)), ""
            if words.conventions is None:
                person = _number(table, words.person)
                fits = _having(labels, _with_person(tables, person, words), tables)
                other = f"{fits[0]}, which contains all labels of the file" if fits else "NUMBERING"
                advice = (
                    f" as {self.name}; if the file numbers objects differently, give --read "
                    f"objects={other}"
                )
            elif not words.known:
                advice = "; if the file numbers objects differently, fix the description"
            problem = (
                f"unknown object category {int(labels[bad])}; {words.name} objects are numbered "
                f"{min(table)} to {max(table)}{advice}"
            )
            raise UnknownNumberError(str(rows.error(bad, column, problem)), wrong)
        return place


def check_numbering(given: str, known: Collection[str]) -> None:
    """Raise an ``InputError`` if the name of an object numbering is unknown."""
    if given not in known:
        raise InputError(
            f"--read objects: unknown numbering {given!r:.40}; known: {', '.join(known)}"
        )


def find_numbering(
    file: str,
    labels: IntArray,
    human: IntArray,
    options: Options,
    *,
    fixed: str | None = None,
    predictions: bool = True,
) -> Numbering:
    """Determine how a file numbers object categories.

    The user's numbering has priority over the numbering that the labels show, which has priority
    over the format's: labels are evidence, whereas a format is only a convention. If all human
    boxes have the same label, only numberings in which this label is a person are considered; the
    first of them that contains all labels is chosen, or else the first. A label that may mean "no
    object" is not evidence. In a data set with conventions, the format is not considered. If some
    subjects are not people and only one numbering contains all labels, that numbering is chosen,
    provided that most of its subjects are people.

    Parameters
    ----------
    file : str
        The file, for messages.
    labels, human : (B,), (R,) int array
        Labels of all boxes, -1 for an unknown category, and rows of the pairs' human boxes.
    options : Options
        The user's options, with the data set.
    fixed : str, optional
        Numbering that the format prescribes.
    predictions : bool
        As in :class:`Numbering`.

    Raises
    ------
    InputError
        If the user's numbering is unknown, or the numbering cannot be determined.
    """
    vocabulary, conventions = options.vocabulary, options.vocabulary.conventions
    tables, person = numberings(vocabulary, predictions=predictions), labels[human]
    usual = Numbering.usual(options, fixed or "coco80", predictions=predictions)
    stated = conventions is not None and predictions and conventions.predictions is not None
    if options.objects is not None:
        check_numbering(options.objects, tables)
    if options.objects is not None or stated or not len(person):
        return usual
    own = name = usual.name
    alike, number = bool((person == person[0]).all()), int(person[0])
    evidence = f"all human boxes have label {number}"
    if alike and (same := _with_person(tables, number, vocabulary)):
        name, others = same[0], labels[_absent(labels, tables[same[0]])]
        if (others != max(tables[name]) + 1).any():
            name = next(iter(_having(labels, same, tables)), name)
        if name != same[0]:
            evidence += f", and label {int(others.max())} does not exist in {same[0]}"
    elif not alike and conventions is not None:
        values, count = np.unique(person, return_counts=True)
        fits = _having(labels, tables, tables)
        if len(fits) == 1 and tables[fits[0]].get(values[count.argmax()]) == vocabulary.person:
            name, others = fits[0], labels[_absent(labels, tables[own])]
            evidence = f"label {int(others[0])} does not exist in {own}" if len(others) else ""
    elif not fixed and conventions is None:
        kinds = some_of([str(label) for label in np.unique(person).tolist()])
        people = dict.fromkeys(_number(table, vocabulary.person) for table in tables.values())
        known = (f"{n} in {' and '.join(_with_person(tables, n, vocabulary))}" for n in people)
        raise InputError(
            f"{file}: cannot determine the numbering of objects: the human boxes of the pairs have "
            f"labels {kinds}, but a person is {', '.join(known)}; give --read objects=NUMBERING, "
            f"one of {', '.join(tables)}"
        )
    if name == own:
        return usual
    return usual._replace(name=name, notes=(f"{file}: {evidence}: objects are numbered as {name}",))


def _number(table: Mapping[int, int], sought: int) -> int:
    return next(number for number, position in table.items() if position == sought)


def _with_person(tables: _Tables, number: int, vocabulary: Vocabulary) -> list[str]:
    """Return the names of the numberings in which a number is a person."""
    return [name for name, table in tables.items() if table.get(number) == vocabulary.person]


def _having(labels: IntArray, names: Iterable[str], tables: _Tables) -> list[str]:
    """Return the names of the numberings that contain all labels."""
    return [name for name in names if not _absent(labels, tables[name]).any()]


def _absent(labels: IntArray, table: Mapping[int, int]) -> BoolArray:
    """Return a mask of labels that a numbering lacks; -1 always means an unknown category."""
    return ~np.isin(labels, [-1, *table])


def check_objects(file: str, vocabulary: Vocabulary) -> None:
    """Reject a data set whose HOI classes do not determine the object that a format needs."""
    if vocabulary.any_object:
        raise InputError(
            f"{file}: has HOI classes instead of objects, but the classes of {vocabulary.name} do "
            "not determine the object; give --dataset hico-det, or a file with box categories"
        )

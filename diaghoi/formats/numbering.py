"""What numbers in files mean: how objects, verbs and HOI classes are numbered, and from where.

Code bases number the objects of a data set differently. The labels of boxes are evidence of the
numbering: a person is 0 in COCO-80, 1 in COCO's own ids and 49 in HICO's alphabetical order, and a
label that one numbering does not have may be an object in another with the same person.
Data sets with :class:`~diaghoi.data.vocabulary.Conventions` have a numbering of their own, which
some code bases count from another first number.

The number of a triplet is a verb or an HOI class, counted from zero or from one: code bases write
either into the same key. Under the right reading nearly every confident triplet is an HOI class of
the data set, under a wrong one few are, because only 600 of the 9,360 combinations of object and
verb are classes of HICO-DET.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, object_numberings
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Options, UnknownNumberError
from diaghoi.formats.checks import Rows

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


def numberings(
    vocabulary: Vocabulary, *, predictions: bool = True
) -> Mapping[str, Mapping[int, int]]:
    """Return the possible object numberings of files of a data set, each ``{number: position}``.

    A data set with conventions has its own, under its name, and those that count from 0 and from 1:
    ``NAME-0``, ``NAME-1``.
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


def usual_triplet_numbers(
    of_format: TripletNumbers,
    numbers: IntArray,
    vocabulary: Vocabulary,
    numbering: Numbering,
    *,
    predictions: bool,
) -> TripletNumbers:
    """Return how triplets are numbered unless their objects show another way.

    Parameters
    ----------
    of_format : TripletNumbers
        The reading of the format; that of verbs does not count where the data set has conventions.
    numbers : (T,) int array
        Number of each triplet.
    vocabulary : Vocabulary
        The data set.
    numbering : Numbering
        How objects are numbered: a file that counts these from another first number counts its
        verbs from there, too, if it can.
    predictions : bool
        Whether the file holds predictions.
    """
    conventions = vocabulary.conventions
    if conventions is None or of_format.of == "class":
        return of_format
    own = TripletNumbers.of_verbs(conventions.numbers(predictions=predictions).verbs)
    if not numbering.found:
        return own
    # Only NAME-0 and NAME-1 are found where a data set has conventions.
    shifted = TripletNumbers("verb", int(numbering.name.rpartition("-")[2]))
    return shifted if shifted.holds(numbers, vocabulary) else own


def annotated_classes(numbers: IntArray, options: Options) -> tuple[TripletNumbers, ...]:
    """Return the reading in which files number the annotated HOI classes alone, if it is possible.

    It is where a description lists no classes, so that every verb goes with every object, and the
    file has exactly as many numbers as classes are annotated.

    Parameters
    ----------
    numbers : (T,) int array
        Number of each triplet.
    options : Options
        The data set, and its annotations.
    """
    words = options.vocabulary
    by_verb = words.class_verb * len(words.objects) + words.class_object
    everything = np.arange(len(words.verbs) * len(words.objects))
    if words.known or not np.array_equal(by_verb, everything) or not len(numbers):
        return ()
    count = int(numbers.max()) + 1
    if count >= len(words) or len(np.unique(numbers)) != count or numbers.min() != 0:
        return ()
    classes = options.annotated()
    if len(classes) != count:
        return ()
    listed = np.full(len(words), -1)
    listed[classes] = np.arange(count)
    return (TripletNumbers("class", 0, tuple(listed.tolist())),)


def numbers_of_files(scenes: Scenes) -> Scenes:
    """Return scenes with the numbering and box layout of the files of the data set, for writers.

    Parameters
    ----------
    scenes : Scenes
        In the numbering of the package.

    Returns
    -------
    Scenes
        Unchanged if the data set has no conventions of its own.
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


def check_numbers(
    rows: Rows, numbers: IntArray, reading: TripletNumbers, vocabulary: Vocabulary, column: str
) -> IntArray:
    """Return verbs or HOI classes counted from zero.

    Raises
    ------
    InputError
        For a verb or class that the vocabulary does not have.
    """
    place = reading.places(numbers, vocabulary)
    if (place < 0).any():
        bad, known = int(np.argmax(place < 0)), reading.numbers(vocabulary)
        one, all_of = ("verb", "verbs") if reading.of == "verb" else ("HOI class", "HOI classes")
        described = reading.of == "verb" and vocabulary.conventions is not None
        in_format = "" if described else " in this format"
        problem = f"unknown {one} {int(numbers[bad])}; {all_of} of {vocabulary.name} are numbered"
        problem = f"{problem} {min(known)} to {max(known)}{in_format}"
        raise UnknownNumberError(str(rows.error(bad, column, problem)), place < 0)
    return place


def hoi_classes(
    rows: Rows,
    numbers: IntArray,
    score: FloatArray | None,
    options: Options,
    column: str,
    *,
    first: int = 0,
) -> tuple[IntArray, tuple[str, ...]]:
    """Return HOI classes counted from zero, for files that number triplets by class alone.

    Parameters
    ----------
    rows : Rows
        The triplets.
    numbers : (T,) int array
        Class of each, from 0 or 1.
    score : (T,) float64 array or None
        Ranking scores.
    options : Options
        The user's options; told how the numbers were read.
    column : str
        Name of the column in the file.
    first : {0, 1}
        The number that the format gives the first class.

    Returns
    -------
    hoi : (T,) int array
        HOI classes.
    notes : tuple of str
        What was found, if classes do not count from ``first``.

    Raises
    ------
    InputError
        For a class that the data set does not have, or classes without objects.
    """
    check_objects(rows.file, options.vocabulary)
    given = readings(None, options.classes)
    reading, notes = find_triplet_numbers(
        rows.file,
        numbers,
        np.full_like(numbers, -1),
        score,
        options.vocabulary,
        fixed=TripletNumbers("class", first),
        given=given or annotated_classes(numbers, options),
    )
    options.shown["triplets"] = str(reading)
    return check_numbers(rows, numbers, reading, options.vocabulary, column), notes


class Numbering(NamedTuple):
    """How a file numbers the object categories.

    Parameters
    ----------
    name : str
        One of :func:`numberings`.
    evidence : str
        What in the boxes shows a numbering other than that of the format; empty if the numbering is
        that of the format or was given by the user.
    """

    name: str
    evidence: str = ""

    @property
    def found(self) -> bool:
        """Whether it was found from the boxes: other files of the detector share it."""
        return self.evidence != ""

    def notes(self, file: str) -> tuple[str, ...]:
        """Note a numbering that differs from that of the format."""
        if not self.found:
            return ()
        return (f"{file}: {self.evidence}: objects are numbered as {self.name}",)


def check_numbering(given: str, known: Collection[str]) -> None:
    """Refuse the name of an object numbering that is not known.

    Raises
    ------
    InputError
        With those that are.
    """
    if given not in known:
        raise InputError(
            f"--read objects: unknown numbering {given!r:.40}; known: {', '.join(known)}"
        )


def find_numbering(
    file: str,
    labels: IntArray,
    human: IntArray,
    vocabulary: Vocabulary,
    *,
    given: str | None,
    fixed: str | None,
    predictions: bool = True,
) -> Numbering:
    """Determine how a file numbers the object categories.

    The numbering given by the user comes first, then that shown by the labels, then that of the
    format: labels are evidence, a format is only a convention. Of the numberings in which the
    common label of all human boxes is a person, the labels show the first that has them all; if
    none has, the first. A single label that may mean "no object" shows nothing. In a data set with
    conventions the format counts for nothing; where some subjects are no people, the labels show
    the only numbering that has them all, if most subjects are people in it.

    Parameters
    ----------
    file : str
        The file, for messages.
    labels : (B,) int array
        Labels of all boxes; -1 for an unknown category.
    human : (R,) int array
        Rows of the human boxes of pairs.
    vocabulary : Vocabulary
        The data set.
    given : str or None
        Numbering given by the user.
    fixed : str or None
        Numbering that the format prescribes, None where it prescribes none.
    predictions : bool
        Whether the file holds predictions, whose numbers the data set may state.

    Returns
    -------
    Numbering
        With the evidence if it is not that of the format.

    Raises
    ------
    InputError
        If ``given`` is unknown, or the numbering cannot be determined.
    """
    tables, conventions = numberings(vocabulary, predictions=predictions), vocabulary.conventions
    if given is not None:
        check_numbering(given, tables)
        return Numbering(given)
    person, own = labels[human], fixed or "coco80"
    if conventions is not None:
        own = vocabulary.name
        if predictions and conventions.predictions is not None:
            return Numbering(own)
        if len(person) and (person != person[0]).any():
            return _having_all(labels, person, tables, vocabulary)
    same = _with_person(tables, int(person[0]), vocabulary) if len(person) else []
    if same and (person == person[0]).all():
        found, evidence = same[0], f"all human boxes have label {int(person[0])}"
        others = labels[_absent(labels, tables[found])]
        # The number after the last one is often that of "no object".
        if (others != max(tables[found]) + 1).any():
            found = next(iter(_having(labels, same, tables)), found)
        if found == own:
            return Numbering(found)
        if found != same[0]:
            evidence += f", and label {int(others.max())} does not exist in {same[0]}"
        return Numbering(found, evidence)
    if fixed or conventions is not None or len(person) == 0:
        return Numbering(own)
    kinds = some_of([str(label) for label in np.unique(person).tolist()])
    people = dict.fromkeys(_number(table, vocabulary.person) for table in tables.values())
    known = (f"{n} in {' and '.join(_with_person(tables, n, vocabulary))}" for n in people)
    raise InputError(
        f"{file}: cannot determine how objects are numbered: the human boxes of the pairs have "
        f"labels {kinds}, but a person is {', '.join(known)}; give "
        f"--read objects=NUMBERING, one of {', '.join(tables)}"
    )


def check_labels(
    rows: Rows,
    labels: IntArray,
    vocabulary: Vocabulary,
    column: str,
    numbering: str,
    *,
    unknown: bool = False,
    predictions: bool = True,
) -> IntArray:
    """Return the object categories as positions in the vocabulary.

    Parameters
    ----------
    rows : Rows
        Origin of the labels.
    labels : (R,) int array
        Categories as the file numbers them.
    vocabulary : Vocabulary
        The data set.
    column : str
        Name of the column in the file.
    numbering : str
        One of :func:`numberings`.
    unknown : bool
        Whether -1 is allowed, for an unknown category; it is kept.
    predictions : bool
        Whether the file holds predictions.

    Raises
    ------
    InputError
        For a category that the numbering does not have.
    """
    tables = numberings(vocabulary, predictions=predictions)
    table = tables[numbering]
    place = translated(labels, table)
    wrong = (place < 0) & ~((labels == -1) & unknown)
    if wrong.any():
        bad = int(np.argmax(wrong))
        known = f"{vocabulary.name} objects are numbered {min(table)} to {max(table)}"
        if vocabulary.conventions is None:
            same = _with_person(tables, _number(table, vocabulary.person), vocabulary)
            fits = _having(labels, same, tables)
            other = f"{fits[0]}, which has all its labels" if fits else "NUMBERING"
            known += f" as {numbering}; if the file numbers them differently, give --read objects="
            known += other
        elif not vocabulary.known:
            known += "; if the file numbers them differently, fix the description"
        problem = f"unknown object category {int(labels[bad])}; {known}"
        raise UnknownNumberError(str(rows.error(bad, column, problem)), wrong)
    return place


def _having_all(
    labels: IntArray,
    person: IntArray,
    tables: Mapping[str, Mapping[int, int]],
    vocabulary: Vocabulary,
) -> Numbering:
    """Return the only numbering that has all labels, if most subjects are people in it."""
    values, count = np.unique(person, return_counts=True)
    usual = _with_person(tables, int(values[count.argmax()]), vocabulary)
    fits = _having(labels, tables, tables)
    if len(fits) != 1 or fits[0] not in usual or fits[0] == vocabulary.name:
        return Numbering(vocabulary.name)
    absent = labels[_absent(labels, tables[vocabulary.name])]
    return Numbering(fits[0], f"label {int(absent[0])} does not exist in {vocabulary.name}")


def _number(table: Mapping[int, int], sought: int) -> int:
    return next(number for number, position in table.items() if position == sought)


def _with_person(
    tables: Mapping[str, Mapping[int, int]], number: int, vocabulary: Vocabulary
) -> list[str]:
    """Names of the numberings in which a number is a person."""
    return [name for name, table in tables.items() if table.get(number) == vocabulary.person]


def _having(
    labels: IntArray, names: Iterable[str], tables: Mapping[str, Mapping[int, int]]
) -> list[str]:
    """Names of the numberings that have all labels."""
    return [name for name in names if not _absent(labels, tables[name]).any()]


def _absent(labels: IntArray, table: Mapping[int, int]) -> BoolArray:
    """Mark the labels that a numbering does not have; -1 is an unknown category in all."""
    return ~np.isin(labels, [-1, *table])


def check_objects(file: str, vocabulary: Vocabulary) -> None:
    """Refuse a data set whose HOI classes do not say the object, for formats that rely on it.

    Raises
    ------
    InputError
        For V-COCO.
    """
    if vocabulary.any_object:
        raise InputError(
            f"{file}: holds HOI classes instead of objects, but those of {vocabulary.name} do not "
            "say the object; give --dataset hico-det, or a file with the categories of boxes"
        )

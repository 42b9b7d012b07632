"""Files that name objects and verbs, with a score for each: HoiTransformer, AgentHOI, DA-HOI.

Each is a list of one dict per image, in a pickle or JSON. Names have spaces or underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det, hoi_a
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    Rows,
    check_amount,
    check_lengths,
    image_name,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.records import Images, RecordTable


def places(names: Iterable[str]) -> dict[str, int]:
    """Return the position of each name, written with spaces."""
    return {spaced(name): place for place, name in enumerate(names)}


def spaced(name: Any) -> str:
    """Write a name with spaces; anything but a string is the empty name."""
    return name.strip().replace("_", " ") if isinstance(name, str) else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


class HoiTransformer(Format):
    """Read the results of HoiTransformer and AS-Net: named triplets with three scores.

    In a pickle or JSON, or one JSON object a line: ``image_id`` (the file name) and ``hoi_list``,
    of ``{h_box, o_box, h_cls, o_cls, i_cls, o_name, i_name}``. The three ``*_cls`` are scores:
    ``i_cls`` is that of the verb alone, the product that of the triplet. Names of objects show
    HOI-A; boxes are xyxy counted from zero. Other keys are not needed. Each triplet is a pair of
    its own.
    """

    name = "hoi-transformer"
    title = "named triplets with three scores (HoiTransformer, AS-Net)"
    kinds = ("predictions",)
    keys = ("image_id", "hoi_list")

    def recognise(self, content: Content) -> Kind | None:
        return "predictions" if "hoi_list" in content.first else None

    def dataset(self, content: Content) -> str | None:
        if begins(content.first.get("image_id"), "HICO_"):
            return "hico-det"
        images = (image for image in content.value if isinstance(image, dict))
        lists = [rows for image in images if isinstance(rows := image.get("hoi_list"), list)]
        check_amount(content.file, "hoi_list", sum(map(len, lists)), content.size)
        rows = (row for row in chain.from_iterable(lists) if isinstance(row, dict))
        names = {spaced(name) for row in rows if isinstance(name := row.get("o_name"), str)}
        of_hoi_a = names <= places(hoi_a().objects).keys()
        return "hoi-a" if of_hoi_a and not names <= places(hico_det().objects).keys() else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images = Images.of(content, content.value, "image_id")
        table, vocabulary = images.table("hoi_list"), options.vocabulary
        flat = Flat(table.rows, options, notes=images.notes)
        human, object_box = (flat.boxes(table.boxes(key), key) for key in ("h_box", "o_box"))
        of_human, of_object, of_verb = (table.scores(key) for key in ("h_cls", "o_cls", "i_cls"))
        return flat.scenes(
            human,
            object_box,
            category=positions(table, "o_name", vocabulary.objects),
            verb=positions(table, "i_name", vocabulary.verbs),
            score=flat.scores(of_human * of_object * of_verb, "product of the scores"),
            action_score=of_verb,
            merged=False,
        )


def positions(table: RecordTable, key: str, known: tuple[str, ...]) -> IntArray:
    """Return the position of each name under a key in those of the vocabulary.

    Raises
    ------
    InputError
        For a name that the vocabulary does not have.
    """
    position = places(known)
    names = [row.get(key) if isinstance(row, dict) else None for row in table]
    numbers = np.array([position.get(spaced(name), -1) for name in names], dtype=np.int64)
    if len(numbers) and numbers.min() < 0:
        bad = int(np.argmin(numbers))
        hint = close_matches(str(names[bad]), known)
        raise table.rows.error(bad, key, f"unknown name {shown(names[bad])}{hint}")
    return numbers


_FILE, _NUMBER = "filename", "img_id"
_OBJECT, _OBJECT_SCORE = "Object Category", "Object Logits"
_VERBS, _VERB_SCORES, _BOXES = "Interaction Class", "IC Logits", "Box"
_COLUMNS = (_OBJECT, _OBJECT_SCORE, _VERBS, _VERB_SCORES, _BOXES)
_HUMAN_BOX, _OBJECT_BOX = "humanBox", "objBox"
_HUMAN_SCORE, _THING_SCORE = "score of humanBox", "score of objBox"
_FIVE = 5
# The default of ``--bbox_lambda``.
_BOX_POWER = 0.3


class AgentHoi(Format):
    """Read the results of AgentHOI, a language model and a grounding model.

    ``filename`` and, with one entry per pair, ``Object Category``, ``Object Logits``,
    ``Interaction Class`` and ``IC Logits`` (a list of names of verbs for each pair, and a score for
    each), and ``Box``: ``{humanBox, objBox}``, of five numbers each, xyxy counted from zero and the
    score. For SWIG-HOI, each pair has one verb and one score instead of lists, and ``img_id``
    numbers the image. The logits are probabilities: the lowest of the tokens of the word.

    Scores are those of its evaluator with its default options. With the mean ``m`` of the scores of
    object and verb and the product ``b`` of those of the boxes, a triplet's is ``sigmoid(m)
    sigmoid(b)^0.3``, for SWIG-HOI ``m b^0.3``. The score of the action is that of the verb.

    Its evaluator also gives a lower score to every other class of the object of each pair, and, on
    HICO-DET, removes boxes that overlap; this is not repeated: only what is listed is read. Like
    there, a pair without a box or a verb is left out, and so are names that the data set does not
    have.
    """

    name = "agent-hoi"
    title = "named interactions with boxes and scores (AgentHOI)"
    kinds = ("predictions",)
    keys = (_FILE, *_COLUMNS)

    def recognise(self, content: Content) -> Kind | None:
        needed = {_FILE, _OBJECT, _VERBS, _BOXES}
        return "predictions" if needed <= content.first.keys() else None

    def dataset(self, content: Content) -> str | None:
        return content.benchmark or ("swig-hoi" if _NUMBER in content.first else None)

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        key = _NUMBER if _NUMBER in content.first else _FILE
        images = Images.of(content, content.value, key)
        pairs = _AgentPairs(images, options.vocabulary)
        lists = [list(pairs.triplets(place)) for place in range(len(images.rows))]
        pairs.check_names()
        count = np.array([len(part) for part in lists], dtype=np.int64)
        check_amount(content.file, "interaction", int(count.sum()), content.size)
        table = RecordTable(lists, Rows(content.file, images.names, "interaction", count))
        flat = Flat(table.rows, options, notes=images.notes + pairs.notes)
        human, object_box = (flat.boxes(table.boxes(key), key) for key in (_HUMAN_BOX, _OBJECT_BOX))
        of_human, of_thing, of_verb, of_object = (
            table.scores(key) for key in (_HUMAN_SCORE, _THING_SCORE, _VERB_SCORES, _OBJECT_SCORE)
        )
        with np.errstate(all="ignore"):
            mean, both = (of_verb + of_object) / 2, of_human * of_thing
            if options.vocabulary.name == "hico-det":
                mean, both = (1 / (1 + np.exp(-values)) for values in (mean, both))
            score = np.asarray(mean * both**_BOX_POWER)
        return flat.scenes(
            human,
            object_box,
            category=table.integers(_OBJECT),
            verb=table.integers(_VERBS),
            score=flat.scores(score, "the score of all four"),
            action_score=of_verb,
            box_scores=(of_human, of_thing),
        )


class _AgentPairs:
    """Bring the lists of AgentHOI's images to one dict per triplet."""

    def __init__(self, images: Images, vocabulary: Vocabulary) -> None:
        self._images, self._vocabulary = images, vocabulary
        self._objects, self._verbs = places(vocabulary.objects), places(vocabulary.verbs)
        self._read = self._incomplete = 0
        self._unknown: list[str] = []

    def triplets(self, place: int) -> Iterator[dict[str, Any]]:
        """Yield the triplets of an image that can be read."""
        image = self._images.rows[place]
        # An image that could not be opened has no boxes, and not all of the lists.
        if _BOXES in image and _is_list(image[_BOXES]) and not image[_BOXES]:
            return
        columns = {key: self._column(place, key) for key in _COLUMNS}
        # SWIG-HOI's evaluator takes a list that ends early as pairs without a verb.
        if all(isinstance(verb, str) for verb in columns[_VERBS]):
            columns[_VERBS] += [[]] * (len(columns[_OBJECT]) - len(columns[_VERBS]))
        check_lengths(self._where(place), columns, "pair")
        for number, pair in enumerate(zip(*columns.values(), strict=True)):
            thing, of_thing, verbs, scores, boxes = pair
            row = self._boxes(place, number, boxes)
            if row is None or verbs == []:
                self._incomplete += 1
                continue
            for verb, score in self._scored_verbs(place, number, verbs, scores):
                labels = self._labels(place, number, thing, verb)
                if labels is not None:
                    yield {**row, **labels, _OBJECT_SCORE: of_thing, _VERB_SCORES: score}

    def check_names(self) -> None:
        """Refuse a file for another data set."""
        if self._unknown and not self._read:
            raise InputError(
                f"{self._images.file}: no interaction is one of {self._vocabulary.name}: "
                f"{self._examples}; give the data set with --dataset"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Note what was left out."""
        file, notes = self._images.file, []
        if self._incomplete:
            notes.append(
                f"{file}: {self._incomplete} pairs lack a box or a verb; they are left out"
            )
        if self._unknown:
            notes.append(
                f"{file}: {len(self._unknown)} of {len(self._unknown) + self._read} "
                f"interactions have names that {self._vocabulary.name} does not have; they are "
                f"left out: {self._examples}"
            )
        return tuple(notes)

    @property
    def _examples(self) -> str:
        return some_of(list(dict.fromkeys(self._unknown)), 3)

    def _column(self, place: int, key: str) -> list[Any]:
        image = self._images.rows[place]
        if key not in image:
            raise self._error(place, "", f"the key {key!r} is missing")
        if not _is_list(image[key]):
            raise self._error(place, key, f"is {shown(image[key])}; give a list")
        return list(image[key])

    def _boxes(self, place: int, number: int, boxes: Any) -> dict[str, Any] | None:
        """Return both boxes and their scores; None if one was not found."""
        row: dict[str, Any] = {}
        for key, score in ((_HUMAN_BOX, _HUMAN_SCORE), (_OBJECT_BOX, _THING_SCORE)):
            box: Any = boxes.get(key) if isinstance(boxes, dict) else None
            if not _is_list(box) or len(box) not in (0, _FIVE):
                problem = f"is {shown(box)}; give five numbers, the box and its score, or none"
                raise self._error(place, f"{_BOXES}[{number}].{key}", problem)
            if not box:
                return None
            row |= {key: box[:-1], score: box[-1]}
        return row

    def _scored_verbs(
        self, place: int, number: int, verbs: Any, scores: Any
    ) -> Iterable[tuple[Any, Any]]:
        if isinstance(verbs, str):
            return [(verbs, scores)]
        where = f"{_VERBS}[{number}]"
        if not (_is_list(verbs) and _is_list(scores)):
            problem = f"are {shown(verbs)}, with scores {shown(scores)}; give two lists"
            raise self._error(place, where, problem)
        if len(scores) != len(verbs):
            problem = f"has {len(verbs)} verbs, but {len(scores)} scores in {_VERB_SCORES!r}"
            raise self._error(place, where, problem)
        return zip(verbs, scores, strict=True)

    def _labels(self, place: int, number: int, thing: Any, verb: Any) -> dict[str, int] | None:
        """Return the numbers of an object and a verb; None if the data set lacks one."""
        for key, name in ((_OBJECT, thing), (_VERBS, verb)):
            if not isinstance(name, str):
                problem = f"{shown(name)} is not a word; give a string"
                raise self._error(place, f"{key}[{number}]", problem)
        label, action = self._objects.get(spaced(thing)), self._verbs.get(spaced(verb))
        if label is None or action is None:
            self._unknown.append(f"{verb} {thing}")
            return None
        self._read += 1
        return {_OBJECT: label, _VERBS: action}

    def _where(self, place: int) -> str:
        return f"{self._images.file}: {image_name(self._images.names, place)}"

    def _error(self, place: int, where: str, problem: str) -> InputError:
        return InputError(": ".join(filter(None, (self._where(place), where, problem))))


_NAMES, _PAIR_BOXES, _SCORES = "pred_object_names", "bboxes", "max_scores"
_PHRASES, _LOGITS = "merge_potential_list", "merge_pred_logits"
_POWER = 1.3
_LENGTHS = "width", "height"


class DaHoi(Format):
    """Read the results of DA-HOI, a language model that scores the verbs of detected pairs.

    Saved by ``torch.save``: ``img_id`` (the number at the end of the file name), and lists with one
    entry per pair: ``pred_object_names``; ``bboxes``, the human box and the object box as eight
    fractions of the width and height of the image (xyxy); ``max_scores``, of the person, the object
    and the interaction of both; ``merge_potential_list``, phrases such as ``riding a bicycle``, one
    for each class of the object; and ``merge_pred_logits``, two or more (1, phrases) arrays. The
    score of a verb is the mean of the first and the last array; that of a triplet is its product
    with ``max_scores``, each to the power of 1.3.

    The code base keeps no sizes of images. They are read from ``width`` and ``height`` of each
    dict, the keys of its annotations; without them boxes stay fractions, until they are joined to
    annotations that hold sizes (:mod:`diaghoi.data.boxes`).
    """

    name = "da-hoi"
    title = "phrases scored for pairs (DA-HOI)"
    kinds = ("predictions",)
    keys = (_NUMBER, _NAMES, _PAIR_BOXES, _SCORES, _PHRASES, _LOGITS)
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        is_scored = content.plain and {_PHRASES, _LOGITS} <= content.first.keys()
        return "predictions" if is_scored else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images = Images.of(content, content.value, _NUMBER)
        tables = {key: images.table(key) for key in (_PAIR_BOXES, _NAMES, _SCORES, _PHRASES)}
        tables[_LOGITS] = images.table(_LOGITS)
        rows = tables[_PAIR_BOXES].rows
        _check_pairs(images, tables)
        sizes = _sizes(images)
        xyxy = tables[_PAIR_BOXES].vectors(None, 8, "is not eight numbers: both boxes")
        outside = ~(np.abs(xyxy - 0.5) <= 0.5).all(axis=1)
        if outside.any():
            bad = int(np.argmax(outside))
            problem = f"{xyxy[bad].tolist()} are not fractions of the image, 0 to 1"
            raise rows.error(bad, "", problem)
        corners = xyxy if sizes is None else xyxy * np.tile(sizes, 4)[rows.image]
        fractions = Flat(rows, Options(vocabulary=options.vocabulary, boxes="xyxy", origin=0))
        human, object_box = fractions.boxes(corners[:, :4]), fractions.boxes(corners[:, 4:])
        of_pairs = tables[_SCORES].vectors(
            None, 3, "is not three numbers: human, object, interaction"
        )
        pair, hoi, of_verb, raised = _scored_phrases(content, tables, options.vocabulary)
        # The code base raises the score of a verb in its own precision, and keeps float32.
        with np.errstate(all="ignore"):
            powers = of_pairs[pair] ** _POWER
            score = raised * powers[:, 1] * powers[:, 0] * powers[:, 2]
            score = score.astype(np.float32).astype(np.float64)
        count = np.bincount(rows.image[pair], minlength=len(rows.count))
        flat = Flat(Rows(content.file, images.names, _LOGITS, count), options, notes=images.notes)
        return flat.scenes(
            human[pair],
            object_box[pair],
            sizes=sizes,
            hoi=hoi,
            score=flat.scores(score),
            action_score=of_verb,
        )


def _check_pairs(images: Images, tables: dict[str, RecordTable]) -> None:
    expected = tables[_PAIR_BOXES].rows.count
    for key, table in tables.items():
        if not np.array_equal(table.rows.count, expected):
            bad = int(np.argmax(table.rows.count != expected))
            raise InputError(
                f"{images.file}: {image_name(images.names, bad)}: {key}: has "
                f"{table.rows.count[bad]} entries, and {_PAIR_BOXES!r} has {expected[bad]}; give "
                "one per pair"
            )


def _sizes(images: Images) -> IntArray | None:
    """(N, 2) width and height of the images; None where the file has none at all."""
    if not any(key in image for image in images.rows for key in _LENGTHS):
        return None
    sizes = np.zeros((len(images.rows), 2), dtype=np.int64)
    for number, image in enumerate(images.rows):
        for column, key in enumerate(_LENGTHS):
            where = f"{images.file}: {image_name(images.names, number)}: {key}"
            if key not in image:
                raise InputError(
                    f"{where}: is missing: boxes are fractions of the image; give 'width' and "
                    "'height' in pixels for each image or for none"
                )
            try:
                sizes[number, column] = whole_number(image[key])
                if sizes[number, column] < 1:
                    raise ValueError
            except (TypeError, ValueError, OverflowError):
                problem = f"is {shown(image[key])}; give a whole number of pixels from 1"
                raise InputError(f"{where}: {problem}") from None
    return sizes


def _scored_phrases(
    content: Content, tables: dict[str, RecordTable], vocabulary: Vocabulary
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return the pair and the HOI class of each phrase, its score, and that raised."""
    class_of_phrase, objects = _phrases(vocabulary), list(map(spaced, vocabulary.objects))
    hoi: list[int] = []
    count, scores, raised = [], [np.zeros(0)], [np.zeros(0)]
    pairs = zip(tables[_NAMES], tables[_PHRASES], tables[_LOGITS], strict=True)
    for row, (name, phrases, logits) in enumerate(pairs):
        if not _is_list(phrases):
            raise tables[_PHRASES].rows.error(row, "", f"is {shown(phrases)}; give a list")
        check_amount(content.file, _PHRASES, len(hoi) + len(phrases), content.size)
        for phrase in phrases:
            place = class_of_phrase.get(spaced(phrase), -1)
            if place < 0 or spaced(name) != objects[vocabulary.class_object[place]]:
                problem = f"{shown(phrase)} does not name a class of {shown(name)}"
                hint = close_matches(spaced(phrase), class_of_phrase)
                raise tables[_PHRASES].rows.error(row, "", f"{problem}{hint}")
            hoi.append(place)
        mean = _mean(logits, len(phrases))
        if mean is None:
            problem = f"{shown(logits)} are not arrays of shape (1, {len(phrases)}), one per phrase"
            raise tables[_LOGITS].rows.error(row, "", problem)
        count.append(len(phrases))
        scores.append(mean.astype(np.float64))
        with np.errstate(all="ignore"):
            raised.append((mean**_POWER).astype(np.float64))
    pair = np.repeat(np.arange(len(count)), np.array(count, dtype=np.int64))
    classes = np.array(hoi, dtype=np.int64)
    return pair, classes, np.concatenate(scores), np.concatenate(raised)


def _mean(logits: Any, amount: int) -> Array | None:
    """Mean of the first and the last array, None for anything else."""
    if not _is_list(logits) or not logits:
        return None
    ends: Sequence[Any] = (logits[0], logits[-1])
    for array in ends:
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            return None
        if array.shape != (1, amount):
            return None
    with np.errstate(all="ignore"):
        return np.asarray((ends[0][0] + ends[1][0]) / 2)


def _phrases(vocabulary: Vocabulary) -> dict[str, int]:
    """HOI class of each phrase, with every way to add ``ing`` to a verb."""
    classes = {}
    pairs = zip(vocabulary.class_verb.tolist(), vocabulary.class_object.tolist(), strict=True)
    for place, (verb, thing) in enumerate(pairs):
        first, _, rest = spaced(vocabulary.verbs[verb]).partition(" ")
        forms = [f"{first}ing", f"{first}{first[-1]}ing"]
        if first.endswith("e"):
            forms.append(f"{first[:-1]}ing")
        if first.endswith("ie"):
            forms.append(f"{first[:-2]}ying")
        for form in forms:
            classes[f"{form} {rest}".strip() + f" a {spaced(vocabulary.objects[thing])}"] = place
    return classes

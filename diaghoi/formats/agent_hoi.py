"""The results of AgentHOI, a language model and a grounding model: named interactions with boxes.

A list of one dict per image, in JSON: ``filename`` and, with one entry per pair, ``Object
Category``, ``Object Logits``, ``Interaction Class`` and ``IC Logits`` (a list of names of verbs for
each pair, and a score for each), and ``Box``: ``{humanBox, objBox}``, of five numbers each, xyxy
counted from zero and the score. For SWIG-HOI, each pair has one verb and one score instead of
lists, and ``img_id`` numbers the image. Names have spaces or underscores. The logits are
probabilities: the lowest of the tokens of the word.

Scores are those of its evaluator with its default options. With the mean ``m`` of the scores of
object and verb and the product ``b`` of those of the boxes, a triplet's is ``sigmoid(m)
sigmoid(b)^0.3``, for SWIG-HOI ``m b^0.3``. The score of the action is that of the verb.

Its evaluator also gives a lower score to every other class of the object of each pair, and, on
HICO-DET, removes boxes that overlap; this is not repeated: only what is listed is read. Like there,
a pair without a box or a verb is left out, and so are names that the data set does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    EXACT,
    Rows,
    check_amount,
    check_boxes,
    check_scores,
    image_name,
    names_array,
    shown,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.records import Images, RecordTable

_NAME, _NUMBER = "filename", "img_id"
_OBJECT, _OBJECT_SCORE = "Object Category", "Object Logits"
_VERBS, _VERB_SCORES, _BOXES = "Interaction Class", "IC Logits", "Box"
_COLUMNS = (_OBJECT, _OBJECT_SCORE, _VERBS, _VERB_SCORES, _BOXES)
_HUMAN_BOX, _OBJECT_BOX = "humanBox", "objBox"
_HUMAN_SCORE, _THING_SCORE = "score of humanBox", "score of objBox"
_FIVE = 5
# The default of ``--bbox_lambda``.
_BOX_POWER = 0.3


def _recognise(content: Content) -> Kind | None:
    first = content.first
    return "predictions" if {_NAME, _OBJECT, _VERBS, _BOXES} <= first.keys() else None


def _dataset(content: Content) -> str | None:
    return content.benchmark or ("swig-hoi" if _NUMBER in content.first else None)


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    key = _NUMBER if _NUMBER in content.first else _NAME
    images = Images.of(content, [_named(image) for image in content.value], key)
    flat = _Flat.of(images, options.vocabulary)
    found = [list(flat.interactions(place)) for place in range(len(images.rows))]
    flat.check_names()
    count = np.array([len(part) for part in found], dtype=np.int64)
    check_amount(content.file, "interaction", int(count.sum()), content.size)
    table = RecordTable(found, Rows(content.file, images.names, "interaction", count))
    human, object_box = (
        check_boxes(table.rows, options.corners(table.boxes(key)), key, origin=options.origin_or(0))
        for key in (_HUMAN_BOX, _OBJECT_BOX)
    )
    box_scores = _score(table, _HUMAN_SCORE), _score(table, _THING_SCORE)
    action = _score(table, _VERB_SCORES)
    score = _combined(action, _score(table, _OBJECT_SCORE), box_scores, options.vocabulary)
    return from_repeated(
        options.vocabulary,
        names=names_array(content.file, images.names),
        image=table.rows.image,
        human=human,
        object_box=object_box,
        category=table.integers(_OBJECT),
        verb=table.integers(_VERBS),
        score=check_scores(table.rows, score, "the score of all four"),
        action_score=action,
        box_scores=box_scores,
        source=content.file,
        notes=images.notes + flat.notes,
    )


def _named(image: Any) -> Any:
    """Convert the number of an image to a name; anything that is not one is refused later."""
    number = image.get(_NUMBER) if isinstance(image, dict) else None
    if type(number) is int and 0 <= number <= EXACT:
        return image | {_NUMBER: str(number)}
    return image


def _score(table: RecordTable, key: str) -> FloatArray:
    return check_scores(table.rows, table.numbers(key), key)


def _combined(
    verb: FloatArray,
    thing: FloatArray,
    boxes: tuple[FloatArray, FloatArray],
    vocabulary: Vocabulary,
) -> FloatArray:
    """Combine the four scores of a triplet as the evaluator of the data set does."""
    with np.errstate(all="ignore"):
        mean, both = (verb + thing) / 2, boxes[0] * boxes[1]
        if vocabulary.name == "hico-det":
            mean, both = (1 / (1 + np.exp(-values)) for values in (mean, both))
        return np.asarray(mean * both**_BOX_POWER)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Flat:
    """The lists of all images, as one dict per interaction.

    Parameters
    ----------
    images : Images
        As in the file.
    objects, verbs : mapping of int
        Place of each name in the vocabulary.
    vocabulary : Vocabulary
        The data set.
    read : list of int
        Image of each interaction that was read so far.
    unknown : list of str
        The interactions that the data set does not have.
    incomplete : list of int
        Image of each pair without a box or a verb.
    """

    images: Images
    objects: Mapping[str, int]
    verbs: Mapping[str, int]
    vocabulary: Vocabulary
    read: list[int] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, images: Images, vocabulary: Vocabulary) -> _Flat:
        objects, verbs = (
            {_plain(name): place for place, name in enumerate(names)}
            for names in (vocabulary.objects, vocabulary.verbs)
        )
        return cls(images=images, objects=objects, verbs=verbs, vocabulary=vocabulary)

    def interactions(self, place: int) -> Iterator[dict[str, Any]]:
        """Yield the interactions of an image that can be read."""
        image = self.images.rows[place]
        # An image that could not be opened has no boxes, and not all of the lists.
        if _BOXES in image and _is_list(image[_BOXES]) and not image[_BOXES]:
            return
        columns = [self._column(place, key) for key in _COLUMNS]
        verbs = columns[_COLUMNS.index(_VERBS)]
        # SWIG-HOI's evaluator takes a list that ends early as pairs without a verb.
        if all(isinstance(verb, str) for verb in verbs):
            verbs += [[]] * (len(columns[0]) - len(verbs))
        lengths = {key: len(part) for key, part in zip(_COLUMNS, columns, strict=True)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise self._error(place, "", f"lengths do not fit: {told}; give one of each per pair")
        for number, (thing, sure, verbs, scores, boxes) in enumerate(zip(*columns, strict=True)):
            row = self._boxes(place, number, boxes)
            if row is None or verbs == []:
                self.incomplete.append(place)
                continue
            row[_OBJECT_SCORE] = sure
            for verb, score in self._verbs(place, number, verbs, scores):
                labels = self._labels(place, number, thing, verb)
                if labels is not None:
                    yield row | labels | {_VERB_SCORES: score}

    def check_names(self) -> None:
        """Refuse a file for another data set.

        Raises
        ------
        InputError
            If no name is one of the data set.
        """
        if self.unknown and not self.read:
            raise InputError(
                f"{self.images.file}: no interaction is one of {self.vocabulary.name}: "
                f"{self._examples()}; give the data set with --dataset"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Note what was left out."""
        file, notes = self.images.file, []
        if self.incomplete:
            lacking = f"{len(self.incomplete)} pairs lack a box or a verb"
            notes.append(f"{file}: {lacking}; they are left out")
        if self.unknown:
            notes.append(
                f"{file}: {len(self.unknown)} of {len(self.unknown) + len(self.read)} "
                f"interactions have names that {self.vocabulary.name} does not have; they are "
                f"left out: {self._examples()}"
            )
        return tuple(notes)

    def _examples(self) -> str:
        return some_of(list(dict.fromkeys(self.unknown)), 3)

    def _column(self, place: int, key: str) -> list[Any]:
        image = self.images.rows[place]
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
                raise self._error(
                    place,
                    f"{_BOXES}[{number}].{key}",
                    f"is {shown(box)}; give five numbers, the box and its score, or none",
                )
            if not box:
                return None
            row |= {key: box[:-1], score: box[-1]}
        return row

    def _verbs(self, place: int, number: int, verbs: Any, scores: Any) -> Iterator[tuple[Any, Any]]:
        """Yield each verb of a pair, with its score."""
        if isinstance(verbs, str):
            yield verbs, scores
            return
        where = f"{_VERBS}[{number}]"
        if not (_is_list(verbs) and _is_list(scores)):
            problem = f"are {shown(verbs)}, with scores {shown(scores)}; give two lists"
            raise self._error(place, where, problem)
        if len(scores) != len(verbs):
            problem = f"has {len(verbs)} verbs, but {len(scores)} scores in {_VERB_SCORES!r}"
            raise self._error(place, where, problem)
        yield from zip(verbs, scores, strict=True)

    def _labels(self, place: int, number: int, thing: Any, verb: Any) -> dict[str, int] | None:
        """Return the numbers of an object and a verb; None if the data set lacks one."""
        for key, name in ((_OBJECT, thing), (_VERBS, verb)):
            if not isinstance(name, str):
                problem = f"{shown(name)} is not a word; give a string"
                raise self._error(place, f"{key}[{number}]", problem)
        label, action = self.objects.get(_plain(thing)), self.verbs.get(_plain(verb))
        if label is None or action is None:
            self.unknown.append(f"{verb} {thing}")
            return None
        self.read.append(place)
        return {_OBJECT: label, _VERBS: action}

    def _error(self, place: int, where: str, problem: str) -> InputError:
        where = f": {where}" if where else ""
        image = image_name(self.images.names, place)
        return InputError(f"{self.images.file}: {image}{where}: {problem}")


def _plain(name: str) -> str:
    return name.strip().replace("_", " ")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


FORMAT = Format(
    name="agent-hoi",
    title="named interactions with boxes and scores (AgentHOI)",
    kinds=("predictions",),
    # Not "Box": it is nearer to many a misspelt "boxes".
    keys=(_NAME, *_COLUMNS[:-1]),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)

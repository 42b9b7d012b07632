"""The answers of HOI-R1 and other language models: interactions in words, with boxes, no scores.

A dict, in JSON: ``gt_paths``, one ``{file_name}`` per image, mostly without ending; ``preds``, for
each image a list of ``{human, object, object class, verb class}``, or null for an answer that was
not understood; ``outputs``, the replies themselves, which merged files lack. Boxes are xyxy in
pixels counted from zero; ``verb class`` is a list of verbs, or one string with commas. Names have
spaces or underscores.

A model writes what it likes: what of an answer cannot be read is counted (:data:`UNREAD`) and not
refused, as in the code base. That also has an empty list where a reply is no JSON, which the reply
tells from an image in which nothing was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.data.scenes import UNREAD, Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_amount, check_boxes, check_names, shown
from diaghoi.formats.content import IMAGES_OF_ANSWERS, Content, begins
from diaghoi.formats.flat import from_repeated

_ANSWERS, _REPLIES, _NAME = "preds", "outputs", "file_name"
_HUMAN, _OBJECT, _CATEGORY, _VERBS = "human", "object", "object class", "verb class"
# Around names in lists that became strings.
_MARKS = " \t\n'\"[]"
_NOTHING = re.compile(r"\[\s*\]")
# Beyond it nothing is a coordinate.
_FAR = 1e9
# Columns of what is read: image, number of the triplet in it, category, verb, and two boxes.
_HUMAN_AT, _THING_AT, _COLUMNS = 4, 8, 12
_ANSWER, _TRIPLETS, _NAMES = range(len(UNREAD))


def _recognise(content: Content) -> Kind | None:
    value = content.value
    if not content.plain or not isinstance(value, dict):
        return None
    return "predictions" if {_ANSWERS, IMAGES_OF_ANSWERS} <= value.keys() else None


def _dataset(content: Content) -> str | None:
    first = (_list(content, IMAGES_OF_ANSWERS) or [None])[0]
    name = first.get(_NAME) if isinstance(first, dict) else None
    return "hico-det" if begins(name, "HICO_") else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    names = check_names(content.file, list(_names(content)), f"{IMAGES_OF_ANSWERS}.{_NAME}")
    answers = _list(content, _ANSWERS)
    replies = _list(content, _REPLIES) if _REPLIES in content.value else [None] * len(answers)
    for key, part in ((_ANSWERS, answers), (_REPLIES, replies)):
        if len(part) != len(names):
            raise InputError(
                f"{content.file}: {key}: {len(part)} answers for {len(names)} images in "
                f"{IMAGES_OF_ANSWERS!r}; give one for each"
            )
    found = _Found(options.vocabulary, len(names))
    for place, (answer, reply) in enumerate(zip(answers, replies, strict=True)):
        found.add(place, answer, reply)
    check_amount(content.file, _ANSWERS, len(found.rows), content.size)
    table = np.array(found.rows, dtype=np.float64).reshape(-1, _COLUMNS)
    human, thing = (
        options.corners(table[:, first : first + 4]) for first in (_HUMAN_AT, _THING_AT)
    )
    right = (human[:, 2:] >= human[:, :2]).all(axis=1) & (thing[:, 2:] >= thing[:, :2]).all(axis=1)
    # Once for all verbs of a triplet.
    turned = np.unique(table[~right, :2], axis=0)[:, 0].astype(np.int64)
    found.unread[:, _TRIPLETS] += np.bincount(turned, minlength=len(names))
    human, thing = human[right], thing[right]
    image, _, category, verb = table[right, :_HUMAN_AT].T.astype(np.int64)
    rows = Rows(content.file, names.tolist(), _ANSWERS, np.bincount(image, minlength=len(names)))
    origin = options.origin_or(0)
    return from_repeated(
        options.vocabulary,
        names=names,
        image=rows.image,
        human=check_boxes(rows, human, _HUMAN, origin=origin),
        object_box=check_boxes(rows, thing, _OBJECT, origin=origin),
        category=category,
        verb=verb,
        score=np.ones(len(rows)),
        unread=found.unread,
        source=content.file,
    )


def _list(content: Content, key: str) -> list[Any]:
    value = content.value[key]
    if not isinstance(value, list):
        raise InputError(
            f"{content.file}: {key}: is {shown(value)}; give a list with one per image"
        )
    return value


def _names(content: Content) -> Iterator[Any]:
    for number, image in enumerate(_list(content, IMAGES_OF_ANSWERS)):
        if not isinstance(image, dict) or _NAME not in image:
            raise InputError(
                f"{content.file}: {IMAGES_OF_ANSWERS}[{number}]: is {shown(image)}; give a dict "
                f"with {_NAME!r}"
            )
        yield image[_NAME]


class _Found:
    """What was read so far.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    images : int
        Number of images.

    Attributes
    ----------
    rows : list of list
        Image, number in it, category, verb and both boxes of each verb of a triplet.
    unread : (images, 3) int array
        What could not be read.
    """

    def __init__(self, vocabulary: Vocabulary, images: int) -> None:
        self.rows: list[list[float]] = []
        self.unread: IntArray = np.zeros((images, len(UNREAD)), dtype=np.int64)
        self._objects, self._verbs = (
            {_plain(name): place for place, name in enumerate(names)}
            for names in (vocabulary.objects, vocabulary.verbs)
        )

    def add(self, image: int, answer: Any, reply: Any) -> None:
        """Read the answer to an image."""
        understood = isinstance(answer, list) and (answer or _saw_nothing(reply))
        if not understood:
            self.unread[image, _ANSWER] = 1
            return
        for number, triplet in enumerate(answer):
            human, thing = (_box(triplet, key) for key in (_HUMAN, _OBJECT))
            names, verbs = (_words(triplet, key) for key in (_CATEGORY, _VERBS))
            if not (human and thing and names and verbs):
                self.unread[image, _TRIPLETS] += 1
                continue
            category = self._objects.get(names[0])
            for verb in map(self._verbs.get, verbs):
                if category is None or verb is None:
                    self.unread[image, _NAMES] += 1
                else:
                    self.rows.append([image, number, category, verb, *human, *thing])


def _box(triplet: Any, key: str) -> list[float] | None:
    box = triplet.get(key) if isinstance(triplet, dict) else None
    if not isinstance(box, list) or len(box) != 4:
        return None
    numbers = all(type(edge) in (int, float) and abs(edge) < _FAR for edge in box)
    return [float(edge) for edge in box] if numbers else None


def _saw_nothing(reply: Any) -> bool:
    """Whether an empty list is what a model answered; without its reply it is taken to be."""
    return not isinstance(reply, str) or ("{" not in reply and bool(_NOTHING.search(reply)))


def _words(triplet: Any, key: str) -> list[str]:
    """List the names under a key: a list, or a text with commas between them."""
    value = triplet.get(key) if isinstance(triplet, dict) else None
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return []
    return [name for name in map(_plain, parts) if name]


def _plain(name: str) -> str:
    return name.replace("_", " ").strip(_MARKS).lower()


FORMAT = Format(
    name="hoi-r1",
    title="answers of a language model, without scores (HOI-R1)",
    kinds=("predictions",),
    keys=(_ANSWERS, IMAGES_OF_ANSWERS),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)

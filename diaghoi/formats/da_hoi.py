"""The results of DA-HOI, a language model that scores the verbs of detected pairs.

A list of one dict per image, saved by ``torch.save``: ``img_id`` (the number at the end of the file
name), and lists with one entry per pair: ``pred_object_names``; ``bboxes``, the human box and the
object box as eight fractions of the width and height of the image (xyxy); ``max_scores``, of the
person, the object and the interaction of both; ``merge_potential_list``, phrases such as ``riding a
bicycle``, one for each class of the object; and ``merge_pred_logits``, two or more (1, phrases)
arrays. The score of a verb is the mean of the first and the last array; that of a triplet is its
product with ``max_scores``, each to the power of 1.3.

The code base keeps no sizes of images. They are read from ``width`` and ``height`` of each dict,
the keys of its annotations; without them boxes stay fractions, until they are joined to annotations
that hold sizes (:mod:`diaghoi.data.pixels`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays.types import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches
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
    whole_number,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.records import Images, RecordTable

_NAMES, _BOXES, _SCORES = "pred_object_names", "bboxes", "max_scores"
_PHRASES, _LOGITS = "merge_potential_list", "merge_pred_logits"
_POWER = 1.3
_LENGTHS = "width", "height"


def _recognise(content: Content) -> Kind | None:
    known = content.plain and {_PHRASES, _LOGITS} <= content.first.keys()
    return "predictions" if known else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    named = replace(content, value=list(map(_named, content.value)))
    images = Images.of(named, named.value, "img_id")
    tables = {key: images.table(key) for key in (_BOXES, _NAMES, _SCORES, _PHRASES, _LOGITS)}
    rows = tables[_BOXES].rows
    _check_lengths(images, tables)
    sizes = _sizes(images)
    xyxy = tables[_BOXES].vectors(None, 8, "is not eight numbers: both boxes")
    if len(xyxy) and not (np.abs(xyxy - 0.5) <= 0.5).all():
        bad = int(np.argmin((np.abs(xyxy - 0.5) <= 0.5).all(axis=1)))
        raise rows.error(bad, "", f"{xyxy[bad].tolist()} are not fractions of the image, 0 to 1")
    corners = xyxy if sizes is None else xyxy * np.tile(sizes, 4)[rows.image]
    human, object_box = (
        check_boxes(rows, part, "", origin=0) for part in (corners[:, :4], corners[:, 4:])
    )
    pairs = tables[_SCORES].vectors(None, 3, "is not three numbers: human, object, interaction")
    verbs = _verbs(content, tables, options.vocabulary)
    # The code base raises the score of a verb in its own precision, and keeps float32.
    with np.errstate(all="ignore"):
        powers = pairs[verbs.pair] ** _POWER
        score = verbs.raised * powers[:, 1] * powers[:, 0] * powers[:, 2]
        score = score.astype(np.float32).astype(np.float64)
    scored = Rows(content.file, images.names, _LOGITS, verbs.by_image(rows))
    return from_repeated(
        options.vocabulary,
        names=names_array(content.file, images.names),
        sizes=sizes,
        image=rows.image[verbs.pair],
        human=human[verbs.pair],
        object_box=object_box[verbs.pair],
        hoi=verbs.hoi,
        score=check_scores(scored, score, ""),
        action_score=verbs.score,
        source=content.file,
        notes=images.notes,
    )


def _named(image: Any) -> Any:
    """Make the number of an image its name."""
    name = image.get("img_id") if isinstance(image, dict) else None
    return image | {"img_id": str(name)} if type(name) is int and 0 <= name <= EXACT else image


def _check_lengths(images: Images, tables: dict[str, RecordTable]) -> None:
    expected = tables[_BOXES].rows.count
    for key, table in tables.items():
        if not np.array_equal(table.rows.count, expected):
            bad = int(np.argmax(table.rows.count != expected))
            raise InputError(
                f"{images.file}: {image_name(images.names, bad)}: {key}: has "
                f"{table.rows.count[bad]} entries, and {_BOXES!r} has {expected[bad]}; give one "
                "per pair"
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


class _Verbs(NamedTuple):
    """The scored verbs of all pairs: the pair and HOI class of each, its score, and that raised."""

    pair: IntArray
    hoi: IntArray
    score: FloatArray
    raised: FloatArray

    def by_image(self, pairs: Rows) -> IntArray:
        """(N,) number of verbs of each image."""
        return np.bincount(pairs.image[self.pair], minlength=len(pairs.count))


def _verbs(content: Content, tables: dict[str, RecordTable], vocabulary: Vocabulary) -> _Verbs:
    known = _phrases(vocabulary)
    hoi: list[int] = []
    count, scores, raised = [], [np.zeros(0)], [np.zeros(0)]
    parts = zip(tables[_NAMES], tables[_PHRASES], tables[_LOGITS], strict=True)
    for row, (name, phrases, logits) in enumerate(parts):
        if not isinstance(phrases, list | tuple):
            problem = f"is {shown(phrases)}; give a list"
            raise tables[_PHRASES].rows.error(row, "", problem)
        check_amount(content.file, _PHRASES, len(hoi) + len(phrases), content.size)
        for phrase in phrases:
            place = known.get(_spaced(phrase), -1)
            if place < 0 or _spaced(name) != _spaced(_object(vocabulary, place)):
                problem = f"{shown(phrase)} does not name a class of {shown(name)}"
                hint = close_matches(_spaced(phrase), known)
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
    return _Verbs(
        pair=np.repeat(np.arange(len(count)), np.array(count, dtype=np.int64)),
        hoi=np.array(hoi, dtype=np.int64),
        score=np.concatenate(scores),
        raised=np.concatenate(raised),
    )


def _mean(logits: Any, amount: int) -> Array | None:
    """Mean of the first and the last array, None for anything else."""
    if not isinstance(logits, list | tuple) or not logits:
        return None
    first, last = logits[0], logits[-1]
    for array in (first, last):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            return None
        if array.shape != (1, amount):
            return None
    with np.errstate(all="ignore"):
        return np.asarray((first[0] + last[0]) / 2)


def _phrases(vocabulary: Vocabulary) -> dict[str, int]:
    """HOI class of each phrase, with every way to add ``ing`` to a verb."""
    found = {}
    for place, verb in enumerate(vocabulary.class_verb.tolist()):
        first, _, rest = _spaced(vocabulary.verbs[verb]).partition(" ")
        forms = [f"{first}ing", f"{first}{first[-1]}ing"]
        if first.endswith("e"):
            forms.append(f"{first[:-1]}ing")
        if first.endswith("ie"):
            forms.append(f"{first[:-2]}ying")
        for form in forms:
            words = f"{form} {rest}".strip()
            found[f"{words} a {_spaced(_object(vocabulary, place))}"] = place
    return found


def _object(vocabulary: Vocabulary, hoi: int) -> str:
    return str(vocabulary.objects[vocabulary.class_object[hoi]])


def _spaced(name: Any) -> str:
    return name.replace("_", " ") if isinstance(name, str) else ""


FORMAT = Format(
    name="da-hoi",
    title="phrases scored for pairs (DA-HOI)",
    kinds=("predictions",),
    keys=("img_id", _NAMES, _BOXES, _SCORES, _PHRASES, _LOGITS),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det",
    single=True,
)

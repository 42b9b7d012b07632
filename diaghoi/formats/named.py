"""Read files that name and score objects and verbs: HoiTransformer, AgentHOI, DA-HOI.

Each file is a list with one dict per image, in a pickle or JSON. Names have spaces or underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det, hoi_a
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_amount, is_list, shown
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.records import Images, RecordTable


def places(names: Iterable[str]) -> dict[str, int]:
    """Return the index of each name; the names are written with spaces."""
    return {spaced(name): place for place, name in enumerate(names)}


def spaced(name: Any) -> str:
    """Write a name with spaces; return an empty name if the value is not a string."""
    return name.strip().replace("_", " ") if isinstance(name, str) else ""


class HoiTransformer(Format):
    """Read the results of HoiTransformer and AS-Net: named triplets with three scores.

    The keys, in a pickle, in JSON or in one JSON object per line, are ``image_id`` (the file name)
    and ``hoi_list``, a list of ``{h_box, o_box, h_cls, o_cls, i_cls, o_name, i_name}``. The three
    ``*_cls`` are scores: ``i_cls`` is the verb score, and the product of all three is the triplet
    score. HOI-A is recognised by its object names; boxes are zero-based xyxy. Other keys are not
    needed. Each triplet is a separate pair.
    """

    name = "hoi-transformer"
    title = "named triplets with three scores (HoiTransformer, AS-Net)"
    kinds = ("predictions",)
    keys = ("image_id", "hoi_list")
    marks = ("hoi_list",)

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
        of_human, of_object, of_verb = (table.scores(key) for key in ("h_cls", "o_cls", "i_cls"))
        return Flat(table.rows, options, notes=images.notes).scenes(
            {key: table.boxes(key) for key in ("h_box", "o_box")},
            category=positions(table, "o_name", vocabulary.objects),
            verb=positions(table, "i_name", vocabulary.verbs),
            score=of_human * of_object * of_verb,
            action_score=of_verb,
            merged=False,
        )


def positions(table: RecordTable, key: str, known: Sequence[str]) -> IntArray:
    """Return the vocabulary index of each name in a column.

    Raises
    ------
    InputError
        If a name is not in the vocabulary.
    """
    position = places(known)
    names = [row.get(key) if isinstance(row, dict) else row for row in table]
    numbers = np.array([position.get(spaced(name), -1) for name in names], dtype=np.int64)

    def unknown(bad: int) -> str:
        return f"unknown name {shown(names[bad])}{close_matches(str(names[bad]), known)}"

    table.rows.refuse(numbers < 0, key, unknown)
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
    """Read the results of AgentHOI, which combines a language model and a grounding model.

    The keys are ``filename`` and, with one entry per pair, ``Object Category``, ``Object Logits``,
    ``Interaction Class`` and ``IC Logits`` (lists of each pair's verb names and their scores), and
    ``Box``: ``{humanBox, objBox}``, each with five numbers, zero-based xyxy and the score. For
    SWIG-HOI, each pair has one verb and one score instead of lists, and ``img_id`` is the image
    number. The logits are probabilities: each logit is the lowest probability among the tokens of a
    word.

    Scores follow AgentHOI's evaluator with default options. The triplet score is ``sigmoid(m)
    sigmoid(b)^0.3``, or ``m b^0.3`` on SWIG-HOI, where ``m`` is the mean of the object and verb
    scores and ``b`` the product of the box scores. The action score is the verb score.

    The evaluator also gives lower scores to all other classes of each pair's object and, on
    HICO-DET, removes overlapping boxes. This reader adds no scores and removes no boxes: it reads
    only what the file lists. As in the evaluator, pairs without a box or verb and names that are
    not in the data set are omitted.
    """

    name = "agent-hoi"
    title = "named interactions with boxes and scores (AgentHOI)"
    kinds = ("predictions",)
    keys = (_FILE, *_COLUMNS)
    marks = (_FILE, _OBJECT, _VERBS, _BOXES)

    def dataset(self, content: Content) -> str | None:
        return content.benchmark or ("swig-hoi" if _NUMBER in content.first else None)

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        key = _NUMBER if _NUMBER in content.first else _FILE
        images = Images.of(content, content.value, key)
        rows = list(map(_with_all_lists, images.rows))
        pairs = replace(images, rows=rows).columns(_COLUMNS, "pair")
        table, notes = _triplets(pairs, options.vocabulary, content.size)
        of_human, of_thing, of_verb, of_object = (
            table.scores(key) for key in (_HUMAN_SCORE, _THING_SCORE, _VERB_SCORES, _OBJECT_SCORE)
        )
        with np.errstate(all="ignore"):
            mean, both = (of_verb + of_object) / 2, of_human * of_thing
            if options.vocabulary.name == "hico-det":
                mean, both = (1 / (1 + np.exp(-values)) for values in (mean, both))
            score = np.asarray(mean * both**_BOX_POWER)
        return Flat(table.rows, options, notes=images.notes + notes).scenes(
            {key: table.boxes(key) for key in (_HUMAN_BOX, _OBJECT_BOX)},
            category=table.integers(_OBJECT),
            verb=table.integers(_VERBS),
            score=score,
            action_score=of_verb,
            box_scores=(of_human, of_thing),
        )


def _with_all_lists(image: dict[str, Any]) -> dict[str, Any]:
    """Complete the lists of an image that has no boxes, or whose last pairs have no verbs."""
    boxes: Any = image.get(_BOXES)
    things: Any = image.get(_OBJECT)
    verbs: Any = image.get(_VERBS)
    # An image that could not be opened has no boxes, and some lists are missing.
    if is_list(boxes) and not len(boxes):
        return {key: [] for key in _COLUMNS}
    # SWIG-HOI's evaluator treats missing entries at the end of a list as pairs without a verb.
    if is_list(things) and is_list(verbs) and all(isinstance(verb, str) for verb in verbs):
        return image | {_VERBS: [*verbs, *[[]] * (len(things) - len(verbs))]}
    return image


def _triplets(
    pairs: RecordTable, vocabulary: Vocabulary, size: int
) -> tuple[RecordTable, tuple[str, ...]]:
    """Return the verbs of all pairs as triplets, with notes on omissions."""
    rows, objects, verbs = pairs.rows, places(vocabulary.objects), places(vocabulary.verbs)
    triplets: list[dict[str, Any]] = []
    pair_of: list[int] = []
    unknown: list[str] = []
    incomplete = 0
    for number, pair in enumerate(pairs):
        row = _boxes(rows, number, pair[_BOXES])
        names, scores = pair[_VERBS], pair[_VERB_SCORES]
        if row is None or names == []:
            incomplete += 1
            continue
        if isinstance(names, str):
            names, scores = [names], [scores]
        lists = {_VERBS: names, _VERB_SCORES: scores}
        if not all(map(is_list, lists.values())) or len(names) != len(scores):
            problem = f"are {shown(names)}, with scores {shown(scores)}; give lists of equal length"
            raise rows.error(number, _VERBS, problem)
        check_amount(rows.file, "interaction", len(triplets) + len(names), size)
        for verb, score in zip(names, scores, strict=True):
            for key, name in ((_OBJECT, pair[_OBJECT]), (_VERBS, verb)):
                if not isinstance(name, str):
                    raise rows.error(number, key, f"{shown(name)} is not a word; give a string")
            label, action = objects.get(spaced(pair[_OBJECT])), verbs.get(spaced(verb))
            if label is None or action is None:
                unknown.append(f"{verb} {pair[_OBJECT]}")
                continue
            numbers = {_OBJECT: label, _VERBS: action, _VERB_SCORES: score}
            triplets.append(row | numbers | {_OBJECT_SCORE: pair[_OBJECT_SCORE]})
            pair_of.append(number)
    examples, notes = some_of(list(dict.fromkeys(unknown)), 3), []
    if unknown and not triplets:
        raise InputError(
            f"{rows.file}: none of the interactions belongs to {vocabulary.name}: {examples}; "
            "give the data "
            "set with --dataset"
        )
    if incomplete:
        notes.append(f"{rows.file}: {incomplete} pairs lack a box or a verb and are omitted")
    if unknown:
        notes.append(
            f"{rows.file}: {len(unknown)} of {len(unknown) + len(triplets)} interactions have "
            f"names that {vocabulary.name} lacks; they are omitted: {examples}"
        )
    return RecordTable([triplets], rows.of_rows(pair_of, "interaction")), tuple(notes)


def _boxes(rows: Rows, number: int, boxes: Any) -> dict[str, Any] | None:
    """Return both boxes of a pair and their scores; None if a box is missing."""
    row: dict[str, Any] = {}
    for key, score in ((_HUMAN_BOX, _HUMAN_SCORE), (_OBJECT_BOX, _THING_SCORE)):
        box: Any = boxes.get(key) if isinstance(boxes, dict) else None
        if not is_list(box) or len(box) not in (0, _FIVE):
            problem = (
                f"{key}: is {shown(box)}; give five numbers (the box and its score) or an "
                "empty list"
            )
            raise rows.error(number, _BOXES, problem)
        if not len(box):
            return None
        row |= {key: box[:-1], score: box[-1]}
    return row


_NAMES, _PAIR_BOXES, _SCORES = "pred_object_names", "bboxes", "max_scores"
_PHRASES, _LOGITS = "merge_potential_list", "merge_pred_logits"
_POWER = 1.3
_LENGTHS = "width", "height"


class DaHoi(Format):
    """Read the results of DA-HOI, a language model that scores verbs for detected pairs.

    The keys, in a file of ``torch.save``, are ``img_id`` (the number at the end of the file name)
    and lists with one entry per pair: ``pred_object_names``; ``bboxes``, the human and object boxes
    as eight fractions of the image width and height (xyxy); ``max_scores`` for the person, the
    object and their interaction; ``merge_potential_list``, phrases such as ``riding a bicycle``,
    one for each HOI class of the object; and ``merge_pred_logits``, two or more (1, phrases)
    arrays. The verb score is the mean of the first and last array. The triplet score is the product
    of the verb score and ``max_scores``, each raised to the power of 1.3.

    DA-HOI's code does not store image sizes. This reader takes image sizes from ``width`` and
    ``height`` of each dict, the names that DA-HOI's annotations use. Without sizes, boxes remain
    fractions until they are joined to annotations with sizes (:mod:`diaghoi.data.boxes`).
    """

    name = "da-hoi"
    title = "phrases scored for pairs (DA-HOI)"
    kinds = ("predictions",)
    keys = (_NUMBER, _NAMES, _PAIR_BOXES, _SCORES, _PHRASES, _LOGITS)
    marks = (_PHRASES, _LOGITS)
    only = "hico-det"

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images, words = Images.of(content, content.value, _NUMBER), options.vocabulary
        pairs = images.columns(self.keys[1:], "pair")
        sizes = _sizes(images)
        xyxy = pairs.vectors(_PAIR_BOXES, 8, "is not eight numbers, four for each box")
        problem = "are not fractions of the image, 0 to 1"
        outside = ~(np.abs(xyxy - 0.5) <= 0.5)
        pairs.rows.refuse(outside, _PAIR_BOXES, lambda bad: f"{xyxy[bad].tolist()} {problem}")
        if sizes is not None:
            xyxy = xyxy * np.tile(sizes, 4)[pairs.rows.image]
        of_pairs = pairs.vectors(_SCORES, 3, "is not three numbers: human, object, interaction")
        pair, hoi, of_verb, raised = _scored_phrases(content, pairs, words)
        # DA-HOI's code computes the power of the verb score in the score's own precision, and
        # stores float32.
        with np.errstate(all="ignore"):
            powers = of_pairs[pair] ** _POWER
            score = raised * powers[:, 1] * powers[:, 0] * powers[:, 2]
            score = score.astype(np.float32).astype(np.float64)
        fractions = Options(vocabulary=words, boxes="xyxy", origin=0)
        return Flat(pairs.rows.of_rows(pair, _LOGITS), fractions, notes=images.notes).scenes(
            {"human": xyxy[pair, :4], "object": xyxy[pair, 4:]},
            sizes=sizes,
            hoi=hoi,
            score=score,
            action_score=of_verb,
        )


def _sizes(images: Images) -> IntArray | None:
    """Return the (N, 2) width and height of each image; None if the file has no sizes."""
    table = images.single("size", images.rows)
    if not any(map(table.has, _LENGTHS)):
        return None
    return np.stack([table.integers(key, 1) for key in _LENGTHS], axis=1)


def _scored_phrases(
    content: Content, pairs: RecordTable, vocabulary: Vocabulary
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return each phrase's pair, HOI class, verb score, and verb score to the power of 1.3."""
    class_of_phrase, objects = _phrases(vocabulary), list(map(spaced, vocabulary.objects))
    hoi: list[int] = []
    count, scores, raised = [], [np.zeros(0)], [np.zeros(0)]
    for row, values in enumerate(pairs):
        name, phrases, logits = values[_NAMES], values[_PHRASES], values[_LOGITS]
        if not is_list(phrases):
            raise pairs.rows.error(row, _PHRASES, f"is {shown(phrases)}; give a list")
        check_amount(content.file, _PHRASES, len(hoi) + len(phrases), content.size)
        for phrase in phrases:
            place = class_of_phrase.get(spaced(phrase), -1)
            if place < 0 or spaced(name) != objects[vocabulary.class_object[place]]:
                hint = close_matches(spaced(phrase), class_of_phrase)
                problem = f"{shown(phrase)} does not name a class of {shown(name)}{hint}"
                raise pairs.rows.error(row, _PHRASES, problem)
            hoi.append(place)
        shape = 1, len(phrases)
        arrays = list(logits) if is_list(logits) else []
        ends = [array for array in arrays[:1] + arrays[-1:] if isinstance(array, np.ndarray)]
        if len(ends) < 2 or any(end.dtype.kind != "f" or end.shape != shape for end in ends):
            problem = f"{shown(logits)} are not arrays of shape {shape}, one per phrase"
            raise pairs.rows.error(row, _LOGITS, problem)
        count.append(len(phrases))
        with np.errstate(all="ignore"):
            mean = np.asarray((ends[0][0] + ends[1][0]) / 2)
            raised.append((mean**_POWER).astype(np.float64))
        scores.append(mean.astype(np.float64))
    pair = np.repeat(np.arange(len(count)), np.array(count, dtype=np.int64))
    classes = np.array(hoi, dtype=np.int64)
    return pair, classes, np.concatenate(scores), np.concatenate(raised)


def _phrases(vocabulary: Vocabulary) -> dict[str, int]:
    """Map each phrase to its HOI class, with every spelling of a verb's ``ing`` form."""
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

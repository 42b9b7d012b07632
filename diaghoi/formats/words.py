"""Read files with free words: answers of language models, open vocabularies, CrossHOI detectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.scenes import UNREAD, Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_amount, check_lengths, check_names, shown
from diaghoi.formats.content import IMAGES_OF_ANSWERS, Content
from diaghoi.formats.flat import Flat
from diaghoi.formats.records import Images, RecordTable, lists_of, missing

if TYPE_CHECKING:
    from diaghoi.language.lexicon import Lexicon

_ANSWERS, _REPLIES, _NAME = "preds", "outputs", "file_name"
_HUMAN, _OBJECT, _CATEGORY, _VERBS = "human", "object", "object class", "verb class"
# Characters around names in lists that were converted to strings.
_MARKS = " \t\n'\"[]"
_NOTHING_SEEN = re.compile(r"\[\s*\]")
# Limit above which a number is not a coordinate.
_FAR = 1e9
# Columns of the rows that ``_values`` returns: image, index of the triplet within the image,
# category, verb, and two boxes.
_HUMAN_AT, _THING_AT, _COLUMNS = 4, 8, 12
_ANSWER, _TRIPLETS, _NAMES = range(len(UNREAD))


class HoiR1(Format):
    """Read the answers of HOI-R1 and other language models: words and boxes, without scores.

    A dict in JSON: ``gt_paths``, one ``{file_name}`` per image, usually without extension;
    ``preds``, one list of ``{human, object, object class, verb class}`` per image, or null if the
    answer was not understood; ``outputs``, the original replies, which merged files lack. Boxes are
    zero-based xyxy in pixels; ``verb class`` is a list of verbs, or a string with commas. Names
    have spaces or underscores.

    As in HOI-R1's code, unreadable parts of an answer are counted (:data:`UNREAD`), not rejected,
    because models write freely. HOI-R1's code also writes an empty list for a reply that is not
    JSON. Only the original reply shows which of the two happened: it is not JSON, or the model saw
    nothing in the image.
    """

    name = "hoi-r1"
    title = "answers of a language model, without scores (HOI-R1)"
    kinds = ("predictions",)
    keys = (_ANSWERS, IMAGES_OF_ANSWERS)

    def recognise(self, content: Content) -> Kind | None:
        value = content.value
        if not content.plain or not isinstance(value, dict):
            return None
        return "predictions" if {_ANSWERS, IMAGES_OF_ANSWERS} <= value.keys() else None

    def dataset(self, content: Content) -> str | None:
        images = replace(content, value=content.value[IMAGES_OF_ANSWERS])
        return images.benchmark

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        file, value = content.file, content.value
        keys = _ANSWERS, IMAGES_OF_ANSWERS, *({_REPLIES} & value.keys())
        lists = lists_of(file, value, keys)
        check_lengths(file, lists, "image")
        listed = Images.of(content, lists[IMAGES_OF_ANSWERS], _NAME).names
        names = check_names(file, listed, f"{IMAGES_OF_ANSWERS}.{_NAME}")
        answers = lists[_ANSWERS]
        replies = lists.get(_REPLIES, [None] * len(answers))
        unread = np.zeros((len(names), len(UNREAD)), dtype=np.int64)
        values = _values(answers, replies, options.vocabulary, unread)
        check_amount(file, _ANSWERS, len(values), content.size)
        table = np.array(values, dtype=np.float64).reshape(-1, _COLUMNS)
        right = np.ones(len(table), dtype=bool)
        for at, _ in _SIDES:
            corners = options.corners(table[:, at : at + 4])
            right &= np.asarray((corners[:, 2:] >= corners[:, :2]).all(axis=1))
        # Count each triplet only once, whatever its number of verbs.
        turned = np.unique(table[~right, :2], axis=0)[:, 0].astype(np.int64)
        unread[:, _TRIPLETS] += np.bincount(turned, minlength=len(names))
        image, _, category, verb = table[right, :_HUMAN_AT].T.astype(np.int64)
        rows = Rows(file, names.tolist(), _ANSWERS, np.bincount(image, minlength=len(names)))
        return Flat(rows, options).scenes(
            {key: table[right, at : at + 4] for at, key in _SIDES},
            category=category,
            verb=verb,
            score=np.ones(len(rows)),
            unread=unread,
        )


_SIDES = ((_HUMAN_AT, _HUMAN), (_THING_AT, _OBJECT))


def _values(
    answers: Sequence[Any], replies: Sequence[Any], vocabulary: Vocabulary, unread: IntArray
) -> list[list[float]]:
    """Return one row per verb of each triplet, and count unreadable parts in ``unread``."""
    objects, verbs = (
        {_plain(name): place for place, name in enumerate(names)}
        for names in (vocabulary.objects, vocabulary.verbs)
    )
    values: list[list[float]] = []
    for image, (answer, reply) in enumerate(zip(answers, replies, strict=True)):
        if not isinstance(answer, list) or not (answer or _saw_nothing(reply)):
            unread[image, _ANSWER] = 1
            continue
        for number, triplet in enumerate(answer):
            parts = triplet if isinstance(triplet, dict) else {}
            human, thing = _box(parts.get(_HUMAN)), _box(parts.get(_OBJECT))
            categories, actions = _words(parts.get(_CATEGORY)), _words(parts.get(_VERBS))
            if not (human and thing and categories and actions):
                unread[image, _TRIPLETS] += 1
                continue
            category = objects.get(categories[0])
            for verb in map(verbs.get, actions):
                if category is None or verb is None:
                    unread[image, _NAMES] += 1
                else:
                    values.append([image, number, category, verb, *human, *thing])
    return values


def _box(box: Any) -> list[float]:
    """Return the four numbers of a box; empty if the value is not a box."""
    if not isinstance(box, list) or len(box) != 4:
        return []
    numbers = all(type(edge) in (int, float) and abs(edge) < _FAR for edge in box)
    return list(map(float, box)) if numbers else []


def _saw_nothing(reply: Any) -> bool:
    """Check whether a model answered with an empty list; a missing reply counts as such a list."""
    return not isinstance(reply, str) or ("{" not in reply and bool(_NOTHING_SEEN.search(reply)))


def _words(value: Any) -> list[str]:
    """Return the names in a list or in comma-separated text."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return []
    return [name for name in map(_plain, parts) if name]


def _plain(name: str) -> str:
    return name.replace("_", " ").strip(_MARKS).lower()


_LINE_KEYS = ("image", "human_box", "object_box", "verb", "object", "text", "score")
# Keys with the same meaning in other files; the keys of this format come first.
_ALIASES = {
    "image": ("image", "filename", "file_name"),
    "human_box": ("human_box", "human"),
    "object_box": ("object_box",),
}
_OF_BOXES = (*_ALIASES["human_box"], *_ALIASES["object_box"])
# Keys of an image's lists in files with one list per column, each with the keys of these values in
# a line.
_LISTS = {
    "h_boxes": ("human_box",),
    "o_boxes": ("object_box",),
    "ho_scores": ("score",),
    "ao_names": ("verb", "object"),
}
_LIST_OF = {key: column for column, keys in _LISTS.items() for key in keys}
# Separators between interactions in answers without boxes.
_BETWEEN = re.compile(r"[;\n]+")
_ARTICLE, _NOTHING, _PERSON = " a/an ", "no_interaction", "person"


class Words(Format):
    """Read open-vocabulary predictions: JSON Lines with one interaction per line.

    A line is ``{"image": NAME, "human_box": [x1, y1, x2, y2], "object_box": [x1, y1, x2, y2],
    "verb": "sit on", "object": "couch", "score": 0.9}``, or has ``text`` instead of verb and
    object: the reply of a language model, ``"person sitting on a couch"``, or null if it names no
    interaction. Either all lines with an interaction have a score, or none of them has. Boxes are
    zero-based. A JSON list with one such object per interaction is also read. Answers about whole
    images have no boxes in any line; a text may then list several interactions, separated by line
    breaks or semicolons.

    Words in the data set's vocabulary keep their numbers; all other words get higher numbers.
    Within an image, boxes with the same coordinates and category are merged. A reply without a
    recognised verb and object is kept as a prediction of unknown words, which matches nothing.

    The script that scores detectors on CrossHOI-Bench reads the same content by image and column:
    ``{NAME: {"h_boxes": [...], "o_boxes": [...], "ho_scores": [...], "ao_names": ["ride a/an
    bicycle", ...]}}``, with one value per triplet in every list. A name without " a/an " is an
    interaction between two people.
    """

    name = "words"
    title = "predictions in free words"
    kinds = ("predictions",)
    keys = _LINE_KEYS

    def recognise(self, content: Content) -> Kind | None:
        if content.container != "json":
            return None
        if _has_lists(content.value):
            return "predictions"
        first = content.value if isinstance(content.value, dict) else content.first
        image = any(isinstance(first.get(name), str) for name in _ALIASES["image"])
        words = isinstance(first.get("verb"), str) and isinstance(first.get("object"), str)
        text = isinstance(first.get("text"), str) or _names_nothing(first)
        return "predictions" if image and (words or text) else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        from diaghoi.language.lexicon import load_lexicon
        from diaghoi.language.open_vocabulary import number_words, verb_names

        listed, notes = _has_lists(content.value), []
        if listed:
            lines_of = _from_lists(content)
        else:
            lines_of = _by_image(content.file, content.value)
            nothing = sum(_names_nothing(line) for lines in lines_of.values() for line in lines)
            if nothing:
                notes = [f"{content.file}: {nothing:,} pairs are reported to have no interaction"]
        images = [
            [line for line in lines if not _names_nothing(line)] for lines in lines_of.values()
        ]
        count = np.array([len(lines) for lines in images])
        arrays = _LIST_OF if listed else None
        rows = Rows(content.file, list(lines_of), "predictions", count, arrays)
        table, flat = RecordTable(images, rows), Flat(rows, options)
        score = table.scores("score", optional=True)
        verbs, objects, unread = _phrases(table, load_lexicon(), options.vocabulary)
        flat.notes += [*unread, *notes]
        words = number_words(options.vocabulary, verbs, objects, load_lexicon())
        verb = words.verb
        if listed:
            # Names include V-COCO roles: "cut_with" is the tool with which somebody cuts.
            roles = {name: number for number, name in enumerate(verb_names(options.vocabulary))}
            pairs = zip(verbs, verb.tolist(), strict=True)
            numbers = [roles.get(text.replace(" ", "_"), number) for text, number in pairs]
            verb = np.array(numbers, dtype=np.int64)
        boxes: dict[str, FloatArray] = {
            key: table.boxes(key) if _boxed(lines_of) else np.zeros((len(rows), 4))
            for key in ("human_box", "object_box")
        }
        return flat.scenes(
            boxes,
            vocabulary=words.vocabulary,
            category=words.object,
            verb=verb,
            score=score,
        )


def _names_nothing(line: Mapping[str, Any]) -> bool:
    """Check whether a line states that its pair or image has no interaction."""
    others = line.keys() - {"text", "score", *_ALIASES["image"]}
    return line.get("text", "") is None and ("object_box" in line or not others)


def _boxed(lines_of: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Check whether the lines of all images have boxes."""
    first = next((line for lines in lines_of.values() for line in lines), {})
    return "human_box" in first


def _has_lists(value: Any) -> bool:
    """Check whether images are listed by name, with one list per column."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    return isinstance(first, dict) and _LISTS.keys() <= first.keys()


def _from_lists(content: Content) -> dict[str, list[dict[str, Any]]]:
    """Convert the lists of each image to lines."""
    images = {}
    for name, image in content.value.items():
        where = f"{content.file}: image {shown(name)}"
        lists = lists_of(where, image, _LISTS)
        check_lengths(where, lists, "triplet")
        images[name] = [
            dict(zip(_LIST_OF, (*numbers, *_verb_and_object(text)), strict=True))
            for *numbers, text in zip(*lists.values(), strict=True)
        ]
    return images


def _verb_and_object(text: Any) -> tuple[Any, Any]:
    """Split a name such as "ride a/an bicycle"."""
    if not isinstance(text, str):
        return text, text
    verb, article, thing = text.partition(_ARTICLE)
    # The absence of an interaction is spelt "no_interaction", "no_interaction with" or "no
    # interaction with".
    nothing = _NOTHING in verb.replace(" ", "_")
    return _NOTHING if nothing else verb, thing if article else _PERSON


def _by_image(file: str, value: Any) -> dict[str, list[dict[str, Any]]]:
    """Group lines by image, in the order of first use, and rename keys to those of this format."""
    images: dict[str, list[dict[str, Any]]] = {}
    scored: dict[bool, int] = {}  # first line with a score (True), and without (False)
    lines = [value] if isinstance(value, dict) else value
    # The first line shows whether the lines have boxes.
    boxed = any(key in lines[0] for key in _OF_BOXES) if isinstance(lines[0], dict) else True
    for number, line in enumerate(lines, 1):
        where = f"{file}: line {number}"
        if not isinstance(line, dict):
            raise InputError(f"{where}: is {shown(line)}; give a JSON object")
        row = dict(line)
        if not boxed and (key := next((key for key in _OF_BOXES if key in line), None)):
            raise InputError(
                f"{where}: {key}: the first line has no boxes; give both boxes in all lines, or in "
                "none"
            )
        for key, aliases in _ALIASES.items():
            if not boxed and key != "image":
                continue
            alias = next((alias for alias in aliases if alias in line), None)
            if alias is None:
                raise InputError(f"{where}: {missing(line, key, 8)}")
            row[key] = line[alias]
        name = row["image"]
        if not (isinstance(name, str) and name):
            raise InputError(
                f"{where}: image: {shown(name)} is not the name of an image; give the file name as "
                "a string"
            )
        if row.keys().isdisjoint(("text", "verb", "object")):
            raise InputError(f"{where}: has no answer; give text, or verb and object")
        if not _names_nothing(row):
            scored.setdefault("score" in row, number)
        if len(scored) > 1:
            here = "given here, but not" if "score" in row else "missing, but given"
            raise InputError(
                f"{where}: score: {here} in line {min(scored.values())}; give a score to all "
                "lines with an interaction, or to none"
            )
        text = row.get("text")
        parts = _BETWEEN.split(text) if isinstance(text, str) and not boxed else []
        several = [row | {"text": part} for part in parts if part.strip()]
        images.setdefault(name, []).extend(several or [row])
    return images


def _phrases(
    table: RecordTable, lexicon: Lexicon, vocabulary: Vocabulary
) -> tuple[list[str], list[str], Iterable[str]]:
    """Return the verb and object of each line, and a note on replies without a verb and object."""
    from diaghoi.language.words import known_names, read_phrase

    names, rows = known_names(vocabulary), table.rows
    phrases, unread = [], []
    for number, line in enumerate(table):
        told = {"verb", "object"} & line.keys() or "text" not in line
        keys = ("verb", "object") if told else ("text",)
        for key in keys:
            if key not in line:
                raise rows.error(number, "", missing(line, key))
            if not (isinstance(line[key], str) and line[key].strip()):
                problem = f"{shown(line[key])} is not a word; give a string"
                raise rows.error(number, key, problem)
        phrase = line[keys[0]], line[keys[-1]]
        if not told:
            read = read_phrase(line["text"], lexicon, names)
            if read is None:
                unread.append(line["text"])
            phrase = read or phrase
        phrases.append(phrase)
    verbs, objects = ([phrase[side] for phrase in phrases] for side in (0, 1))
    if not unread:
        return verbs, objects, ()
    note = (
        f"{rows.file}: {len(unread)} of {len(rows)} replies do not name a verb with an object; "
        f"they match nothing: {some_of(list(map(shown, unread)))}"
    )
    return verbs, objects, (note,)

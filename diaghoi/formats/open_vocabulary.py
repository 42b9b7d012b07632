"""Open-vocabulary predictions: JSON lines, one interaction each.

A line is ``{"image": NAME, "human_box": [x1, y1, x2, y2], "object_box": [x1, y1, x2, y2],
"verb": "sit on", "object": "couch", "score": 0.9}``, or has ``text`` instead of verb and object:
the reply of a language model, ``"person sitting on a couch"``, or null where it names no
interaction. All lines with an interaction have a score, or none.
Boxes are counted from zero. A JSON list of such objects is read, too.

Words of the data set get its numbers, others get the numbers after them; boxes with the same
coordinates and category in one image are one box. A reply without a recognised verb and object is
kept as a prediction of unknown words, which match nothing.

The script that scores detectors on CrossHOI-Bench (paper 002) reads the same by image and column:
``{NAME: {"h_boxes": [...], "o_boxes": [...], "ho_scores": [...], "ao_names": ["ride a/an
bicycle", ...]}}``, with one value per triplet in each list. A name without " a/an " is a verb of
what one person does to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    Rows,
    check_boxes,
    check_scores,
    names_array,
    shown,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.records import RecordTable

if TYPE_CHECKING:
    from diaghoi.data.vocabulary import Vocabulary
    from diaghoi.language.lexicon import Lexicon

_KEYS = ("image", "human_box", "object_box", "verb", "object", "text", "score")
# Keys with the same meaning in other files; those of this format come first.
_NAMES = {
    "image": ("image", "filename", "file_name"),
    "human_box": ("human_box", "human"),
    "object_box": ("object_box",),
}
# The lists of an image that has columns, and the keys of a line that their values become.
_COLUMNS = {
    "h_boxes": ("human_box",),
    "o_boxes": ("object_box",),
    "ho_scores": ("score",),
    "ao_names": ("verb", "object"),
}
_LIST_OF = {key: column for column, keys in _COLUMNS.items() for key in keys}
_ARTICLE, _NOTHING, _PERSON = " a/an ", "no_interaction", "person"


def _recognise(content: Content) -> Kind | None:
    if content.container != "json":
        return None
    if _has_columns(content.value):
        return "predictions"
    first = content.value if isinstance(content.value, dict) else content.first
    image = any(isinstance(first.get(name), str) for name in _NAMES["image"])
    words = isinstance(first.get("verb"), str) and isinstance(first.get("object"), str)
    text = isinstance(first.get("text"), str) or _names_nothing(first)
    return "predictions" if image and (words or text) else None


def _names_nothing(line: dict[str, Any]) -> bool:
    """Whether a line says that there is no interaction between its boxes."""
    return line.get("text", "") is None and "object_box" in line


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    from diaghoi.language.lexicon import load_lexicon
    from diaghoi.language.open_vocabulary import number_words, verb_names

    arrays, nothing = _LIST_OF if _has_columns(content.value) else None, 0
    if arrays is not None:
        grouped, names = _from_columns(content), list(content.value)
    else:
        value = [content.value] if isinstance(content.value, dict) else list(content.value)
        grouped, names = _by_image(content.file, value)
        nothing = sum(_names_nothing(line) for lines in grouped for line in lines)
        grouped = [[line for line in lines if not _names_nothing(line)] for lines in grouped]
    count = np.array([len(lines) for lines in grouped])
    rows = Rows(content.file, names, "predictions", count, arrays)
    table = RecordTable(grouped, rows)
    human, object_box = (_boxes(table, key, options) for key in ("human_box", "object_box"))
    score = check_scores(rows, table.numbers("score"), "score") if table.has("score") else None
    verbs, objects, notes = _phrases(rows, grouped, load_lexicon(), options.vocabulary)
    if nothing:
        notes += (f"{content.file}: {nothing:,} pairs are said to have no interaction",)
    words = number_words(options.vocabulary, verbs, objects, load_lexicon())
    verb = words.verb
    if arrays is not None:
        # Among them are roles of V-COCO: "cut_with" is what somebody cuts with.
        named = {name: number for number, name in enumerate(verb_names(options.vocabulary))}
        pairs = zip(verbs, verb.tolist(), strict=True)
        verb = np.array([named.get(text.replace(" ", "_"), n) for text, n in pairs], dtype=np.int64)
    return from_repeated(
        words.vocabulary,
        names=names_array(rows.file, rows.names),
        image=rows.image,
        human=human,
        object_box=object_box,
        category=words.object,
        verb=verb,
        score=score,
        source=rows.file,
        notes=notes,
    )


def _has_columns(value: Any) -> bool:
    """Whether images are given by name, with a list for each column."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    return isinstance(first, dict) and _COLUMNS.keys() <= first.keys()


def _from_columns(content: Content) -> list[list[dict[str, Any]]]:
    """Bring the columns of each image to lines."""
    images = []
    for name, image in content.value.items():
        where = f"{content.file}: image {shown(name)}"
        columns = image if isinstance(image, dict) else {}
        for key in _COLUMNS:
            if not isinstance(columns.get(key), list):
                raise InputError(f"{where}: {key}: is {shown(columns.get(key))}; give a list")
        lengths = {key: len(columns[key]) for key in _COLUMNS}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise InputError(f"{where}: lengths do not fit: {told}; give one value per triplet")
        rows = zip(*(columns[key] for key in _COLUMNS), strict=True)
        images.append(
            [
                dict(zip(_LIST_OF, (*numbers, *_verb_and_object(text)), strict=True))
                for *numbers, text in rows
            ]
        )
    return images


def _verb_and_object(text: Any) -> tuple[Any, Any]:
    """Part a name such as "ride a/an bicycle"."""
    if not isinstance(text, str):
        return text, text
    verb, article, thing = text.partition(_ARTICLE)
    # Written "no_interaction", "no_interaction with" and "no interaction with".
    nothing = _NOTHING in verb.replace(" ", "_")
    return _NOTHING if nothing else verb, thing if article else _PERSON


def _by_image(file: str, value: Sequence[Any]) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """Group the lines by image, in order of first use, and rename keys to those of this format."""
    images: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate(value, 1):
        if not isinstance(line, dict):
            raise InputError(f"{file}: line {number}: is {shown(line)}; give a JSON object")
        row = dict(line)
        for key, aliases in _NAMES.items():
            found = next((alias for alias in aliases if alias in line), None)
            if found is None:
                known = [str(each) for each in line]
                raise InputError(
                    f"{file}: line {number}: the key {key!r} is missing"
                    f"{close_matches(key, known)}; has: {some_of(known, 8)}"
                )
            row[key] = line[found]
        name = row["image"]
        if not (isinstance(name, str) and name):
            raise InputError(
                f"{file}: line {number}: image: {shown(name)} is not the name of an image; give "
                "the file name as a string"
            )
        images.setdefault(name, []).append(row)
    return list(images.values()), list(images)


def _boxes(table: RecordTable, key: str, options: Options) -> FloatArray:
    corners = options.corners(table.boxes(key))
    return check_boxes(table.rows, corners, key, origin=options.origin_or(0))


def _phrases(
    rows: Rows,
    grouped: Sequence[Sequence[dict[str, Any]]],
    lexicon: Lexicon,
    vocabulary: Vocabulary,
) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Return verb and object of each line, and a note on replies without them."""
    from diaghoi.language.words import known_names, read_phrase

    known = known_names(vocabulary)
    verbs, objects, unread = [], [], []
    for number, line in enumerate(line for image in grouped for line in image):
        if "verb" in line or "object" in line or "text" not in line:
            verbs.append(_text(rows, number, line, "verb"))
            objects.append(_text(rows, number, line, "object"))
            continue
        text = _text(rows, number, line, "text")
        phrase = read_phrase(text, lexicon, known)
        if phrase is None:
            unread.append(text)
            phrase = text, text
        verbs.append(phrase[0])
        objects.append(phrase[1])
    if not unread:
        return verbs, objects, ()
    note = (
        f"{rows.file}: {len(unread)} of {len(rows)} replies name no verb with an object; they "
        f"match nothing: {some_of([shown(text) for text in unread])}"
    )
    return verbs, objects, (note,)


def _text(rows: Rows, number: int, line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    if not (isinstance(value, str) and value.strip()):
        if key not in line:
            raise rows.error(number, "", f"the key {key!r} is missing{close_matches(key, line)}")
        raise rows.error(number, key, f"{shown(value)} is not a word; give a string")
    return value


FORMAT = Format(
    name="words",
    title="predictions in free words",
    kinds=("predictions",),
    keys=_KEYS,
    recognise=_recognise,
    read=_read,
)

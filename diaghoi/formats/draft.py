"""Draft the description of a new data set from its files.

The numbers in a file become the names of objects and verbs, so the draft works unchanged; only the
real names have to be filled in.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import MOST_CLASSES, Conventions, Numbers, Vocabulary
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content, load
from diaghoi.formats.dense import DenseArrays, verb_count
from diaghoi.formats.output import replacing
from diaghoi.formats.reading import matching

# Largest object number that is looked up; even the largest data sets in the field stay below it.
_OBJECTS = 1 << 13
_NAME = "own"
_LAYOUTS: tuple[Literal["xyxy", "xywh"], ...] = ("xyxy", "xywh")


@dataclass(frozen=True, eq=False)
class _Side:
    """The numbers in the predictions or annotations of a file.

    ``by_class`` is true if triplets are numbered by HOI class; ``verbs`` is the number of verbs in
    dense scores.
    """

    path: Path
    scenes: Scenes
    boxes: str
    by_class: bool
    verbs: int | None

    @property
    def kind(self) -> Kind:
        return "predictions" if self.scenes.scored else "annotations"

    @property
    def bare(self) -> bool:
        """Whether boxes lack categories."""
        return self.by_class and self.scenes.numbering is None

    @cached_property
    def person(self) -> int:
        """The most frequent category number of subjects, 0 if there are none."""
        return int(np.bincount(self.scenes.box_label[self.scenes.pair_human], minlength=1).argmax())

    @cached_property
    def objects(self) -> IntArray:
        """The category number of each box."""
        return np.asarray(self.scenes.box_label[self.scenes.box_label >= 0], dtype=np.int64)

    @cached_property
    def numbers(self) -> IntArray:
        """The number of each triplet, or of each dense score column."""
        numbers = self.scenes.triplet_verb if self.verbs is None else np.arange(self.verbs)
        return np.asarray(numbers, dtype=np.int64)

    def __str__(self) -> str:
        numbers = {} if self.bare else {"objects": self.objects}
        numbers["HOI classes" if self.by_class else "verbs"] = self.numbers
        facts = [
            self.kind,
            number_of("image", len(self.scenes)),
            f"{len(self.scenes.box_label):,} boxes",
            number_of("triplet", len(self.scenes.triplet_pair)),
            *(f"{of} {part.min()} to {part.max()}" for of, part in numbers.items() if len(part)),
        ]
        return f"{self.path.name}: {', '.join(facts)}"


def draft(files: Sequence[str | os.PathLike[str]], folder: Path = Path()) -> str:
    """Draft a description of the data set to which the given files belong.

    Parameters
    ----------
    files : sequence of path
        Annotations, predictions, or both kinds, possibly in one file.
    folder : pathlib.Path
        Folder of the description; paths in it are relative to this folder.

    Returns
    -------
    str
        The text of a ``.toml`` file. Objects and verbs are named by their numbers, except
        ``person``; comments count the uses of each name and summarise each file.

    Raises
    ------
    InputError
        If no file can be read, or the files do not show object categories.
    """
    sides: list[_Side] = []
    for path in dict.fromkeys(map(Path, files)):
        content = load(path)
        for half in filter(None, (content.annotations, content.predictions)):
            half, chosen, kind = matching(half)
            if chosen.name == "hico-instances":
                return _named(half, folder)
            if kind != "pairs":
                sides.append(_read(half, chosen, kind))
    first = {side.kind: side for side in reversed(sides)}
    predictions = first.get("predictions")
    base = next((side for _, side in sorted(first.items()) if not side.bare), None)
    if base is None:
        raise InputError(
            f"{', '.join(map(str, files))}: boxes have no categories, which the draft of a "
            "description needs; give the annotations, too"
        )
    return _text(sides, base, None if predictions is base else predictions, folder)


def write_draft(path: Path, files: Sequence[str | os.PathLike[str]]) -> None:
    """Write the draft of a description; the file is written completely or not at all.

    Raises
    ------
    InputError
        As for :func:`draft`, and if the file cannot be written or is not a ``.toml`` file.
    """
    if path.suffix != ".toml":
        raise InputError(f"{path}: descriptions are read from .toml files; name the file own.toml")
    text = draft(files, path.parent)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _read(content: Content, chosen: Format, kind: Kind) -> _Side:
    """Read a file without changing its numbers, using the first box layout that fits."""
    verbs = verb_count(content) if isinstance(chosen, DenseArrays) else None
    numbers = Numbers(tuple(range(_OBJECTS)), tuple(range(verbs or MOST_CLASSES)))
    # With one class per verb, class numbers are verb numbers.
    kinds = np.arange(MOST_CLASSES if verbs is None else 0, dtype=np.int32)
    words = Vocabulary(
        name=_NAME,
        objects=tuple(map(str, numbers.objects)),
        verbs=tuple(map(str, numbers.verbs)),
        class_object=np.zeros_like(kinds),
        class_verb=kinds,
        person=0,
        protocol=HICO_DET,
    )
    problems = []
    for boxes in _LAYOUTS:
        conventions = Conventions(**numbers._asdict(), predictions=numbers, boxes=boxes)
        words = replace(words, conventions=conventions)
        options = Options(vocabulary=words, objects=_NAME, stated=True)
        try:
            scenes = chosen.read(content, kind, options).load()
        except InputError as error:
            problems.append(error)
        else:
            by_class = options.shown.get("triplets", "").startswith("HOI classes")
            return _Side(content.path, scenes, boxes, by_class, verbs)
    raise problems[0]


def _text(sides: Sequence[_Side], base: _Side, predictions: _Side | None, folder: Path) -> str:
    """Write a description from the numbers of a file and any further numbers in predictions."""
    scenes = base.scenes
    of_triplet = scenes.box_label[scenes.pair_object[scenes.triplet_pair]]
    combinations = np.unique(np.stack([scenes.triplet_verb, of_triplet], axis=1), axis=0)
    objects, verbs, moved, moved_verbs, listed = base.objects, base.numbers, 0, 0, None
    if predictions is not None and not predictions.bare:
        moved = predictions.person - base.person
        objects = np.append(objects, predictions.objects - moved)
    if predictions is not None and base.verbs is None:
        if predictions.by_class:
            listed = _classes(combinations, predictions.numbers, base.person)
            verbs = np.arange(len(listed)) if listed else verbs
        else:
            moved_verbs = _moved(verbs, predictions, moved, base.person)
            verbs = np.append(verbs, predictions.numbers - moved_verbs)
    labels, numbers = _numbered(objects), _numbered(verbs)
    if listed is None and len(labels) * len(numbers) > MOST_CLASSES:
        listed = {
            verb: combinations[combinations[:, 0] == verb, 1].tolist() for verb in numbers.tolist()
        }
    names = {label: "person" if label == base.person else str(label) for label in labels.tolist()}
    dense = predictions is not None and predictions.verbs is not None
    stated = {"objects": _first(labels), "verbs": _first(numbers)}
    shifted = {
        "objects": _first(labels + moved),
        # Score columns are in the order of the verbs.
        "verbs": stated["verbs"] if dense else _first(numbers + moved_verbs),
    }
    # The file itself shows whether it numbers everything from 0 or from 1.
    shows = moved == moved_verbs and shifted["objects"] in ("0", "1")
    if shifted != stated and not shows:
        stated["predictions"] = _table(shifted)
    lines = [
        "# A draft: fill in the names of objects and verbs, in the order of their numbers.",
        *(f"# {side}" for side in sides),
        f'name = "{_NAME}"',
        *_list("objects", names, "boxes", base.objects),
        *_list("verbs", {n: str(n) for n in numbers.tolist()}, "triplets", scenes.triplet_verb),
        f"numbers = {_table(stated)}",
    ]
    if base.boxes != "xyxy":
        lines.append(f'boxes = {{ layout = "{base.boxes}" }}')
    if base.kind == "annotations" and (predictions is None or predictions.path != base.path):
        lines.append(_annotations(base.path, folder))
    if predictions is not None and predictions.by_class and listed is None:
        # If 0 does not occur, numbers may start at 1; there are then at least as many classes as
        # the highest number.
        count = int(predictions.numbers.max(initial=0)) + int(0 in predictions.numbers)
        if count > len(combinations):
            lines += [
                f"# The predictions imply {count} or more HOI classes, but only "
                f"{len(combinations)} are annotated: list all,",
                "# in the order of these numbers, in a table [classes] of verb = [objects].",
            ]
    if listed is not None:
        classes = {verb: _quoted([names[label] for label in listed[verb]]) for verb in listed}
        lines += ["", "[classes]", *(f"{verb} = {things}" for verb, things in classes.items())]
    return "\n".join(lines) + "\n"


def _classes(
    combinations: IntArray, predicted: IntArray, person: int
) -> dict[int, list[int]] | None:
    """Return the object of each HOI class if the annotated numbers are classes."""
    numbers = combinations[:, 0]
    if len(np.unique(numbers)) < len(numbers):
        return None  # a number that occurs with several objects is a verb
    object_of = dict(combinations.tolist())
    last = max(int(numbers.max(initial=0)), int(predicted.max(initial=0)))
    # The object of a class that is never annotated is unknown.
    some = next((label for label in object_of.values() if label != person), person)
    return {number: [object_of.get(number, some)] for number in range(last + 1)}


def _moved(verbs: IntArray, predictions: _Side, moved: int, person: int) -> int:
    """Return how far predicted verb numbers are shifted from annotated verb numbers.

    Dense score columns are numbered from 0.
    """
    numbers = predictions.numbers
    if not len(verbs) or not len(numbers):
        return moved
    likely = -person if predictions.verbs is not None and person in (0, 1) else moved
    shifts = (likely, 0, -1, 1)
    return min(shifts, key=lambda shift: int((~np.isin(numbers - shift, verbs)).sum()))


def _numbered(values: IntArray) -> IntArray:
    """Return all numbers from first to last, or only the used numbers if most are unused."""
    numbers = np.unique(values[values >= 0])
    if not len(numbers):
        return np.array([0])
    whole = np.arange(min(numbers[0], 1), numbers[-1] + 1)
    return whole if len(whole) <= 2 * len(numbers) + 1 else numbers


def _first(numbers: IntArray) -> str:
    """Write the first number of a consecutive range, or else a list of the numbers."""
    follow = bool((np.diff(numbers) == 1).all())
    return str(numbers[0] if follow else numbers.tolist())


def _table(values: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in values.items())} }}"


def _list(key: str, names: Mapping[int, str], what: str, values: IntArray) -> list[str]:
    """Write a list of names with the number and count of each."""
    count = Counter(values.tolist())
    rows = [
        f"    {_quoted(name)}, # number {number}: {count[number]:,} {what}"
        for number, name in names.items()
    ]
    return [f"{key} = [", *rows, "]"]


def _annotations(path: Path, folder: Path) -> str:
    inside = path if path.is_absolute() else os.path.relpath(path, folder)
    return f"annotations = {_quoted(str(inside))}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _named(content: Content, folder: Path) -> str:
    """Draft the description of a data set from annotations that include all names."""
    value = content.value
    try:
        objects, verbs = [*value["objects"]], [*value["verbs"]]
        classes: dict[str, list[str]] = {}
        for _, label, verb in value["correspondence"]:
            classes.setdefault(verbs[verb], []).append(objects[label])
        lines = [
            "# A draft: names and classes are taken from the file.",
            f'name = "{_NAME}"',
            f"objects = {_quoted(objects)}",
            f"verbs = {_quoted(verbs)}",
            "boxes = { origin = 1 }",
            _annotations(content.path, folder),
            "",
            "[classes]",
            *(f"{_quoted(verb)} = {_quoted(things)}" for verb, things in classes.items()),
        ]
    except (TypeError, ValueError, KeyError, IndexError):
        raise InputError(f"{content.file}: its objects, verbs or classes cannot be read") from None
    return "\n".join(lines) + "\n"

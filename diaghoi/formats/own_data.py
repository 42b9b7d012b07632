"""Draft the description of a data set that nobody has described yet, from its files.

The numbers of a file become the names of objects and verbs, so that a draft can be used as it is,
and needs only the names filled in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import MOST_CLASSES, Conventions, Numbers, Vocabulary
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import dense_arrays
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content, load
from diaghoi.formats.hico_det import instances
from diaghoi.formats.output import replacing
from diaghoi.formats.reading import matching

# Numbers of objects that are looked up; those of the largest data sets of the field are smaller.
_OBJECTS = 1 << 13
_NAME = "own"


@dataclass(frozen=True, eq=False)
class _Part:
    """The numbers in the predictions or annotations of one file.

    ``by_class`` says that triplets are numbered by HOI class, ``verbs`` how many verbs dense scores
    have, ``bare`` that boxes have no categories.
    """

    path: Path
    scenes: Scenes
    boxes: str
    by_class: bool
    verbs: int | None

    @property
    def bare(self) -> bool:
        return self.by_class and self.scenes.numbering is None

    @cached_property
    def person(self) -> int:
        """The usual number of subjects, 0 where there are none."""
        return int(np.bincount(self.scenes.box_label[self.scenes.pair_human], minlength=1).argmax())

    @property
    def kind(self) -> Kind:
        return "predictions" if self.scenes.scored else "annotations"

    def objects(self) -> IntArray:
        """Return the number of the category of each box."""
        return np.asarray(self.scenes.box_label[self.scenes.box_label >= 0], dtype=np.int64)

    def numbers(self) -> IntArray:
        """Return the number of each triplet, or of each column of dense scores."""
        if self.verbs is not None:
            return np.arange(self.verbs)
        return np.asarray(self.scenes.triplet_verb, dtype=np.int64)

    def combinations(self) -> IntArray:
        """Return the distinct (number, category of the object) of triplets."""
        label = self.scenes.box_label[self.scenes.pair_object[self.scenes.triplet_pair]]
        return np.unique(np.stack([self.scenes.triplet_verb, label], axis=1), axis=0)

    def __str__(self) -> str:
        counts = number_of("image", len(self.scenes)), f"{len(self.scenes.box_label):,} boxes"
        of = "HOI classes" if self.by_class else "verbs"
        numbers = [(of, self.numbers())]
        if not self.bare:
            numbers.insert(0, ("objects", self.objects()))
        found = [f"{what} {part.min()} to {part.max()}" for what, part in numbers if len(part)]
        triplets = number_of("triplet", len(self.scenes.triplet_pair))
        return f"{self.path.name}: {self.kind}, {', '.join((*counts, triplets, *found))}"


def draft(files: Sequence[str | os.PathLike[str]], folder: Path = Path()) -> str:
    """Draft the description of the data set of some files.

    Parameters
    ----------
    files : sequence of path
        Annotations, predictions or both, also of one file.
    folder : pathlib.Path
        Where the description will be: paths in it start from there.

    Returns
    -------
    str
        The text of a ``.toml`` file. Objects and verbs are called by their numbers, people
        ``person``; comments say how often each occurs, and what each file holds.

    Raises
    ------
    InputError
        If no file can be read, or they do not show the categories of objects.
    """
    parts: list[_Part] = []
    for path in dict.fromkeys(map(Path, files)):
        content = load(path)
        for each in (content.annotations, content.predictions):
            if each is None:
                continue
            each, chosen, kind = matching(each)
            if chosen is instances.FORMAT:
                return _named(each, folder)
            if kind != "pairs":
                parts.append(_part(each, chosen, kind))
    truth = next((part for part in parts if part.kind == "annotations"), None)
    found = next((part for part in parts if part.kind == "predictions"), None)
    usual = next((part for part in (truth, found) if part is not None and not part.bare), None)
    if usual is None:
        raise InputError(
            f"{', '.join(map(str, files))}: no categories of boxes, from which a description could "
            "be drafted; give the annotations, too"
        )
    return _text(parts, usual, None if found is usual else found, folder)


def write_draft(path: Path, files: Sequence[str | os.PathLike[str]]) -> None:
    """Write the draft of a description; the file appears complete or not at all.

    Raises
    ------
    InputError
        As :func:`draft`, and for a file that cannot be written or is no ``.toml`` file.
    """
    if path.suffix != ".toml":
        raise InputError(f"{path}: descriptions are read from .toml files; call it own.toml")
    text = draft(files, path.parent)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _part(content: Content, chosen: Format, kind: Kind) -> _Part:
    """Read a file with its numbers as they are."""
    verbs = dense_arrays.verb_count(content) if chosen is dense_arrays.FORMAT else None
    try:
        return _read(content, chosen, kind, verbs, "xyxy")
    except InputError:
        try:
            return _read(content, chosen, kind, verbs, "xywh")
        except InputError:
            pass
        raise


def _read(content: Content, chosen: Format, kind: Kind, verbs: int | None, boxes: str) -> _Part:
    # One class for each verb, so that numbers of classes are those of verbs here.
    kinds = np.arange(MOST_CLASSES if verbs is None else 0, dtype=np.int32)
    objects, numbers = tuple(range(_OBJECTS)), tuple(range(verbs or MOST_CLASSES))
    words = Vocabulary(
        name=_NAME,
        objects=tuple(map(str, objects)),
        verbs=tuple(map(str, numbers)),
        class_object=np.zeros_like(kinds),
        class_verb=kinds,
        person=0,
        protocol=HICO_DET,
        conventions=Conventions(
            objects=objects,
            verbs=numbers,
            predictions=Numbers(objects, numbers),
            boxes="xyxy" if boxes == "xyxy" else "xywh",
        ),
    )
    options = Options(vocabulary=words, objects=_NAME, stated=True)
    scenes = chosen.read(content, kind, options).load()
    by_class = options.shown.get("triplets", "").startswith("HOI classes")
    return _Part(content.path, scenes, boxes, by_class, verbs)


def _text(parts: Sequence[_Part], usual: _Part, found: _Part | None, folder: Path) -> str:
    """Write a description of the numbers in ``usual``, and of those of predictions beside it."""
    objects, combinations = usual.objects(), usual.combinations()
    more = found is not None and not found.bare
    moved = found.person - usual.person if found is not None and more else 0
    if found is not None and more:
        objects = np.concatenate([objects, found.objects() - moved])
    objects = objects[objects >= 0]
    verbs, moved_verbs, listed = usual.numbers(), 0, None
    if usual.verbs is not None:
        pass
    elif found is not None and found.by_class:
        listed = _classes(combinations, found.numbers(), usual)
        verbs = np.arange(len(listed)) if listed else verbs
    elif found is not None:
        moved_verbs = _moved(verbs, found, moved, usual.person)
        verbs = np.concatenate([verbs, found.numbers() - moved_verbs])
    labels, numbers = _numbered(objects), _numbered(verbs[verbs >= 0])
    if listed is None and len(labels) * len(numbers) > MOST_CLASSES:
        listed = {verb: _things(combinations, verb) for verb in numbers.tolist()}
    names = {label: "person" if label == usual.person else str(label) for label in labels.tolist()}
    counted = usual.scenes.triplet_verb
    stated: dict[str, object] = {"objects": _first(labels), "verbs": _first(numbers)}
    shifted: dict[str, object] = {
        "objects": _first(labels + moved),
        "verbs": _first(numbers + moved_verbs),
    }
    if found is not None and found.verbs is not None:
        shifted["verbs"] = stated["verbs"]  # the columns of scores are in the order of the verbs
    # A file shows by itself that it counts everything from 0, or from 1.
    shows = moved == moved_verbs and shifted["objects"] in (0, 1)
    if shifted != stated and not shows:
        stated["predictions"] = _table(shifted)
    lines = [
        "# A draft: fill in the names of objects and verbs, in the order of their numbers.",
        *(f"# {part}" for part in parts),
        f'name = "{_NAME}"',
        *_list("objects", names, "boxes", usual.objects()),
        *_list("verbs", {verb: str(verb) for verb in numbers.tolist()}, "triplets", counted),
        f"numbers = {_table(stated)}",
    ]
    if usual.boxes != "xyxy":
        lines.append(f'boxes = {{ layout = "{usual.boxes}" }}')
    lines += _annotations(usual, found, folder)
    if found is not None and found.by_class and listed is None:
        # Where numbers may start at 1, they need not show a class more.
        used, known = found.numbers(), len(combinations)
        count = int(used.max(initial=0)) + int(0 in used)
        if count > known:
            lines += [
                f"# The predictions number {count} or more HOI classes, and only {known} are "
                "annotated: list all,",
                "# in the order of these numbers, in a table [classes] of verb = [objects].",
            ]
    if listed is not None:
        lines += ["", "[classes]", *(_class(verb, listed[verb], names) for verb in listed)]
    return "\n".join(lines) + "\n"


def _classes(
    combinations: IntArray, predicted: IntArray, usual: _Part
) -> dict[int, list[int]] | None:
    """List the object of each HOI class where the annotated numbers are those of classes."""
    numbers = combinations[:, 0]
    if len(np.unique(numbers)) < len(numbers):
        return None  # a number with several objects is a verb
    object_of = dict(combinations.tolist())
    last = max(int(numbers.max(initial=0)), int(predicted.max(initial=0)))
    # Nobody knows the object of a class that is never annotated.
    some = next((label for label in object_of.values() if label != usual.person), usual.person)
    return {number: [object_of.get(number, some)] for number in range(last + 1)}


def _things(combinations: IntArray, verb: int) -> list[int]:
    return [int(label) for label in combinations[combinations[:, 0] == verb, 1]]


def _moved(verbs: IntArray, found: _Part, moved: int, person: int) -> int:
    """Say how far the verbs of predictions are from those of annotations.

    The columns of dense scores count from 0.
    """
    numbers = found.numbers()
    if not len(verbs) or not len(numbers):
        return moved

    def outside(shift: int) -> int:
        return int((~np.isin(numbers - shift, verbs)).sum())

    likely = -person if found.verbs is not None and person in (0, 1) else moved
    return min((likely, 0, -1, 1), key=outside)


def _numbered(values: IntArray) -> IntArray:
    """Return all numbers from the first to the last, or where most are unused, those that occur."""
    numbers = np.unique(values)
    if not len(numbers):
        return np.array([0])
    first, last = int(min(numbers[0], 1)), int(numbers[-1])
    whole = np.arange(first, last + 1)
    return whole if len(whole) <= 2 * len(numbers) + 1 else numbers


def _first(numbers: IntArray) -> int | list[int]:
    follow = bool((np.diff(numbers) == 1).all())
    return int(numbers[0]) if follow else numbers.tolist()


def _table(values: Mapping[str, object]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in values.items())} }}"


def _list(key: str, names: Mapping[int, str], what: str, values: IntArray) -> list[str]:
    """Write a list of names with the number of each, and how often it occurs."""
    known, counts = np.unique(values, return_counts=True)
    count = dict(zip(known.tolist(), counts.tolist(), strict=True))
    rows = [
        f"    {json.dumps(name)}, # number {number}: {count.get(number, 0):,} {what}"
        for number, name in names.items()
    ]
    return [f"{key} = [", *rows, "]"]


def _class(verb: int, labels: list[int], names: Mapping[int, str]) -> str:
    return f"{verb} = {json.dumps([names[label] for label in labels])}"


def _annotations(usual: _Part, found: _Part | None, folder: Path) -> list[str]:
    """Name the annotations, unless the predictions have them in their own file."""
    if usual.kind != "annotations" or (found is not None and found.path == usual.path):
        return []
    path = usual.path
    if not path.is_absolute():
        path = Path(os.path.relpath(path, folder))
    return [f"annotations = {json.dumps(str(path), ensure_ascii=False)}"]


def _named(content: Content, folder: Path) -> str:
    """Draft the description of annotations that hold the names themselves."""
    value = content.value
    try:
        objects, verbs = value["objects"], value["verbs"]
        names = json.dumps([*objects], ensure_ascii=False), json.dumps([*verbs], ensure_ascii=False)
        things: dict[str, list[str]] = {}
        for _, label, verb in value["correspondence"]:
            things.setdefault(verbs[verb], []).append(objects[label])
    except (TypeError, ValueError, KeyError, IndexError):
        raise InputError(f"{content.file}: its tables of names cannot be read") from None
    path = content.path
    if not path.is_absolute():
        path = Path(os.path.relpath(path, folder))
    lines = [
        "# A draft: names and classes are those in the file.",
        f'name = "{_NAME}"',
        f"objects = {names[0]}",
        f"verbs = {names[1]}",
        "boxes = { origin = 1 }",
        f"annotations = {json.dumps(str(path), ensure_ascii=False)}",
        "",
        "[classes]",
        *(
            f"{json.dumps(verb, ensure_ascii=False)} = {json.dumps(labels, ensure_ascii=False)}"
            for verb, labels in things.items()
        ),
    ]
    return "\n".join(lines) + "\n"

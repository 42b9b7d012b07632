"""User-defined data sets, which a small TOML file describes.

``objects`` and ``verbs`` list names in the order of their numbers; the README shows a complete
file. Paths are relative to the description file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray
from diaghoi.data.files import ordinary
from diaghoi.data.groups import check_protocol, find_class
from diaghoi.data.protocol import PROTOCOLS, Protocol, choice_problem
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.vocabulary import MOST_CLASSES, VOCABULARIES, Conventions, Numbers, Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import EXACT, first_repeated
from diaghoi.formats.toml import check_keys, read_toml, text_of

Pairs = list[tuple[int, int]]

KEYS = (
    *("name", "objects", "verbs", "person", "no_interaction", "classes"),
    *("annotations", "numbers", "boxes", "rare", "protocol"),
)
# Protocol settings that the description of a data set may contain.
CHOICES = (
    *("classes", "average_precision", "class_without_true_positive", "iou", "strict", "boxes"),
    *("top", "top_of_class", "images_without_predictions", "images_without_annotations"),
    *("levels_from", "claim", "class_without_annotation", "added_to_union", "duplicates"),
    "class_without_prediction",
)


def read_description(path: str | PathLike[str]) -> Vocabulary:
    """Read the description of a data set.

    Parameters
    ----------
    path : path
        A TOML file with ``name``, ``objects`` and ``verbs``. Optional keys are ``person`` (an
        object, by default `person`), ``no_interaction`` (a verb), ``classes``, ``annotations`` (a
        path), ``numbers``, ``boxes`` (``origin`` 0 or 1 and ``layout`` `xyxy` or `xywh`), ``rare``
        (``classes``, or ``counts`` of training instances and ``below``, by default 10) and
        ``protocol`` (a name, or a table of ``CHOICES``). ``classes`` is a table ``verb =
        [objects]``, a list of ``[verb, object]``, the path of an ``.npy`` matrix of verbs x objects
        with ones at the classes, or the word `verbs`, which makes each verb a class, whatever the
        object; by default, every verb with every object is a class. ``numbers`` gives, for
        ``objects`` and for ``verbs``, the number of the first name (by default 0), or a list of all
        numbers; its table ``predictions`` does the same for prediction files.

    Returns
    -------
    Vocabulary
        The classes are in the order of the list ``classes``, or ordered by verb and then by object.

    Raises
    ------
    InputError
        If the file cannot be read, or a key is unknown, missing, or has an invalid value.
    """
    path = Path(path)
    return _Description(path, read_toml(path)).vocabulary()


class _Description:
    """The content of a description, with methods that look up and check its values."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        check_keys(str(path), content, KEYS)
        self.path, self.content = path, content
        self.needed("name")
        self.name = self.text("name") or ""
        if self.name in VOCABULARIES:
            problem = "is the name of a known data set; choose another"
            raise self.error("name", f"'{self.name}' {problem}")
        if self.name in PROTOCOLS:
            raise self.error("name", f"'{self.name}' is the name of a protocol; choose another")
        self.objects, self.verbs = self.names("objects"), self.names("verbs")

    def vocabulary(self) -> Vocabulary:
        classes = self.classes()
        no_interaction, annotations = self.text("no_interaction"), self.text("annotations")
        vocabulary = Vocabulary(
            name=self.name,
            objects=self.objects,
            verbs=self.verbs,
            class_object=np.array([label for _, label in classes], dtype=np.int32),
            class_verb=np.array([verb for verb, _ in classes], dtype=np.int32),
            person=self.position("person", self.text("person") or "person", self.objects),
            no_interaction=-1
            if no_interaction is None
            else self.position("no_interaction", no_interaction, self.verbs),
            protocol=self.protocol(classes, no_interaction is not None),
            conventions=self.conventions(),
            annotations=None if annotations is None else self.path.parent / annotations,
        )
        try:
            check_protocol(vocabulary.protocol, vocabulary)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        return replace(vocabulary, splits=self.splits(vocabulary))

    def error(self, key: str, problem: str) -> InputError:
        return InputError(f"{self.path}: {key}: {problem}")

    def check(self, key: str, value: Any, fits: bool, wanted: str) -> None:
        if not fits:
            raise self.error(key, f"is {value!r:.60}; give {wanted}")

    def needed(self, key: str) -> Any:
        if key not in self.content:
            raise InputError(
                f"{self.path}: the key '{key}' is missing; a description needs name, objects, verbs"
            )
        return self.content[key]

    def text(self, key: str) -> str | None:
        return text_of(str(self.path), self.content, key)

    def table(self, key: str, content: Mapping[str, Any], *known: str) -> dict[str, Any]:
        """Return the table that the last word of ``key`` names, or an empty table."""
        table = content.get(key.rpartition(".")[2], {})
        self.check(key, table, isinstance(table, dict), "a table")
        check_keys(f"{self.path}: {key}", table, known)
        return dict(table)

    def names(self, key: str) -> tuple[str, ...]:
        names = self.needed(key)
        self.check(key, names, isinstance(names, list) and bool(names), "a list of names")
        for row, name in enumerate(names):
            fits = isinstance(name, str) and name.isprintable() and bool(name)
            self.check(f"{key}[{row}]", name, fits, "a name")
        twice = first_repeated(names)
        if twice >= 0:
            raise self.error(key, f"{names[twice]!r} appears twice; give each a different name")
        return tuple(names)

    def position(self, key: str, name: Any, names: tuple[str, ...]) -> int:
        if name not in names:
            close = close_matches(str(name), names)
            problem = f"{name!r:.60} is not in the list of names{close}: {some_of(names)}"
            raise self.error(key, problem)
        return names.index(name)

    def classes(self) -> Pairs:
        """List the verb and object of each class."""
        objects, verbs = self.objects, self.verbs
        classes, pairs = self.content.get("classes"), []
        if classes is None:
            self.check_count(len(verbs) * len(objects))
            pairs = [(v, o) for v in range(len(verbs)) for o in range(len(objects))]
        elif classes == "verbs":
            pairs = [(verb, -1) for verb in range(len(verbs))]
        elif isinstance(classes, str):
            pairs = self.matrix(self.path.parent / classes)
        elif isinstance(classes, dict):
            for name, labels in classes.items():
                key, verb = f"classes.{name}", self.position("classes", name, verbs)
                self.check(key, labels, isinstance(labels, list), "a list of objects")
                pairs += [(verb, self.position(key, label, objects)) for label in labels]
        else:
            self.check(
                "classes",
                classes,
                isinstance(classes, list),
                "a table of verb = [objects], a list of [verb, object], the path of an .npy "
                "matrix, or 'verbs'",
            )
            for number, pair in enumerate(classes):
                key, fits = f"classes[{number}]", isinstance(pair, list) and len(pair) == 2
                self.check(key, pair, fits, "a verb and an object")
                verb = self.position(key, pair[0], verbs)
                pairs.append((verb, self.position(key, pair[1], objects)))
        self.check_count(len(pairs))
        twice = first_repeated(pairs)
        if twice >= 0:
            verb, label = pairs[twice]
            raise self.error("classes", f"'{verbs[verb]} {objects[label]}' appears twice")
        return pairs

    def check_count(self, classes: int) -> None:
        if not 0 < classes <= MOST_CLASSES:
            raise self.error(
                "classes", f"there are {classes} classes; give 1 to {MOST_CLASSES} classes"
            )

    def matrix(self, path: Path) -> Pairs:
        try:
            with ordinary(path).open("rb") as stream:
                matrix = np.lib.format.read_array(stream, allow_pickle=False)
        except OSError as error:
            raise self.error("classes", f"{path}: {error.strerror or error}") from None
        except Exception as error:  # NumPy raises many kinds of errors for other files
            what = " ".join(str(error).split()) or type(error).__name__
            raise self.error("classes", f"{path}: not a .npy array ({what:.80})") from None
        shape = len(self.verbs), len(self.objects)
        if matrix.shape != shape or not np.isin(matrix, (0, 1)).all():
            raise self.error(
                "classes",
                f"{path}: has shape {matrix.shape}; give a matrix of zeros and ones of the shape "
                f"{shape}: verbs x objects",
            )
        return [(int(verb), int(label)) for verb, label in np.argwhere(matrix)]

    def conventions(self) -> Conventions:
        numbers = self.table("numbers", self.content, "objects", "verbs", "predictions")
        predicted = self.table("numbers.predictions", numbers, "objects", "verbs")
        boxes: dict[str, Any] = {"origin": 0, "layout": "xyxy"}
        boxes |= self.table("boxes", self.content, *boxes)
        origin, layout = boxes["origin"], boxes["layout"]
        self.check("boxes.origin", origin, type(origin) is int and origin in (0, 1), "0 or 1")
        self.check("boxes.layout", layout, layout in ("xyxy", "xywh"), "'xyxy' or 'xywh'")
        return Conventions(
            **self.numbers("numbers", numbers)._asdict(),
            predictions=self.numbers("numbers.predictions", numbers | predicted)
            if "predictions" in numbers
            else None,
            origin=origin,
            boxes=layout,
        )

    def numbers(self, where: str, table: Mapping[str, Any]) -> Numbers:
        """Return the numbers of objects or verbs, as listed or counted from the first number."""
        listed = []
        for key, names in (("objects", self.objects), ("verbs", self.verbs)):
            first, count = table.get(key, 0), len(names)
            numbers = list(range(first, first + count)) if type(first) is int else first
            whole = isinstance(numbers, list) and all(map(_is_count, numbers))
            fits = whole and len(numbers) == count == len(set(numbers))
            wanted = f"the number of the first name, or a list of {count} different whole numbers"
            self.check(f"{where}.{key}", first, fits, wanted)
            listed.append(tuple(numbers))
        return Numbers(*listed)

    def splits(self, vocabulary: Vocabulary) -> dict[str, BoolArray]:
        """Return the splits of rare and non-rare classes, if the description defines them."""
        table = self.table("rare", self.content, "classes", "counts", "below")
        counts: Any = table.get("counts")
        below = table.get("below", 10)
        if not table:
            return {}
        if ("classes" in table) == ("counts" in table):
            raise self.error("rare", "give either 'classes' or 'counts'")
        if "classes" in table:
            classes, wanted = table["classes"], "a list of classes, by number or name"
            self.check("rare.classes", classes, isinstance(classes, list), wanted)
            rare = np.zeros(len(vocabulary), dtype=bool)
            rare[[find_class(f"{self.path}: rare", name, vocabulary) for name in classes]] = True
            return {"rare": rare, "non_rare": ~rare}
        self.check("rare.below", below, _is_count(below), f"a whole number from 0 to {EXACT}")
        if isinstance(counts, list) and len(counts) == len(vocabulary):
            counts = dict(enumerate(counts, start=1))
        fits = isinstance(counts, dict) and all(map(_is_count, counts.values()))
        wanted = (
            f'{len(vocabulary)} whole numbers, one per class, or a table of "verb object" = number'
        )
        self.check("rare.counts", counts, fits, wanted)
        of_class = np.zeros(len(vocabulary), dtype=np.int64)
        for name, count in counts.items():
            of_class[find_class(f"{self.path}: rare.counts", name, vocabulary)] = count
        return {"rare": of_class < below, "non_rare": of_class >= below}

    def protocol(self, classes: Pairs, no_interaction: bool) -> Protocol:
        given = self.content.get("protocol", {})
        names = f"one of {', '.join(PROTOCOLS)}, or a table"
        self.check("protocol", given, isinstance(given, str | dict), names)
        if isinstance(given, dict):
            check_keys(f"{self.path}: protocol", given, CHOICES)
            # Other choices of classes need roles, or a list of evaluated classes; descriptions have
            # neither.
            counted = ("verbs",) if classes[0][1] < 0 else ("all", "interactions")
            if problem := choice_problem("classes", given.get("classes", counted[0]), counted):
                raise self.error("protocol.classes", problem)
            usual: dict[str, Any] = {"name": self.name, "classes": counted[-no_interaction]}
            given = Protocol(**usual | given)
        try:
            return replace(protocol_named(given), rare="described")
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= EXACT


def vocabulary(name: str | os.PathLike[str] | Vocabulary) -> Vocabulary:
    """Return the vocabulary of a data set, given its name or description.

    Parameters
    ----------
    name : str, path or Vocabulary
        One of ``VOCABULARIES``, or the path of a ``.toml`` file
        (:mod:`diaghoi.formats.description`); a vocabulary is returned unchanged.

    Raises
    ------
    InputError
        If the name is unknown, or the description is invalid.
    """
    if isinstance(name, Vocabulary):
        return name
    name = os.fspath(name)
    if name.endswith(".toml"):
        return read_description(name)
    if name.endswith(".npy"):
        raise InputError(
            f"--dataset {name}: a matrix has no names; give a .toml description with "
            f'classes = "{name}"'
        )
    if name not in VOCABULARIES:
        raise InputError(
            f"unknown data set '{name}'{close_matches(name, VOCABULARIES)}; "
            f"known: {', '.join(VOCABULARIES)}, and any data set that a .toml file describes"
        )
    return VOCABULARIES[name]()

"""User-defined data sets, described in a small TOML file.

``objects`` and ``verbs`` are lists of names in the order of their numbers; the README shows a
complete file. Paths are relative to the description.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import BoolArray
from diaghoi.data.files import ordinary
from diaghoi.data.groups import check_protocol, find_class
from diaghoi.data.protocol import PROTOCOLS, Protocol, choice_problem
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.vocabulary import MOST_CLASSES, VOCABULARIES, Conventions, Numbers, Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import EXACT, first_repeated
from diaghoi.formats.toml import check_keys, read_toml

Pairs = list[tuple[int, int]]

KEYS = (
    *("name", "objects", "verbs", "person", "no_interaction", "classes"),
    *("annotations", "numbers", "boxes", "rare", "protocol"),
)
# Settings of a protocol that apply to any data set of pairs.
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
        A TOML file with ``name``, ``objects`` and ``verbs``. Optional are ``person`` (an object, by
        default `person`), ``no_interaction`` (a verb), ``classes`` (a table ``verb = [objects]``,
        a list of ``[verb, object]``, or the path of an ``.npy`` matrix of verbs x objects, one
        where they form a class; by default every verb goes with every object; or the word `verbs`:
        each verb is a class, whatever the object), ``annotations`` (a path), ``numbers``
        (``objects`` and ``verbs``: the number of the first one in files, by default 0, or a list of
        all; ``predictions``: a table of these two for files of predictions), ``boxes`` (``origin``
        0 or 1 and ``layout`` `xyxy` or `xywh`), ``rare`` (``classes``, or ``counts`` of training
        instances and ``below``, by default 10) and ``protocol`` (a name, or a table of
        ``CHOICES``).

    Returns
    -------
    Vocabulary
        Classes are in the order of ``classes``: of its list, or of its verbs and, for each, of the
        objects.

    Raises
    ------
    InputError
        For a file that cannot be read, a key that is unknown or missing, and any value that cannot
        be used, with its key.
    """
    path = Path(path)
    return _Description(path, read_toml(path)).vocabulary()


class _Description:
    """The content of one file, with methods that look up and check its values."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.path, self.content = path, content
        check_keys(str(path), content, KEYS)

    def vocabulary(self) -> Vocabulary:
        name = self.value("name", str, needed=True)
        if name in VOCABULARIES:
            raise self.error("name", f"'{name}' is known without a description; choose another")
        if name in PROTOCOLS:
            raise self.error("name", f"'{name}' is the name of a protocol; choose another")
        objects, verbs = self.names("objects"), self.names("verbs")
        pairs = self.classes(objects, verbs)
        no_interaction = self.value("no_interaction", str)
        vocabulary = Vocabulary(
            name=name,
            objects=objects,
            verbs=verbs,
            class_object=np.array([label for _, label in pairs], dtype=np.int32),
            class_verb=np.array([verb for verb, _ in pairs], dtype=np.int32),
            person=self.position("person", self.value("person", str) or "person", objects),
            no_interaction=-1
            if no_interaction is None
            else self.position("no_interaction", no_interaction, verbs),
            protocol=self.protocol(name, pairs, no_interaction is not None),
            conventions=self.conventions(len(objects), len(verbs)),
            annotations=self.file("annotations"),
        )
        try:
            check_protocol(vocabulary.protocol, vocabulary)
        except InputError as error:
            raise self.error("protocol", str(error)) from None
        return replace(vocabulary, splits=self.splits(vocabulary))

    def error(self, key: str, problem: str) -> InputError:
        return InputError(f"{self.path}: {key}: {problem}")

    def value(self, key: str, kind: type, *, needed: bool = False) -> Any:
        """Return a value of the given type, None if it is missing."""
        if key not in self.content:
            if needed:
                raise InputError(
                    f"{self.path}: the key '{key}' is missing; a description needs name, objects, "
                    "verbs"
                )
            return None
        value = self.content[key]
        if not isinstance(value, kind) or value == "":
            kinds = {"str": "a string", "list": "a list", "dict": "a table"}
            raise self.error(key, f"is {value!r:.60}; give {kinds[kind.__name__]}")
        if isinstance(value, str) and not value.isprintable():
            raise self.error(key, f"{value!r:.60} contains unprintable characters")
        return value

    def table(self, key: str, known: Sequence[str]) -> dict[str, Any]:
        table: dict[str, Any] = self.value(key, dict) or {}
        check_keys(f"{self.path}: {key}", table, known)
        return table

    def names(self, key: str) -> tuple[str, ...]:
        names = self.value(key, list, needed=True)
        bad = [
            name for name in names if not (isinstance(name, str) and name.isprintable() and name)
        ]
        if bad or not names:
            what = f"{bad[0]!r:.60} is not a name" if bad else "is empty"
            raise self.error(key, f"{what}; give a list of names")
        twice = first_repeated(names)
        if twice >= 0:
            raise self.error(key, f"{names[twice]!r} appears twice; give each a different name")
        return tuple(names)

    def position(self, key: str, name: Any, names: tuple[str, ...]) -> int:
        if name not in names:
            raise self.error(
                key,
                f"{name!r:.60} is not in the list of names{close_matches(str(name), names)}: "
                f"{some_of(names)}",
            )
        return names.index(name)

    def file(self, key: str) -> Path | None:
        name = self.value(key, str)
        return None if name is None else self.path.parent / name

    def classes(self, objects: tuple[str, ...], verbs: tuple[str, ...]) -> Pairs:
        """List the verb and the object of each class."""
        given = self.content.get("classes")
        if given is None:
            self.check_count(len(verbs) * len(objects))
            pairs = [(v, o) for v in range(len(verbs)) for o in range(len(objects))]
        elif given == "verbs":
            pairs = [(verb, -1) for verb in range(len(verbs))]
        elif isinstance(given, str):
            pairs = self.matrix(self.path.parent / given, (len(verbs), len(objects)))
        elif isinstance(given, dict):
            pairs = []
            for verb, names in given.items():
                number = self.position("classes", verb, verbs)
                if not isinstance(names, list):
                    raise self.error(f"classes.{verb}", f"is {names!r:.60}; give a list of objects")
                key = f"classes.{verb}"
                pairs += [(number, self.position(key, name, objects)) for name in names]
        elif isinstance(given, list):
            pairs = [self.pair(f"classes[{n}]", one, verbs, objects) for n, one in enumerate(given)]
        else:
            raise self.error(
                "classes",
                "give a table of verb = [objects], a list of [verb, object], the path of an .npy "
                "matrix, or 'verbs'",
            )
        self.check_count(len(pairs))
        twice = first_repeated(pairs)
        if twice >= 0:
            verb, label = pairs[twice]
            raise self.error("classes", f"'{verbs[verb]} {objects[label]}' appears twice")
        return pairs

    def pair(
        self, key: str, given: Any, verbs: tuple[str, ...], objects: tuple[str, ...]
    ) -> tuple[int, int]:
        if not (isinstance(given, list) and len(given) == 2):
            raise self.error(key, f"is {given!r:.60}; give a verb and an object")
        verb, thing = given
        return self.position(key, verb, verbs), self.position(key, thing, objects)

    def check_count(self, classes: int) -> None:
        if not 0 < classes <= MOST_CLASSES:
            raise self.error(
                "classes", f"there are {classes} classes; give 1 to {MOST_CLASSES} of them"
            )

    def matrix(self, path: Path, shape: tuple[int, int]) -> Pairs:
        try:
            with ordinary(path).open("rb") as stream:
                matrix = np.lib.format.read_array(stream, allow_pickle=False)
        except OSError as error:
            raise self.error("classes", f"{path}: {error.strerror or error}") from None
        except Exception as error:  # NumPy raises many kinds of errors for other files
            what = " ".join(str(error).split()) or type(error).__name__
            raise self.error("classes", f"{path}: not a .npy array ({what:.80})") from None
        if matrix.shape != shape or not np.isin(matrix, (0, 1)).all():
            raise self.error(
                "classes",
                f"{path}: has shape {matrix.shape}; give a matrix of zeros and ones of the shape "
                f"{shape}: verbs x objects",
            )
        return [(int(verb), int(label)) for verb, label in np.argwhere(matrix)]

    def conventions(self, objects: int, verbs: int) -> Conventions:
        numbers = self.table("numbers", ("objects", "verbs", "predictions"))
        given = numbers.get("predictions")
        if not isinstance(given, dict | None):
            raise self.error("numbers.predictions", f"is {given!r:.60}; give a table")
        check_keys(f"{self.path}: numbers.predictions", given or {}, ("objects", "verbs"))
        usual = self.both_numbers("", numbers, objects, verbs)
        boxes = self.table("boxes", ("origin", "layout"))
        origin, layout = boxes.get("origin", 0), boxes.get("layout", "xyxy")
        if isinstance(origin, bool | float) or origin not in (0, 1):
            raise self.error("boxes.origin", f"is {origin!r:.60}; boxes are counted from 0 or 1")
        if layout not in ("xyxy", "xywh"):
            raise self.error("boxes.layout", f"is {layout!r:.60}; give 'xyxy' or 'xywh'")
        return Conventions(
            objects=usual.objects,
            verbs=usual.verbs,
            predictions=None
            if given is None
            else self.both_numbers("predictions.", numbers | given, objects, verbs),
            origin=origin,
            boxes=layout,
        )

    def both_numbers(
        self, where: str, table: Mapping[str, Any], objects: int, verbs: int
    ) -> Numbers:
        return Numbers(
            self.numbers(f"{where}objects", table.get("objects", 0), objects),
            self.numbers(f"{where}verbs", table.get("verbs", 0), verbs),
        )

    def numbers(self, key: str, given: Any, count: int) -> tuple[int, ...]:
        numbers = list(range(given, given + count)) if type(given) is int else given
        whole = isinstance(numbers, list) and all(
            type(n) is int and 0 <= n <= EXACT for n in numbers
        )
        if not whole or len(numbers) != count or len(np.unique(numbers)) < count:
            raise self.error(
                f"numbers.{key}",
                f"is {given!r:.60}; give the number of the first one, or a list of {count} "
                "different whole numbers",
            )
        return tuple(numbers)

    def splits(self, vocabulary: Vocabulary) -> dict[str, BoolArray]:
        """Return the splits of rare and non-rare classes, if the description defines them."""
        table = self.table("rare", ("classes", "counts", "below"))
        if not table:
            return {}
        if ("classes" in table) == ("counts" in table):
            raise self.error("rare", "give either 'classes' or 'counts'")
        where = f"{self.path}: rare"
        if "classes" in table:
            if not isinstance(table["classes"], list):
                raise self.error("rare.classes", "give a list of classes, by number or name")
            members = [find_class(where, one, vocabulary) for one in table["classes"]]
            rare = np.isin(np.arange(len(vocabulary)), members)
        else:
            below = table.get("below", 10)
            if type(below) is not int or not 0 <= below <= EXACT:
                raise self.error(
                    "rare.below", f"is {below!r:.60}; give a whole number from 0 to {EXACT}"
                )
            rare = self.counts(table["counts"], vocabulary) < below
        return {"rare": rare, "non_rare": ~rare}

    def counts(self, given: Any, vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
        """(C,) training instances of each class, 0 for classes that are not listed."""
        if isinstance(given, list) and len(given) == len(vocabulary):
            given = {hoi + 1: count for hoi, count in enumerate(given)}
        if not isinstance(given, dict) or not all(
            type(count) is int and 0 <= count <= EXACT for count in given.values()
        ):
            raise self.error(
                "rare.counts",
                f"give a list of {len(vocabulary)} whole numbers, one per class, or a table of "
                '"verb object" = number',
            )
        counts = np.zeros(len(vocabulary), dtype=np.int64)
        for one, count in given.items():
            counts[find_class(f"{self.path}: rare.counts", one, vocabulary)] = count
        return counts

    def protocol(self, name: str, pairs: Pairs, no_interaction: bool) -> Protocol:
        given = self.content.get("protocol", {})
        if not isinstance(given, str | dict):
            raise self.error("protocol", f"give one of {', '.join(PROTOCOLS)}, or a table")
        if isinstance(given, dict):
            check_keys(f"{self.path}: protocol", given, CHOICES)
            usual = ("verbs",) if pairs[0][1] < 0 else ("all", "interactions")
            for key, value in given.items():
                # The other classes need roles, or a list of evaluated ones, which descriptions
                # lack.
                allowed = usual if key == "classes" else None
                if problem := choice_problem(key, value, allowed):
                    raise self.error(f"protocol.{key}", problem)
            chosen = usual[-1] if no_interaction else usual[0]
            choices: dict[str, Any] = {"name": name, "classes": chosen} | given
            given = Protocol(**choices)
        try:
            return replace(protocol_named(given), rare="described")
        except InputError as error:
            raise self.error("protocol", str(error)) from None

"""Descriptions of data sets that are refused, and what is said about them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import InputError
from diaghoi.data.protocol import PROTOCOLS
from diaghoi.data.vocabulary import MOST_CLASSES
from diaghoi.formats.description import CHOICES, KEYS, read_description, vocabulary

Describe = Callable[..., Path]


TWO, THREE = (
    f"give the number of the first name, or a list of {count} different whole numbers"
    for count in (2, 3)
)
COUNTS = 'give 6 whole numbers, one per class, or a table of "verb object" = number'
A_CLASS = "give a number from 1 to 6 or a name like 'feed person'"
KNOWN = f"known: {', '.join(CHOICES)}"
PAIRS = "give a verb and an object"
ORIGIN = "give 0 or 1"
EITHER = "rare: give either 'classes' or 'counts'"
THRESHOLD = "give a number above 0, up to 1"
TOP = "give a whole number from 1 to 1,000,000,000"
CLASSES = "give 'all' or 'interactions'"
OBJECTS = "is not in the list of names (did you mean 'cat'?): person, cat, ball"
# What a description says beside its names, and what is said about it.
BAD = [
    ("objekts = []", f"objekts: unknown key (did you mean 'objects'?); known: {', '.join(KEYS)}"),
    (
        "numbers = { object = 1 }",
        "numbers: object: unknown key (did you mean 'objects'?); known: objects, verbs, "
        "predictions",
    ),
    ("numbers = 1", "numbers: is 1; give a table"),
    ("numbers = { predictions = 1 }", "numbers.predictions: is 1; give a table"),
    ('boxes = "xywh"', "boxes: is 'xywh'; give a table"),
    ("numbers.predictions = { verbs = -1 }", f"numbers.predictions.verbs: is -1; {TWO}"),
    ("numbers = { objects = -1 }", f"numbers.objects: is -1; {THREE}"),
    ("numbers = { verbs = [1] }", f"numbers.verbs: is [1]; {TWO}"),
    ("numbers = { verbs = [1, 1] }", f"numbers.verbs: is [1, 1]; {TWO}"),
    ("numbers = { verbs = true }", f"numbers.verbs: is True; {TWO}"),
    ("numbers = { verbs = [1.0, 2.0] }", f"numbers.verbs: is [1.0, 2.0]; {TWO}"),
    (f"numbers = {{ verbs = [1, {2**64}] }}", f"numbers.verbs: is [1, {2**64}]; {TWO}"),
    ("boxes = { origin = 2 }", f"boxes.origin: is 2; {ORIGIN}"),
    ("boxes = { origin = true }", f"boxes.origin: is True; {ORIGIN}"),
    ("boxes = { origin = 1.0 }", f"boxes.origin: is 1.0; {ORIGIN}"),
    ('boxes = { layout = "cxcywh" }', "boxes.layout: is 'cxcywh'; give 'xyxy' or 'xywh'"),
    ('person = "keeper"', "person: 'keeper' is not in the list of names: person, cat, ball"),
    ("person = 0", "person: is 0; give a string"),
    (
        'no_interaction = "fed"',
        "no_interaction: 'fed' is not in the list of names (did you mean 'feed'?): feed, throw",
    ),
    ("annotations = ['a.json']", "annotations: is ['a.json']; give a string"),
    ('annotations = ""', "annotations: is ''; give a string"),
    (
        'classes = { thrown = ["ball"] }',
        "classes: 'thrown' is not in the list of names (did you mean 'throw'?): feed, throw",
    ),
    ('classes = { feed = ["cats"] }', f"classes.feed: 'cats' {OBJECTS}"),
    (
        "classes = { feed = [1] }",
        "classes.feed: 1 is not in the list of names: person, cat, ball",
    ),
    ('classes = { feed = "cat" }', "classes.feed: is 'cat'; give a list of objects"),
    ('classes = { feed = ["cat", "ball", "cat"] }', "classes: 'feed cat' appears twice"),
    ("classes = [1]", f"classes[0]: is 1; {PAIRS}"),
    (
        'classes = [["feed", "cat"], ["feed", "cat", "ball"]]',
        f"classes[1]: is ['feed', 'cat', 'ball']; {PAIRS}",
    ),
    ('classes = [["feed", "cats"]]', f"classes[0]: 'cats' {OBJECTS}"),
    ('classes = [["feed", "cat"], ["feed", "cat"]]', "classes: 'feed cat' appears twice"),
    ("classes = {}", f"classes: there are 0 classes; give 1 to {MOST_CLASSES} classes"),
    (
        "classes = 1",
        "classes: is 1; give a table of verb = [objects], a list of [verb, object], the path of an "
        ".npy matrix, or 'verbs'",
    ),
    ("rare = { below = 5 }", EITHER),
    ("rare = { classes = [1], counts = [1, 2, 3, 4, 5, 6] }", EITHER),
    (
        'rare = { classes = "feed cat" }',
        "rare.classes: is 'feed cat'; give a list of classes, by number or name",
    ),
    ("rare = { counts = [1, 2, 3] }", f"rare.counts: is [1, 2, 3]; {COUNTS}"),
    ('rare = { counts = { "feed cat" = -1 } }', f"rare.counts: is {{'feed cat': -1}}; {COUNTS}"),
    (
        "rare = { counts = [1, 2, 3, 4, 5, 6], below = 2.5 }",
        "rare.below: is 2.5; give a whole number from 0 to 9007199254740992",
    ),
    ("protocol = 1", f"protocol: is 1; give one of {', '.join(PROTOCOLS)}, or a table"),
    (
        'protocol = "hico-dett"',
        "unknown protocol 'hico-dett' (did you mean 'hico-det' or 'hico-det-520'?); "
        f"known: {', '.join(PROTOCOLS)}",
    ),
    (
        'protocol = "v-coco-s1"',
        "protocol v-coco-s1 is not for zoo; choose hico-det, hico-det-520, diag-hoi, "
        "upt, cdn, gen-vlkt, ppdm, hoiclip, cmd-se, cmd-se-600, cmd-se-520, qahoi, swig-hoi, hoi-a",
    ),
    (
        "protocol = { iuo = 0.5 }",
        f"protocol: iuo: unknown key (did you mean 'iou'?); {KNOWN}",
    ),
    # A choice for other data sets.
    ('protocol = { pairing = "person" }', f"protocol: pairing: unknown key; {KNOWN}"),
    (
        "protocol = { added_to_union = -1.0 }",
        "protocol.added_to_union: is -1.0; give a number of at least 0",
    ),
    ('protocol = { classes = "roles" }', f"protocol.classes: is 'roles'; {CLASSES}"),
    ('protocol = { classes = "evaluated" }', f"protocol.classes: is 'evaluated'; {CLASSES}"),
    (
        'protocol = { boxes = "xywh" }',
        "protocol.boxes: is 'xywh'; give 'inclusive' or 'continuous'",
    ),
    ('protocol = { iou = "0.5" }', f"protocol.iou: is '0.5'; {THRESHOLD}"),
    ("protocol = { iou = 50 }", f"protocol.iou: is 50; {THRESHOLD}"),
    ("protocol = { iou = nan }", f"protocol.iou: is nan; {THRESHOLD}"),
    ("protocol = { top = true }", f"protocol.top: is True; {TOP}"),
    (
        "protocol = { top = 0 }",
        "protocol.top: is 0; give a whole number from 1 to 1,000,000,000",
    ),
    (
        "protocol = { top_of_class = 0 }",
        f"protocol.top_of_class: is 0; {TOP}",
    ),
    ("protocol = { strict = 1 }", "protocol.strict: is 1; give True or False"),
    (
        'rare.classes = ["feed cats"]',
        "rare: unknown class 'feed cats' (did you mean 'feed cat' or 'feed ball' or 'feed person'"
        f"?); {A_CLASS}",
    ),
    ("rare.classes = [0]", f"rare: unknown class 0; {A_CLASS}"),
    ("rare.classes = [true]", f"rare: unknown class True; {A_CLASS}"),
    (
        'rare.counts = { "fed ball" = 1 }',
        "rare.counts: unknown class 'fed ball' (did you mean 'feed ball' or 'feed cat'?); "
        f"{A_CLASS}",
    ),
]


@pytest.mark.parametrize(("text", "problem"), BAD, ids=[text for text, _ in BAD])
def test_bad_values(text: str, problem: str, describe: Describe) -> None:
    path = describe(text)
    with pytest.raises(InputError) as error:
        read_description(path)
    assert str(error.value) == f"{path}: {problem}"


MISSING = "is missing; a description needs name, objects, verbs"
ZOO = 'name = "zoo"\nobjects = '
TOO_MANY = f"give 1 to {MOST_CLASSES} classes"


def _many(objects: int, verbs: int) -> str:
    things, actions = ["person", *map(str, range(objects - 1))], [*map(str, range(verbs))]
    return f"{ZOO}{json.dumps(things)}\nverbs = {json.dumps(actions)}"


BAD_NAMES = {
    "nothing": ("", f"the key 'name' {MISSING}"),
    "no objects": ('name = "zoo"', f"the key 'objects' {MISSING}"),
    "no verbs": (f'{ZOO}["person"]', f"the key 'verbs' {MISSING}"),
    "no name": ('name = ""', "name: is ''; give a string"),
    "number as name": ("name = 7", "name: is 7; give a string"),
    "known data set": (
        'name = "swig-hoi"',
        "name: 'swig-hoi' is the name of a known data set; choose another",
    ),
    "name of a protocol": (
        'name = "diag-hoi"',
        "name: 'diag-hoi' is the name of a protocol; choose another",
    ),
    "objects as text": (f'{ZOO}"person"', "objects: is 'person'; give a list of names"),
    "empty list": (f"{ZOO}[]", "objects: is []; give a list of names"),
    "numbers as objects": (f'{ZOO}["person", 2]', "objects[1]: is 2; give a name"),
    "object without name": (f'{ZOO}["person", ""]', "objects[1]: is ''; give a name"),
    "object twice": (
        f'{ZOO}["person", "cat", "dog", "cat"]',
        "objects: 'cat' appears twice; give each a different name",
    ),
    "verb twice": (
        f'{ZOO}["person"]\nverbs = ["hug", "hug"]',
        "verbs: 'hug' appears twice; give each a different name",
    ),
    "no person": (
        f'{ZOO}["cat", "persons"]\nverbs = ["feed"]',
        "person: 'person' is not in the list of names (did you mean 'persons'?): cat, persons",
    ),
    "too many classes": (_many(200, 200), f"classes: there are 40000 classes; {TOO_MANY}"),
    # Comparing each with all before it, or making their classes before counting them, has no end.
    "very many names": (
        _many(100_000, 100_000),
        f"classes: there are 10000000000 classes; {TOO_MANY}",
    ),
}


@pytest.mark.parametrize(("text", "problem"), BAD_NAMES.values(), ids=BAD_NAMES)
def test_bad_names(text: str, problem: str, describe: Describe) -> None:
    path = describe(text, needed="")
    with pytest.raises(InputError) as error:
        read_description(path)
    assert str(error.value) == f"{path}: {problem}"


SHAPE = "give a matrix of zeros and ones of the shape (2, 3): verbs x objects"
MATRICES: dict[str, tuple[Any, str]] = {
    "objects x verbs": (np.ones((3, 2)), f"has shape (3, 2); {SHAPE}"),
    "too few": (np.ones((2, 2)), f"has shape (2, 2); {SHAPE}"),
    "one number": (np.array(1), f"has shape (); {SHAPE}"),
    "counts": (np.array([[0, 1, 2], [0, 0, 0]]), f"has shape (2, 3); {SHAPE}"),
    "NaN": (np.full((2, 3), np.nan), f"has shape (2, 3); {SHAPE}"),
    "text": (np.full((2, 3), "1"), f"has shape (2, 3); {SHAPE}"),
    "objects": (np.full((2, 3), None), "not a .npy array (Object arrays cannot be loaded"),
}


@pytest.mark.parametrize(("matrix", "problem"), MATRICES.values(), ids=MATRICES)
def test_bad_matrices(matrix: Any, problem: str, describe: Describe, tmp_path: Path) -> None:
    np.save(tmp_path / "go.npy", matrix)
    path = describe('classes = "go.npy"')
    with pytest.raises(InputError) as error:
        read_description(path)
    assert str(error.value).startswith(f"{path}: classes: {tmp_path / 'go.npy'}: {problem}")


def test_a_matrix_of_zeros_has_no_class(describe: Describe, tmp_path: Path) -> None:
    np.save(tmp_path / "go.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match="classes: there are 0 classes; give 1 to"):
        read_description(describe('classes = "go.npy"'))


def _cut(path: Path) -> None:
    np.save(path, np.ones((2, 3)))
    path.write_bytes(path.read_bytes()[:-5])


def _longer(path: Path) -> None:
    np.save(path, np.ones((2, 3)))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"(2, 3), }" + b" " * 12, b"(2, 3" + b"0" * 12 + b"), }"))
    assert len(path.read_bytes()) == len(content)


def _archive(path: Path) -> None:
    with path.open("wb") as stream:
        np.savez(stream, np.ones((2, 3)))


NO_MATRIX: dict[str, Callable[[Path], Any]] = {
    "cut off": _cut,
    "announces more": _longer,
    "text": lambda path: path.write_text("verb,object"),
    "empty": lambda path: path.write_bytes(b""),
    "archive": _archive,
    "damaged archive": lambda path: path.write_bytes(b"PK\x03\x04damaged"),
    "pickle": lambda path: path.write_bytes(pickle.dumps([[1]])),
    "absent": lambda path: None,
    "folder": lambda path: path.mkdir(),
}
REASONS = {"absent": "No such file or directory", "folder": "Is a directory"}


@pytest.mark.parametrize("case", NO_MATRIX)
def test_files_that_hold_no_matrix(case: str, describe: Describe, tmp_path: Path) -> None:
    matrix = tmp_path / "go.npy"
    NO_MATRIX[case](matrix)
    path = describe('classes = "go.npy"')
    with pytest.raises(InputError) as error:
        read_description(path)
    problem = REASONS.get(case, "not a .npy array (")
    assert str(error.value).startswith(f"{path}: classes: {matrix}: {problem}")
    assert "\n" not in str(error.value)


def test_files_that_are_no_toml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^nowhere\.toml: No such file or directory; check the"):
        vocabulary("nowhere.toml")
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(InputError, match=r"folder\.toml: Is a directory; check the path"):
        vocabulary(str(folder))
    path = tmp_path / "x.toml"
    for content in (
        b'{"name": "zoo"}',
        b'name = "zoo"\nname = "zoo"',
        b'name = "\xff"',
        b"name = " + b"9" * 5000,
        b"name = " + b"[" * 100_000,
    ):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            vocabulary(str(path))
        kind = (
            "not TOML, because it is not UTF-8 text" if b"\xff" in content else "not valid TOML ("
        )
        assert str(error.value).startswith(f"{path}: {kind}")
        assert "\n" not in str(error.value)

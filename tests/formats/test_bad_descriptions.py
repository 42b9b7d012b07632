"""Descriptions of data sets that are refused, and what is said about them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import write_description

from diaghoi import InputError
from diaghoi.data.vocabulary import MOST_CLASSES
from diaghoi.formats.description import read_description, vocabulary

Describe = Callable[..., Path]


@pytest.fixture
def describe(tmp_path: Path) -> Describe:
    """Return a function that writes a description and gives its path."""
    return partial(write_description, tmp_path)


BAD: dict[str, tuple[str, str]] = {
    "unknown key": (
        "objekts = []",
        "objekts: unknown key (did you mean 'objects'?); known: name, objects, verbs, person, "
        "no_interaction, classes, annotations, numbers, boxes, rare, protocol",
    ),
    "unknown key of a table": (
        "numbers = { object = 1 }",
        "numbers: object: unknown key (did you mean 'objects'?); known: objects, verbs, "
        "predictions",
    ),
    "predictions are no table": (
        "numbers = { predictions = 1 }",
        "numbers.predictions: is 1; give a table",
    ),
    "numbers of predictions": (
        "numbers.predictions = { verbs = -1 }",
        "numbers.predictions.verbs: is -1; give the number of the first one, or a list of 2 "
        "different whole numbers",
    ),
    "person is no object": (
        'person = "keeper"',
        "person: 'keeper' is not in the list of names: person, cat, ball",
    ),
    "person is no name": ("person = 0", "person: is 0; give a string"),
    "no_interaction is no verb": (
        'no_interaction = "fed"',
        "no_interaction: 'fed' is not in the list of names (did you mean 'feed'?): feed, throw",
    ),
    "annotations": ("annotations = ['a.json']", "annotations: is ['a.json']; give a string"),
    "no path": ('annotations = ""', "annotations: is ''; give a string"),
    "unknown verb in classes": (
        'classes = { thrown = ["ball"] }',
        "classes: 'thrown' is not in the list of names (did you mean 'throw'?): feed, throw",
    ),
    "unknown object in classes": (
        'classes = { feed = ["cats"] }',
        "classes.feed: 'cats' is not in the list of names (did you mean 'cat'?): person, cat, ball",
    ),
    "number in classes": (
        "classes = { feed = [1] }",
        "classes.feed: 1 is not in the list of names: person, cat, ball",
    ),
    "one object in classes": (
        'classes = { feed = "cat" }',
        "classes.feed: is 'cat'; give a list of objects",
    ),
    "class twice": (
        'classes = { feed = ["cat", "ball", "cat"] }',
        "classes: 'feed cat' appears twice",
    ),
    "classes of one word": ("classes = [1]", "classes[0]: is 1; give a verb and an object"),
    "classes of three words": (
        'classes = [["feed", "cat"], ["feed", "cat", "ball"]]',
        "classes[1]: is ['feed', 'cat', 'ball']; give a verb and an object",
    ),
    "classes of an unknown object": (
        'classes = [["feed", "cats"]]',
        "classes[0]: 'cats' is not in the list of names (did you mean 'cat'?): person, cat, ball",
    ),
    "listed twice": (
        'classes = [["feed", "cat"], ["feed", "cat"]]',
        "classes: 'feed cat' appears twice",
    ),
    "no class": ("classes = {}", f"classes: there are 0 classes; give 1 to {MOST_CLASSES} of them"),
    "list of classes": (
        "classes = 1",
        "classes: is 1; give a table of verb = [objects], a list of [verb, object], the path of an "
        ".npy matrix, or 'verbs'",
    ),
    "first number": (
        "numbers = { objects = -1 }",
        "numbers.objects: is -1; give the number of the first one, or a list of 3 different whole "
        "numbers",
    ),
    "too few numbers": (
        "numbers = { verbs = [1] }",
        "numbers.verbs: is [1]; give the number of the first one, or a list of 2 different whole "
        "numbers",
    ),
    "number twice": (
        "numbers = { verbs = [1, 1] }",
        "numbers.verbs: is [1, 1]; give the number of the first one, or a list of 2 different "
        "whole numbers",
    ),
    "true is no number": (
        "numbers = { verbs = true }",
        "numbers.verbs: is True; give the number of the first one, or a list of 2 different whole "
        "numbers",
    ),
    "fractions are no numbers": (
        "numbers = { verbs = [1.0, 2.0] }",
        "numbers.verbs: is [1.0, 2.0]; give the number of the first one, or a list of 2 different "
        "whole numbers",
    ),
    "numbers beyond all files": (
        f"numbers = {{ verbs = [1, {2**64}] }}",
        f"numbers.verbs: is [1, {2**64}]; give the number of the first one, or a list of 2 "
        "different whole numbers",
    ),
    "numbers": ("numbers = 1", "numbers: is 1; give a table"),
    "origin": ("boxes = { origin = 2 }", "boxes.origin: is 2; give 0 or 1"),
    "true is no origin": (
        "boxes = { origin = true }",
        "boxes.origin: is True; give 0 or 1",
    ),
    "fractions are no origin": (
        "boxes = { origin = 1.0 }",
        "boxes.origin: is 1.0; give 0 or 1",
    ),
    "layout": (
        'boxes = { layout = "cxcywh" }',
        "boxes.layout: is 'cxcywh'; give 'xyxy' or 'xywh'",
    ),
    "boxes": ('boxes = "xywh"', "boxes: is 'xywh'; give a table"),
    "neither classes nor counts": (
        "rare = { below = 5 }",
        "rare: give either 'classes' or 'counts'",
    ),
    "classes and counts": (
        "rare = { classes = [1], counts = [1, 2, 3, 4, 5, 6] }",
        "rare: give either 'classes' or 'counts'",
    ),
    "rare class": (
        'rare = { classes = "feed cat" }',
        "rare.classes: is 'feed cat'; give a list of classes, by number or name",
    ),
    "counts of some classes": (
        "rare = { counts = [1, 2, 3] }",
        "rare.counts: is [1, 2, 3]; give 6 whole numbers, one per class, or a table of "
        '"verb object" = number',
    ),
    "negative count": (
        'rare = { counts = { "feed cat" = -1 } }',
        "rare.counts: is {'feed cat': -1}; give 6 whole numbers, one per class, or a table of "
        '"verb object" = number',
    ),
    "below": (
        "rare = { counts = [1, 2, 3, 4, 5, 6], below = 2.5 }",
        "rare.below: is 2.5; give a whole number from 0 to 9007199254740992",
    ),
    "protocol": (
        "protocol = 1",
        "protocol: is 1; give one of hico-det, hico-det-520, diag-hoi, upt, cdn, gen-vlkt, ppdm, "
        "hoiclip, cmd-se, cmd-se-600, cmd-se-520, qahoi, v-coco-s1, v-coco-s2, v-coco-diag-hoi, "
        "v-coco-diag-hoi-published, v-coco-thesis, swig-hoi, hoi-a, hoi-a-verbs, or a table",
    ),
    "unknown protocol": (
        'protocol = "hico-dett"',
        "protocol: unknown protocol 'hico-dett' (did you mean 'hico-det' or 'hico-det-520'?); "
        "known: hico-det, hico-det-520, diag-hoi, upt, cdn, gen-vlkt, ppdm, hoiclip, cmd-se, "
        "cmd-se-600, cmd-se-520, qahoi, v-coco-s1, v-coco-s2, v-coco-diag-hoi, "
        "v-coco-diag-hoi-published, v-coco-thesis, swig-hoi, hoi-a, hoi-a-verbs",
    ),
    "protocol for roles": (
        'protocol = "v-coco-s1"',
        "protocol: protocol v-coco-s1 is not for zoo; choose hico-det, hico-det-520, diag-hoi, "
        "upt, cdn, gen-vlkt, ppdm, hoiclip, cmd-se, cmd-se-600, cmd-se-520, qahoi, swig-hoi, hoi-a",
    ),
    "unknown choice": (
        "protocol = { iuo = 0.5 }",
        "protocol: iuo: unknown key (did you mean 'iou'?); known: classes, average_precision, "
        "class_without_true_positive, iou, strict, boxes, top, top_of_class, "
        "images_without_predictions, images_without_annotations, levels_from, claim, "
        "class_without_annotation, added_to_union, duplicates, class_without_prediction",
    ),
    "choice for other data sets": (
        'protocol = { pairing = "person" }',
        "protocol: pairing: unknown key; known: classes, average_precision, "
        "class_without_true_positive, iou, strict, boxes, top, top_of_class, "
        "images_without_predictions, images_without_annotations, levels_from, claim, "
        "class_without_annotation, added_to_union, duplicates, class_without_prediction",
    ),
    "a union that shrinks": (
        "protocol = { added_to_union = -1.0 }",
        "protocol: added_to_union must be 0 or more, not -1",
    ),
    "roles": (
        'protocol = { classes = "roles" }',
        "protocol.classes: is 'roles'; give 'all' or 'interactions'",
    ),
    "evaluated classes": (
        'protocol = { classes = "evaluated" }',
        "protocol.classes: is 'evaluated'; give 'all' or 'interactions'",
    ),
    "value of a choice": (
        'protocol = { boxes = "xywh" }',
        "protocol.boxes: is 'xywh'; give 'inclusive' or 'continuous'",
    ),
    "threshold as text": ('protocol = { iou = "0.5" }', "protocol.iou: is '0.5'; give float"),
    "threshold as percent": (
        "protocol = { iou = 50 }",
        "protocol: the IoU threshold must lie in (0, 1], not 50",
    ),
    "threshold that is no number": (
        "protocol = { iou = nan }",
        "protocol: the IoU threshold must lie in (0, 1], not nan",
    ),
    "true is no top": ("protocol = { top = true }", "protocol.top: is True; give int"),
    "top of nothing": (
        "protocol = { top = 0 }",
        "protocol: top must be a number of triplets from 1 to 1,000,000,000, not 0",
    ),
    "strict": ("protocol = { strict = 1 }", "protocol.strict: is 1; give bool"),
}


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD)
def test_bad_values(text: str, problem: str, describe: Describe) -> None:
    path = describe(text)
    with pytest.raises(InputError) as error:
        read_description(path)
    assert str(error.value) == f"{path}: {problem}"


UNKNOWN: dict[str, tuple[str, str]] = {
    "rare": ('classes = ["feed cats"]', "rare: unknown class 'feed cats' (did you mean 'feed cat'"),
    "zero": ("classes = [0]", "rare: unknown class 0; give a number from 1 to 6 or a name like"),
    "true": ("classes = [true]", "rare: unknown class True; give a number from 1 to 6 or a name"),
    "counted": (
        'counts = { "fed ball" = 1 }',
        "rare.counts: unknown class 'fed ball' (did you mean 'feed ball'",
    ),
}


@pytest.mark.parametrize(("text", "problem"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_classes(text: str, problem: str, describe: Describe) -> None:
    path = describe(f"[rare]\n{text}")
    with pytest.raises(InputError) as error:
        read_description(path)
    assert str(error.value).startswith(f"{path}: {problem}")


def test_a_protocol_keeps_some_of_each_class(describe: Describe) -> None:
    path = describe("protocol = { top_of_class = 0 }")
    with pytest.raises(InputError, match="top_of_class must be a number of triplets from 1"):
        read_description(path)


BAD_NAMES: dict[str, tuple[str, str]] = {
    "nothing": ("", "the key 'name' is missing; a description needs name, objects, verbs"),
    "no objects": (
        'name = "zoo"',
        "the key 'objects' is missing; a description needs name, objects, verbs",
    ),
    "no verbs": (
        'name = "zoo"\nobjects = ["person"]',
        "the key 'verbs' is missing; a description needs name, objects, verbs",
    ),
    "no name": ('name = ""', "name: is ''; give a string"),
    "number as name": ("name = 7", "name: is 7; give a string"),
    "known data set": (
        'name = "swig-hoi"',
        "name: 'swig-hoi' is known without a description; choose another",
    ),
    "name of a protocol": (
        'name = "diag-hoi"',
        "name: 'diag-hoi' is the name of a protocol; choose another",
    ),
    "objects as text": (
        'name = "zoo"\nobjects = "person"',
        "objects: is 'person'; give a list of names",
    ),
    "empty list": (
        'name = "zoo"\nobjects = []',
        "objects: is []; give a list of names",
    ),
    "numbers as objects": (
        'name = "zoo"\nobjects = ["person", 2]',
        "objects[1]: is 2; give a name",
    ),
    "object without name": (
        'name = "zoo"\nobjects = ["person", ""]',
        "objects[1]: is ''; give a name",
    ),
    "object twice": (
        'name = "zoo"\nobjects = ["person", "cat", "dog", "cat"]',
        "objects: 'cat' appears twice; give each a different name",
    ),
    "verb twice": (
        'name = "zoo"\nobjects = ["person"]\nverbs = ["hug", "hug"]',
        "verbs: 'hug' appears twice; give each a different name",
    ),
    "no person": (
        'name = "zoo"\nobjects = ["cat", "persons"]\nverbs = ["feed"]',
        "person: 'person' is not in the list of names (did you mean 'persons'?): cat, persons",
    ),
    "too many classes": (
        f'name = "zoo"\nobjects = {json.dumps(["person", *map(str, range(199))])}\n'
        f"verbs = {json.dumps([*map(str, range(200))])}",
        f"classes: there are 40000 classes; give 1 to {MOST_CLASSES} of them",
    ),
    # Comparing each with all before it, or making their classes before counting them, has no end.
    "very many names": (
        f'name = "zoo"\nobjects = {json.dumps(["person", *map(str, range(99_999))])}\n'
        f"verbs = {json.dumps([*map(str, range(100_000))])}",
        f"classes: there are 10000000000 classes; give 1 to {MOST_CLASSES} of them",
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


NO_MATRIX: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut off": (_cut, "not a .npy array ("),
    "announces more": (_longer, "not a .npy array ("),
    "text": (lambda path: path.write_text("verb,object"), "not a .npy array ("),
    "empty": (lambda path: path.write_bytes(b""), "not a .npy array ("),
    "archive": (_archive, "not a .npy array ("),
    "damaged archive": (lambda path: path.write_bytes(b"PK\x03\x04damaged"), "not a .npy array ("),
    "pickle": (lambda path: path.write_bytes(pickle.dumps([[1]])), "not a .npy array ("),
    "absent": (lambda path: None, "No such file or directory"),
    "folder": (lambda path: path.mkdir(), "Is a directory"),
}


@pytest.mark.parametrize(("make", "problem"), NO_MATRIX.values(), ids=NO_MATRIX)
def test_files_that_hold_no_matrix(
    make: Callable[[Path], Any], problem: str, describe: Describe, tmp_path: Path
) -> None:
    matrix = tmp_path / "go.npy"
    make(matrix)
    path = describe('classes = "go.npy"')
    with pytest.raises(InputError) as error:
        read_description(path)
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

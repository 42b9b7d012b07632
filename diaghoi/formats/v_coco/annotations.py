"""V-COCO annotations in the official layout: ``vcoco_test.json`` and the two files beside it.

A list of 26 dicts, one per action: ``action_name``, ``role_name`` (``agent`` first), and one entry
per person in ``image_id``, ``ann_id`` and ``label`` (1: performs it); ``role_object_id`` holds the
ids of all persons for the first role, then for the second ..., 0 for no box. Ids are those of COCO,
whose boxes are in an instances file; the images are those of the split's ``.ids`` file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, distinct
from diaghoi.data.files import ordinary
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import shown
from diaghoi.formats.content import Content
from diaghoi.formats.v_coco.boxes import CocoBoxes, read_coco_boxes
from diaghoi.formats.v_coco.keys import roles

INSTANCES = "instances_vcoco_all_2014.json"
_MOST_DIGITS = 15
_KEYS = ("action_name", "role_name", "image_id", "ann_id", "label", "role_object_id")
# Where the official repository and the code bases of the field keep the other two files, seen from
# the folder of vcoco_test.json.
_INSTANCES_IN = (".", "..", "annotations", "../annotations", "../coco/annotations", "../..")
_IDS_IN = (".", "splits", "../splits", "..")


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    return "annotations" if {"action_name", "role_object_id"} <= content.first.keys() else None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Action:
    """The people who perform one action, and the objects of its roles."""

    name: str
    classes: IntArray
    images: IntArray
    people: IntArray
    done: BoolArray
    objects: IntArray


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Join the three files."""
    file = content.file
    beside = companions(content.path)
    instances, split = options.instances or beside[0], options.ids or beside[1]
    if instances is None:
        raise _lost(content.path, INSTANCES, _INSTANCES_IN, "--read instances=FILE")
    if split is None:
        raise _lost(content.path, f"{content.path.stem}.ids", _IDS_IN, "--read ids=FILE")
    actions = _actions(content)
    ids = _split(split)
    annotated = np.unique(actions[0].images)
    missing = ids[~np.isin(ids, annotated)]
    if len(missing):
        raise InputError(
            f"{split}: image {missing[0]} is not annotated in {file}, and {len(missing)} of "
            f"{len(ids)} images are not; give the .ids file of the same split"
        )
    boxes = read_coco_boxes(instances, ids)
    person, verb, object_box = _triplets(file, actions, ids, boxes)
    order = np.argsort(person * len(options.vocabulary.verbs) + verb, kind="stable")
    person, verb, object_box = person[order], verb[order], object_box[order]
    first, pair = distinct(person * np.int64(len(boxes.image) + 1) + object_box + 1)
    ignored = (boxes.label == options.vocabulary.person) & ~np.isin(
        boxes.annotation, actions[0].people
    )
    return Scenes(
        vocabulary=options.vocabulary,
        names=np.array([str(number) for number in ids.tolist()], dtype=np.str_),
        sizes=boxes.sizes,
        box_image=boxes.image,
        box_xyxy=boxes.xyxy,
        box_label=boxes.label,
        box_ignored=ignored,
        pair_human=person[first],
        pair_object=object_box[first],
        triplet_pair=pair,
        triplet_verb=verb,
        source=file,
        notes=_notes(file, int(ignored.sum()), len(annotated) - len(ids)),
    )


def _notes(file: str, ignored: int, left_out: int) -> tuple[str, ...]:
    notes = []
    if ignored:
        notes.append(
            f"{file}: {'1 person has' if ignored == 1 else f'{ignored:,} people have'} no action "
            "annotations; predicted triplets on them are ignored, predicted pairs count"
        )
    if left_out:
        notes.append(f"{file}: {left_out} annotated images are not in the split and left out")
    return tuple(notes)


def companions(path: Path) -> tuple[Path | None, Path | None]:
    """Find the files that belong to a V-COCO file, in the usual folders.

    Returns
    -------
    instances, ids : pathlib.Path or None
        The COCO instances file and the ``.ids`` file; None if there is none.
    """
    wanted = ((INSTANCES, _INSTANCES_IN), (f"{path.stem}.ids", _IDS_IN))
    instances, ids = (
        next((place for place in _places(path, *each) if place.is_file()), None) for each in wanted
    )
    return instances, ids


def _places(path: Path, name: str, folders: tuple[str, ...]) -> list[Path]:
    return [path.parent / folder / name for folder in folders]


def _lost(path: Path, name: str, folders: tuple[str, ...], option: str) -> InputError:
    places = _places(path, name, folders)
    where = some_of([str(Path(os.path.normpath(place)).parent) for place in places])
    return InputError(
        f"{path}: {name} belongs to this file and was not found in {where}; give it with {option}"
    )


def _split(path: str | os.PathLike[str]) -> IntArray:
    """Read the image ids of a split, one per line."""
    try:
        words = ordinary(path).read_text(encoding="utf-8", errors="replace").split()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from error
    bad = next((word for word in words if not (word.isascii() and word.isdigit())), None)
    if bad is not None or not words:
        what = "no image ids in it" if bad is None else f"{shown(bad)} is not an image id"
        raise InputError(f"{path}: {what}; give the .ids file of the split, one id per line")
    large = next((word for word in words if len(word) > _MOST_DIGITS), None)
    if large is not None:
        raise InputError(f"{path}: {shown(large)} is too large for an image id of COCO")
    ids = np.array([int(word) for word in words], dtype=np.int64)
    if len(np.unique(ids)) < len(ids):
        twice = int(ids[np.flatnonzero(np.bincount(np.unique(ids, return_inverse=True)[1]) > 1)[0]])
        raise InputError(f"{path}: image {twice} is listed twice; list every image once")
    return ids


def _actions(content: Content) -> list[_Action]:
    """Check the V-COCO file, and bring its actions to official order."""
    file, known = content.file, roles()
    found: dict[str, _Action] = {}
    for n, row in enumerate(content.value):
        where = f"{file}: action {n} (counted from 0)"
        if not isinstance(row, dict):
            raise InputError(f"{where}: is {shown(row)}; give a dict")
        absent = [key for key in _KEYS if key not in row]
        if absent:
            raise InputError(f"{where}: the keys {', '.join(absent)} are missing")
        name = row["action_name"]
        if name not in known.actions:
            hint = close_matches(str(name), known.actions)
            raise InputError(f"{where}: action_name: V-COCO has no action {shown(name)}{hint}")
        if name in found:
            raise InputError(f"{where}: action_name: {name!r} is listed twice")
        found[name] = _action(f"{file}: action {name!r}", row)
    missing = [name for name in known.actions if name not in found]
    if missing:
        raise InputError(f"{file}: the actions {some_of(missing)} are missing; V-COCO has 26")
    return [found[name] for name in known.actions]


def _action(where: str, row: dict[str, Any]) -> _Action:
    """Check one action."""
    known, name = roles(), row["action_name"]
    number = known.actions.index(name)
    classes = np.flatnonzero(known.action == number)
    wanted = [known.keys[c].removeprefix(f"{name}_") for c in classes]
    given = row["role_name"]
    if not isinstance(given, list) or sorted(map(str, given)) != sorted(wanted):
        raise InputError(f"{where}: role_name: is {shown(given)}; V-COCO has {', '.join(wanted)}")
    columns = {key: _integers(where, key, row[key]) for key in _KEYS[2:]}
    people = columns["ann_id"]
    for key, column in columns.items():
        rows = len(people) * (len(wanted) if key == "role_object_id" else 1)
        if len(column) != rows:
            raise InputError(
                f"{where}: {key}: has {len(column)} entries, and {rows} are needed for "
                f"{len(people)} entries of 'ann_id'"
            )
    objects = columns["role_object_id"].reshape(len(given), len(people))
    done = columns["label"] == 1
    if (objects[given.index("agent")] != people)[done].any():
        raise InputError(
            f"{where}: role_object_id: the agents are not the people of 'ann_id'; the ids of all "
            "people for the first role come first, then those for the second"
        )
    doing = np.sort(people[done])
    if (doing[1:] == doing[:-1]).any():
        twice = doing[1:][doing[1:] == doing[:-1]][0]
        raise InputError(f"{where}: ann_id: person {twice} has label 1 twice")
    return _Action(
        name=name,
        classes=classes,
        images=columns["image_id"],
        people=people,
        done=done,
        objects=objects[[given.index(role) for role in wanted]],
    )


def _integers(where: str, key: str, values: Any) -> IntArray:
    try:
        if not isinstance(values, list | tuple | np.ndarray):
            raise TypeError
        # Not numpy.array(): nested lists would become an array of many dimensions.
        array = np.fromiter(values, dtype=np.float64, count=len(values))
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        if np.array_equal(whole, array):
            return whole
    except (TypeError, ValueError, OverflowError, Warning):
        pass
    raise InputError(f"{where}: {key}: is {shown(values)}; give a list of whole numbers")


def _triplets(
    file: str, actions: list[_Action], ids: IntArray, boxes: CocoBoxes
) -> tuple[IntArray, IntArray, IntArray]:
    """List (person box, class, object box or -1) of every person, action and role."""
    parts = []
    for action in actions:
        chosen = action.done & np.isin(action.images, ids)
        image, people = action.images[chosen], action.people[chosen]
        person = _rows(file, action, "ann_id", people, image, ids, boxes)
        for place, verb in enumerate(action.classes):
            objects = action.objects[place, chosen] if place else np.zeros_like(people)
            object_box = _rows(file, action, "role_object_id", objects, image, ids, boxes)
            lost = (object_box < 0) & (objects != 0)
            if lost.any():
                raise InputError(
                    f"{file}: image {image[lost][0]}: action {action.name!r}: role_object_id: "
                    f"annotation {objects[lost][0]} has no usable box in {boxes.file}"
                )
            usable = person >= 0
            parts.append((person[usable], np.full(int(usable.sum()), verb), object_box[usable]))
    person, verb, object_box = (np.concatenate(column) for column in zip(*parts, strict=True))
    return person, verb, object_box


def _rows(
    file: str,
    action: _Action,
    key: str,
    annotation: IntArray,
    image: IntArray,
    ids: IntArray,
    boxes: CocoBoxes,
) -> IntArray:
    """Find the boxes of annotation ids, which must belong to the image; -1 for the id 0."""
    rows = boxes.rows(annotation)
    unknown = (annotation != 0) & ~np.isin(annotation, boxes.known)
    elsewhere = (rows >= 0) & (np.append(ids[boxes.image], -1)[rows] != image)
    for wrong, problem in (
        (unknown, f"is not in {boxes.file}; give the instances that belong to the file"),
        (elsewhere, f"belongs to another image in {boxes.file}"),
    ):
        if wrong.any():
            raise InputError(
                f"{file}: image {image[wrong][0]}: action {action.name!r}: {key}: annotation "
                f"{annotation[wrong][0]} {problem}"
            )
    return rows


FORMAT = Format(
    name="v-coco",
    title="V-COCO annotations, official layout",
    kinds=("annotations",),
    keys=_KEYS,
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "v-coco",
    single=True,
)

"""Define V-COCO's classes as actions and roles, and read its annotations.

The official layout, ``vcoco_test.json``, is a list of 26 dicts, one per action: ``action_name``,
``role_name`` (``agent`` first), and one entry per person in ``image_id``, ``ann_id`` and ``label``
(1: performs the action); ``role_object_id`` contains the ids of all people for the first role, then
for the second role, and so on; 0 means no box. Ids are COCO ids; the boxes are in an instances file
of COCO; the split's ``.ids`` file lists the images.

QPIC and its descendants convert V-COCO's annotations to ``test_vcoco.json``, in the layout of
``test_hico.json``. Verbs are 0-28: the roles of all actions in official order, and the action
itself if it has no role; ``object_id`` is -1 if there is no box. Agents are not listed separately;
they follow from the roles. QPIC's boxes are COCO's with x2 = x1 + width, whereas the official
evaluator uses x2 = x1 + width - 1 and clips boxes to the image.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, StrArray, distinct
from diaghoi.data.files import ordinary
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import object_numberings, v_coco
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    EXACT,
    LARGEST,
    Rows,
    check_names,
    is_list,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content, begins, load
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import ENOUGH, GENUINE, TripletNumbers, percent, translated
from diaghoi.formats.records import Images, RecordTable, missing

_VERBS = [tuple(verb.rsplit(" ", 1)) for verb in v_coco().verbs]
# The 51 classes in official order, <action>_<role>, and the 26 actions.
KEYS = tuple("_".join(verb) for verb in _VERBS)
ACTIONS = tuple(dict.fromkeys(action for action, _ in _VERBS))
# (51,) action of each class; (26,) agent class of each action; (25,) the other classes; (29,)
# QPIC's verbs: the roles of each action, or its agent if it has no role.
ACTION = np.array([ACTIONS.index(action) for action, _ in _VERBS])
IS_AGENT = np.array([role == "agent" for _, role in _VERBS])
AGENTS, ROLES = np.flatnonzero(IS_AGENT), np.flatnonzero(~IS_AGENT)
LISTED = np.flatnonzero(~IS_AGENT | (np.bincount(ACTION)[ACTION] == 1))

_NUMBER = re.compile(r"(\d{1,15})(?:\.[A-Za-z]+)?\s*")
_ID = re.compile(r"[0-9]{1,15}")
# The two files that belong to vcoco_test.json: option, name, and locations in the official
# repository and the field's code bases, relative to that file's folder.
_COMPANIONS = (
    (
        "instances",
        "instances_vcoco_all_2014.json",
        (".", "..", "annotations", "../annotations", "../coco/annotations", "../.."),
    ),
    ("ids", "{}.ids", (".", "splits", "../splits", "..")),
)


def numbered(names: Sequence[str]) -> list[str]:
    """Name COCO images by their numbers; keep all names if two would become the same."""
    numbers = [image_number(name) or name for name in names]
    return numbers if len(set(numbers)) == len(numbers) else list(names)


def image_number(value: Any) -> str:
    """Return the name of a COCO image, which is its number without leading zeros.

    Parameters
    ----------
    value : object
        ``165``, ``"165"``, ``"COCO_val2014_000000000165.jpg"``.

    Returns
    -------
    str
        ``"165"``; empty if there is no number.
    """
    if isinstance(value, bytes):
        value = value.decode("ascii", errors="replace")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.rsplit("_", 1)[-1].rsplit("/", 1)[-1].strip())
        return str(int(match[1])) if match else ""
    if isinstance(value, bool | np.bool_):
        return ""
    try:
        number = whole_number(value)
    except (TypeError, ValueError):
        return ""
    return str(number) if number >= 0 else ""


class VCoco(Format):
    """Read annotations in the official layout, with their boxes and split."""

    name = "v-coco"
    title = "V-COCO annotations, official layout"
    kinds = ("annotations",)
    keys = ("action_name", "role_name", "image_id", "ann_id", "label", "role_object_id")
    only = "v-coco"

    def recognise(self, content: Content) -> Kind | None:
        """Look for action names and role boxes."""
        shows = content.plain and {"action_name", "role_object_id"} <= content.first.keys()
        return "annotations" if shows else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read annotations, instances and split; triplets are sorted by person box and class."""
        file, (instances, split) = content.file, _beside(content.path, options)
        (images, people, triplets), ids = _actions(content), _split(split)
        annotated = np.unique(images)
        absent = ids[~np.isin(ids, annotated)]
        if len(absent):
            raise InputError(
                f"{split}: {len(absent)} of {len(ids)} images are not annotated in {file} (the "
                f"first is image {absent[0]}); give the .ids file of the same split"
            )
        boxes = _coco_boxes(instances, ids)
        person = boxes.label == options.vocabulary.person
        ignored = person & ~np.isin(boxes.annotation, people)
        count, left_out, notes = int(ignored.sum()), len(annotated) - len(ids), []
        if count:
            notes.append(
                f"{file}: {'1 person has' if count == 1 else f'{count:,} people have'} no action "
                "annotations; predicted triplets on them are ignored, but predicted pairs count"
            )
        if left_out:
            notes.append(
                f"{file}: {left_out} annotated images are not in the split and are omitted"
            )
        return Scenes(
            vocabulary=options.vocabulary,
            names=np.array(list(map(str, ids.tolist())), dtype=np.str_),
            sizes=boxes.sizes,
            box_image=boxes.image,
            box_xyxy=boxes.xyxy,
            box_label=boxes.label,
            box_ignored=ignored,
            **_by_person(*_triplets(file, triplets, ids, boxes), len(boxes.image)),
            source=file,
            notes=tuple(notes),
        )


def companions(path: Path) -> tuple[Path | None, Path | None]:
    """Look in the usual folders for the files that belong to a V-COCO file.

    Returns
    -------
    instances, ids : pathlib.Path or None
        The COCO instances file and the ``.ids`` file; None for a file that is not found.
    """
    places = (
        [path.parent / folder / name.format(path.stem) for folder in folders]
        for _, name, folders in _COMPANIONS
    )
    instances, ids = (next(filter(Path.is_file, files), None) for files in places)
    return instances, ids


def _beside(path: Path, options: Options) -> list[str | os.PathLike[str]]:
    """Return the instances and ``.ids`` files that the user gave, or that are near the file."""
    files = []
    for (key, name, folders), beside in zip(_COMPANIONS, companions(path), strict=True):
        file = getattr(options, key) or beside
        if file is None:
            where = some_of([os.path.normpath(path.parent / folder) for folder in folders])
            raise InputError(
                f"{path}: {name.format(path.stem)} belongs to this file and was not found in "
                f"{where}; give it with --read {key}=FILE"
            )
        files.append(file)
    return files


def _split(path: str | os.PathLike[str]) -> IntArray:
    """Read the image ids of a split, one per line."""
    try:
        words = ordinary(path).read_text(encoding="utf-8", errors="replace").split()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from error
    bad = next((word for word in words if not _ID.fullmatch(word)), None)
    if bad is not None or not words:
        what = "no image ids in it" if bad is None else f"{shown(bad)} is not an image id"
        raise InputError(f"{path}: {what}; give the .ids file of the split, one id per line")
    ids = np.array(list(map(int, words)), dtype=np.int64)
    for image in _repeated(ids):
        raise InputError(f"{path}: image {image} is listed twice; list every image once")
    return ids


def _repeated(ids: IntArray) -> IntArray:
    """Return the repeated ids, ascending."""
    ordered = np.sort(ids)
    return np.asarray(ordered[1:][ordered[1:] == ordered[:-1]])


def _actions(content: Content) -> tuple[IntArray, IntArray, IntArray]:
    """Return the image and COCO id of each person, and all triplets by action in official order.

    Triplets are (4, T): class, image, person, and object or 0 for none.
    """
    file, rows = content.file, dict[str, Any]()
    for n, row in enumerate(content.value):
        name: Any = row.get("action_name") if isinstance(row, dict) else row
        known = isinstance(name, str) and name in ACTIONS
        if not known or name in rows:
            hint = close_matches(shown(name), ACTIONS)
            problem = "is listed twice" if known else f"is not an action of V-COCO{hint}"
            raise InputError(f"{file}: action {n} (counted from 0): {shown(name)} {problem}")
        rows[name] = row
    absent = [name for name in ACTIONS if name not in rows]
    if absent:
        raise InputError(f"{file}: the actions {some_of(absent)} are missing; V-COCO has 26")
    parts = [_action(f"{file}: action {name!r}", rows[name], n) for n, name in enumerate(ACTIONS)]
    images, people, _ = parts[0]
    return images, people, np.concatenate([triplets for *_, triplets in parts], axis=1)


def _action(where: str, row: dict[str, Any], action: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the image and COCO id of all people, and the triplets of an action."""
    classes, roles = np.flatnonzero(action == ACTION), row.get("role_name")
    wanted = [_VERBS[n][1] for n in classes.tolist()]
    if not isinstance(roles, list) or sorted(map(str, roles)) != sorted(wanted):
        raise InputError(f"{where}: role_name: is {shown(roles)}; V-COCO has {', '.join(wanted)}")
    people = _ids(where, row, "ann_id")
    images, label = (_ids(where, row, key, len(people)) for key in ("image_id", "label"))
    objects = _ids(where, row, "role_object_id", len(people) * len(wanted))
    objects, done = objects.reshape(len(wanted), -1), label == 1
    objects = objects[[roles.index(role) for role in wanted]][:, done]
    if (objects[wanted.index("agent")] != people[done]).any():
        raise InputError(
            f"{where}: role_object_id: the agents are not the people in 'ann_id'; list the ids of "
            "all people for the first role, then for the second"
        )
    for person in _repeated(people[done]):
        raise InputError(f"{where}: ann_id: person {person} has label 1 twice")
    table = np.broadcast_arrays(classes[:, None], images[done], people[done], objects)
    return images, people, np.stack(table).reshape(4, -1)


def _ids(where: str, row: dict[str, Any], key: str, count: int | None = None) -> IntArray:
    """Return a list of ``count`` whole numbers."""
    if key not in row:
        raise InputError(f"{where}: {missing(row, key)}")
    values = row[key]
    if not is_list(values) or len(values) != (len(values) if count is None else count):
        needed = "a list" if count is None else f"a list of length {count}"
        raise InputError(f"{where}: {key}: is {shown(values)}; give {needed}")
    return _table(where, key, values).integers()


def _table(file: str, field: str, values: Sequence[Any]) -> RecordTable:
    """Create a table that covers the whole file."""
    return RecordTable([values], Rows(file, (), field, np.array([len(values)])))


class _Boxes(NamedTuple):
    """The annotated boxes of some COCO images, sorted by image, as in the official evaluator."""

    file: str
    # (N, 2) width and height of each image; (A,) ids of all annotations, including those without a
    # usable box.
    sizes: IntArray
    known: IntArray
    # (B,) image, COCO id and category of each box; (B, 4) its edges in zero-based pixels.
    image: IntArray
    annotation: IntArray
    label: IntArray
    xyxy: FloatArray

    def rows(self, ids: IntArray) -> IntArray:
        """Return the row of each annotation id; -1 if the annotation has no usable box."""
        return _rows_of(self.annotation, ids)


def _triplets(
    file: str, triplets: IntArray, ids: IntArray, boxes: _Boxes
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the (person box, class, object box or -1) of the triplets in some images."""
    verb, image, person, annotation = triplets[:, np.isin(triplets[1], ids)]
    box, agent = boxes.rows(annotation), IS_AGENT[verb]
    problems = {
        f"is not in {boxes.file}; give the COCO instances file that belongs to the annotations": (
            (annotation != 0) & ~np.isin(annotation, boxes.known)
        ),
        f"belongs to another image in {boxes.file}": (
            (box >= 0) & (np.append(ids[boxes.image], -1)[box] != image)
        ),
        f"has no usable box in {boxes.file}": (annotation != 0) & (box < 0) & ~agent,
    }
    for problem, mask in problems.items():
        if mask.any():
            bad = int(np.argmax(mask))
            key = "ann_id" if agent[bad] else "role_object_id"
            raise InputError(
                f"{file}: image {image[bad]}: action {ACTIONS[ACTION[verb[bad]]]!r}: {key}: "
                f"annotation {annotation[bad]} {problem}"
            )
    person = boxes.rows(person)
    usable = person >= 0
    return person[usable], verb[usable], np.where(agent, -1, box)[usable]


def _by_person(human: IntArray, verb: IntArray, objects: IntArray, boxes: int) -> dict[str, Any]:
    """Create the pair and triplet tables, sorted by person and class."""
    order = np.argsort(human * len(KEYS) + verb, kind="stable")
    human, verb, objects = human[order], verb[order], objects[order]
    first, pair = distinct(human * np.int64(boxes + 1) + objects + 1)
    return {
        "pair_human": human[first],
        "pair_object": objects[first],
        "triplet_pair": pair,
        "triplet_verb": verb,
    }


def _coco_boxes(path: str | os.PathLike[str], ids: IntArray) -> _Boxes:
    """Read the valid boxes of some images from a COCO instances file.

    As in the official evaluator, annotations marked ``ignore`` are omitted; ``x2 = x1 + max(0, w -
    1)``, and ``y2`` likewise; boxes are clipped to the image. A box is kept if the annotated area
    is above 0 and the box is more than one pixel wide and high. Boxes are in the order of
    pycocotools.
    """
    file, value = str(path), load(path).value
    keys = ("images", "annotations", "categories")
    if not (isinstance(value, dict) and all(isinstance(value.get(key), list) for key in keys)):
        raise InputError(
            f"{path}: is not a COCO instances file (lists {', '.join(keys)}); give "
            "instances_vcoco_all_2014.json with --read instances=FILE"
        )
    images, annotations = (_table(file, key, value[key]) for key in keys[:2])
    # Sorted arrays instead of dicts: Python's hashes of numbers are predictable, and many ids with
    # the same hash would take hours.
    place = _rows_of(images.integers("id"), ids)
    absent = ids[place < 0]
    if len(absent):
        raise InputError(
            f"{file}: {len(absent)} of {len(ids)} images are missing (the first is image "
            f"{absent[0]}); give the COCO instances that belong to the split"
        )
    sizes = np.stack([images.integers(key) for key in ("width", "height")], axis=1)[place]
    for row in place[(sizes <= 0).any(axis=1)].tolist():
        raise images.rows.error(row, "", "the image is empty; give its width and height in pixels")
    known = annotations.integers("id")
    for annotation in _repeated(known):
        raise InputError(
            f"{file}: two annotations have the id {annotation}; give each annotation a different id"
        )
    image = _rows_of(ids, annotations.integers("image_id"))
    used = np.array([row.get("ignore") != 1 for row in annotations], dtype=bool) & (image >= 0)
    categories = annotations.integers("category_id")
    label = translated(categories, object_numberings()["coco91"])
    xywh = annotations.vectors("bbox", 4, "is not four numbers (x, y, width, height)")
    wrong = {
        "category_id": (label < 0, categories, "is not a COCO category (1 to 90)"),
        # The comparison is negated, so that NaN is rejected, too.
        "bbox": (~(np.abs(xywh) <= LARGEST).all(axis=1), xywh, "is not a box in pixels"),
    }
    for key, (mask, values, problem) in wrong.items():
        for row in np.flatnonzero(used & mask).tolist():
            raise annotations.rows.error(row, key, f"{values[row].tolist()} {problem}")
    order = np.flatnonzero(used)[np.argsort(image[used], kind="stable")]
    area = np.array([_area(value["annotations"][row]) for row in order.tolist()])
    image, label, xywh = image[order], label[order], xywh[order]
    xyxy = np.concatenate([xywh[:, :2], xywh[:, :2] + np.maximum(0, xywh[:, 2:] - 1)], axis=1)
    xyxy = np.minimum(np.tile(sizes[image] - 1.0, (1, 2)), np.maximum(0, xyxy))
    kept = (area > 0) & (xyxy[:, 2] > xyxy[:, 0]) & (xyxy[:, 3] > xyxy[:, 1])
    xyxy = xyxy[kept].astype(np.float32).astype(np.float64)
    return _Boxes(file, sizes, known, image[kept], known[order][kept], label[kept], xyxy)


def _rows_of(values: IntArray, sought: IntArray) -> IntArray:
    """Return the last row of each id; -1 if the id is missing."""
    order = np.argsort(values, kind="stable")
    place = np.searchsorted(values[order], sought, side="right") - 1
    row = np.append(order, -1)[place]
    return np.where((row >= 0) & (np.append(values, 0)[row] == sought), row, -1)


def _area(row: dict[str, Any]) -> float:
    area = row.get("area", 1.0)
    return float(area) if isinstance(area, int | float) and abs(area) <= EXACT else 0.0


def is_v_coco(content: Content) -> bool:
    """Check from image names and missing objects whether annotations with COCO ids are V-COCO's."""
    name = content.first.get("file_name")
    if begins(name, "COCO_", "HICO_"):
        return begins(name, "COCO_")
    [objects] = _columns(content, "object_id")
    return bool((objects == -1).any())


def misfit(content: Content) -> str:
    """Return the evidence that annotations are not V-COCO's; empty if there is no evidence.

    In V-COCO, the actions run, stand, walk, smile and point have no role, so their triplets never
    have an object box.
    """
    verb, thing = _columns(content, "category_id", "object_id")
    inside = (verb >= 0) & (verb < len(LISTED))
    alone = IS_AGENT[LISTED[np.where(inside, verb, 0)]]
    fits = inside & ~(alone & (thing >= 0))
    if len(fits) < ENOUGH or fits.mean() >= GENUINE:
        return ""
    return (
        f"only {percent(float(fits.mean()))} of the annotated triplets fit v-coco: the rest "
        "have a verb that V-COCO lacks, or an object although the action has no role"
    )


def _columns(content: Content, *keys: str) -> list[IntArray]:
    """Return columns of the annotated triplets, or empty columns if the file cannot be read."""
    try:
        rows = Images.of(content, content.value, "file_name").table("hoi_annotation")
        return [rows.integers(key) for key in keys]
    except InputError:  # the reader reports what is wrong
        return [np.zeros(0, dtype=np.int64) for _ in keys]


def read_qpic(content: Content, options: Options) -> Scenes:
    """Read QPIC's annotations and add the agents of actions.

    Returns
    -------
    Scenes
        Triplets are sorted by person, action and role; people without actions are ignored.

    Raises
    ------
    InputError
        As :func:`~diaghoi.formats.listed.read_listed`, and if an image has no number.
    """
    layout = ListLayout(
        name="file_name",
        boxes="annotations",
        triplets="hoi_annotation",
        scored=False,
        objects="coco91",
        numbers=TripletNumbers("verb", 0),
        verbs=tuple(LISTED.tolist()),
    )
    file, scenes = content.file, read_listed(content, layout, options)
    pair, verb = scenes.triplet_pair, scenes.triplet_verb.astype(np.int64)
    human = scenes.pair_human[pair].astype(np.int64)
    # One agent per person and action, followed by the role triplets.
    agent, role = AGENTS[ACTION[verb]], np.flatnonzero(~IS_AGENT[verb])
    doing, _ = distinct(human * len(KEYS) + agent)
    tables = _by_person(
        np.concatenate([human[doing], human[role]]),
        np.concatenate([agent[doing], verb[role]]),
        np.append(np.full(len(doing), -1), scenes.pair_object[pair[role]]),
        len(scenes.box_image),
    )
    person = scenes.box_label == options.vocabulary.person
    ignored = person & ~np.isin(np.arange(len(person)), tables["pair_human"])
    notes = [
        f"{file}: boxes are used unchanged, although QPIC's boxes are a pixel larger than the "
        "official boxes"
    ]
    if ignored.any():
        notes.append(
            f"{file}: people without a 'hoi_annotation' ({int(ignored.sum())}) and predicted "
            "triplets on them are ignored, but predicted pairs count"
        )
    return replace(
        scenes,
        **tables,
        names=_numbers_of_images(file, scenes.names.tolist()),
        box_ignored=ignored,
        notes=(*scenes.notes, *notes),
    )


def _numbers_of_images(file: str, names: list[str]) -> StrArray:
    """Name images by COCO number, as V-COCO predictions do."""
    bad = next((name for name in names if not image_number(name)), None)
    if bad is not None:
        raise InputError(
            f"{file}: image {bad!r}: file_name: does not end in the number of a COCO image, which "
            "V-COCO predictions use as the image name"
        )
    return check_names(file, list(map(image_number, names)), "file_name")

"""V-COCO annotations as QPIC and its descendants convert them: ``test_vcoco.json``.

The layout is that of ``test_hico.json``: one dict per image with ``file_name``, ``annotations`` and
``hoi_annotation``. Verbs are 0-28, the roles of all actions in official order, and the action
itself if it has no role; ``object_id`` is -1 for no box. Agents are not listed separately but
follow from the roles. Boxes are COCO's with x2 = x1 + width, whereas the official evaluator uses
x2 = x1 + width - 1 and clips to the image.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import distinct
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Options
from diaghoi.formats.checks import check_amount, first_repeated
from diaghoi.formats.content import Content, begins
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import ENOUGH, GENUINE, TripletNumbers, percent
from diaghoi.formats.records import Images
from diaghoi.formats.v_coco.keys import image_number, roles


def is_v_coco(content: Content) -> bool:
    """Whether annotations with COCO ids are for V-COCO: by image names, else by missing objects."""
    images = content.value if isinstance(content.value, list | tuple) else []
    name = content.first.get("file_name")
    if begins(name, "COCO_", "HICO_"):
        return begins(name, "COCO_")
    lists = [image.get("hoi_annotation") for image in images if isinstance(image, dict)]
    rows = [each for each in lists if isinstance(each, list)]
    check_amount(content.file, "hoi_annotation", sum(map(len, rows)), content.size)
    return any(
        isinstance(row, dict) and _is_missing(row.get("object_id"))
        for row in chain.from_iterable(rows)
    )


def _is_missing(number: Any) -> bool:
    # An array from a hostile file has no truth value.
    return isinstance(number, int | float | np.number) and bool(number == -1)


def misfit(content: Content) -> str:
    """Say what shows that annotations are not for V-COCO; empty where they may be.

    Nobody runs, stands, walks, smiles or points at a box there: those actions have no role.
    """
    try:
        rows = Images.of(content, content.value, "file_name").table("hoi_annotation")
        verb, thing = rows.integers("category_id"), rows.integers("object_id")
    except InputError:  # the reader says what is wrong
        return ""
    listed = roles().listed
    inside = (verb >= 0) & (verb < len(listed))
    alone = np.isin(listed[np.where(inside, verb, 0)], roles().agents)
    fits = inside & ~(alone & (thing >= 0))
    if len(fits) < ENOUGH or fits.mean() >= GENUINE:
        return ""
    return (
        f"of the annotated triplets {percent(float(fits.mean()))} fit v-coco: the others have "
        "another verb, or an object where the action has none"
    )


def read_qpic(content: Content, options: Options) -> Scenes:
    """Read the annotations, and add the agents of actions.

    Parameters
    ----------
    content : Content
        A list of one dict per image.
    options : Options
        For V-COCO.

    Returns
    -------
    Scenes
        Triplets in the order of person, action and role; people without actions are ignored.

    Raises
    ------
    InputError
        As :func:`~diaghoi.formats.listed.read_listed`, and for images without a number.
    """
    layout = ListLayout(
        name="file_name",
        boxes="annotations",
        triplets="hoi_annotation",
        scored=False,
        objects="coco91",
        numbers=TripletNumbers("verb", 0),
        verbs=tuple(roles().listed.tolist()),
    )
    scenes = _with_agents(read_listed(content, layout, options))
    person = scenes.box_label == options.vocabulary.person
    ignored = person & ~np.isin(np.arange(len(person)), scenes.pair_human)
    note = f"{content.file}: boxes are taken as they are: QPIC's are a pixel larger than official"
    notes = [*scenes.notes, note]
    if ignored.any():
        notes.append(
            f"{content.file}: {int(ignored.sum())} people have no 'hoi_annotation'; they are "
            "ignored, and so are the predictions on them"
        )
    return replace(
        scenes, names=_numbers(content.file, scenes), box_ignored=ignored, notes=tuple(notes)
    )


def _numbers(file: str, scenes: Scenes) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Name the images by their COCO number, as result files do."""
    names = [image_number(name) for name in scenes.names.tolist()]
    if "" in names:
        bad = names.index("")
        raise InputError(
            f"{file}: image {str(scenes.names[bad])!r}: file_name: does not end in the number of a "
            "COCO image, by which V-COCO predictions are joined"
        )
    bad = first_repeated(names)
    if bad >= 0:
        raise InputError(
            f"{file}: image {str(scenes.names[bad])!r}: file_name: number {names[bad]} is used for "
            "two images"
        )
    return np.array(names, dtype=np.str_)


def _with_agents(scenes: Scenes) -> Scenes:
    """Add one agent triplet for each person and action, and sort by person and class."""
    known = roles()
    human = scenes.pair_human[scenes.triplet_pair].astype(np.int64)
    object_box = scenes.pair_object[scenes.triplet_pair].astype(np.int64)
    verb = scenes.triplet_verb.astype(np.int64)
    agent = known.agents[known.action[verb]]
    role = agent != verb
    doing, _ = distinct(human * len(known.keys) + agent)
    human = np.concatenate([human[doing], human[role]])
    verb = np.concatenate([agent[doing], verb[role]])
    object_box = np.concatenate([np.full(len(doing), -1), object_box[role]])
    order = np.argsort(human * len(known.keys) + verb, kind="stable")
    human, verb, object_box = human[order], verb[order], object_box[order]
    first, pair = distinct(human * np.int64(len(scenes.box_image) + 1) + object_box + 1)
    return replace(
        scenes,
        pair_human=human[first],
        pair_object=object_box[first],
        triplet_pair=pair,
        triplet_verb=verb,
    )

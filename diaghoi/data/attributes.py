"""Situations: what annotations say of images and annotated pairs, cut into few named ranges.

All of it follows from annotations alone, so that every detector is looked at in the same slices.
People and objects are counted as instances (:func:`diaghoi.data.boxes.instances`), because some
data sets draw the same person once per triplet. Users add slices of their own, by tags of images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path, PurePath
from typing import Literal

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, StrArray, expand_in_parts, ratios
from diaghoi.data.boxes import area, box_iou, instances
from diaghoi.data.files import check_widths, read_rows
from diaghoi.data.groups import time_sensitive
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, number_of, some_of

By = Literal["image", "pair", "class"]
COCO_AREAS = (0.0, 32.0**2, 96.0**2, 288.0**2)
FEW = 10
"""Annotated triplets below which a class is rare where the data set does not say."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice:
    """Some of the images, or of the annotated triplets.

    Parameters
    ----------
    attribute : str
        What it is cut by, for machines: ``people``.
    title : str
        The same for people: ``People in the image``.
    name : str
        Which part of it: ``3 to 5``.
    by : {"image", "pair", "class"}
        Whether predictions belong to it by their image, by the annotated pair that they meet, or by
        their class.
    members : (N,), (T,) or (C,) bool array
        The images, the annotated triplets or the classes.
    """

    attribute: str
    title: str
    name: str
    by: By
    members: BoolArray

    @property
    def key(self) -> str:
        """Its name for machines: ``people: 3 to 5``."""
        return f"{self.attribute}: {self.name}"

    def triplets(self, annotations: Scenes) -> BoolArray:
        """(T,) annotated triplets in it."""
        if self.by == "image":
            return np.asarray(self.members[annotations.triplet_image])
        if self.by == "class":
            return np.append(self.members, False)[annotations.triplet_class]
        return self.members


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """Something to cut annotations by.

    Parameters
    ----------
    key, title, by
        As of :class:`Slice`.
    starts : tuple of float
        Where each range begins, it included; values below the first, and NaN, are in none.
    values : callable
        From annotations to (N,), (T,) or (C,) values, or None where they do not say.
    names : tuple of str
        Of the ranges; by default made of the numbers.
    unit : str
        What follows the numbers.
    """

    key: str
    title: str
    by: By
    starts: tuple[float, ...]
    values: Callable[[Annotated], FloatArray | None]
    names: tuple[str, ...] = ()
    unit: str = ""

    def slices(self, annotated: Annotated) -> list[Slice]:
        """Cut annotations; ranges without triplets, and a range that holds all, are left out."""
        values = self.values(annotated)
        if values is None:
            return []
        names = self.names or range_names(self.starts, self.unit)
        number = np.digitize(values, self.starts) - 1
        number[np.isnan(values)] = -1
        cuts = [
            Slice(
                attribute=self.key, title=self.title, name=name, by=self.by, members=number == place
            )
            for place, name in enumerate(names)
        ]
        found = [each for each in cuts if each.triplets(annotated.scenes).any()]
        return found if len(found) > 1 else []


class Annotated:
    """What the attributes are computed from."""

    def __init__(self, scenes: Scenes) -> None:
        self.scenes = scenes

    @cached_property
    def instance(self) -> IntArray:
        """(B,) first box that shows the same instance."""
        return instances(self.scenes)

    @cached_property
    def human(self) -> IntArray:
        """(T,) box of the person."""
        return self.scenes.pair_human[self.scenes.triplet_pair]

    @cached_property
    def object(self) -> IntArray:
        """(T,) box of the object, -1 without one."""
        return self.scenes.pair_object[self.scenes.triplet_pair]

    @cached_property
    def distinct(self) -> IntArray:
        """(D, 3) person, object and verb of distinct annotated triplets, by instance."""
        return np.unique(np.column_stack([*self.pair, self.scenes.triplet_verb]), axis=0)

    @cached_property
    def pair(self) -> tuple[IntArray, IntArray]:
        """(T,) instances of person and object, -1 without an object."""
        objects = np.append(self.instance, -1)[self.object]
        return self.instance[self.human], objects

    def instances_of(self, *, people: bool) -> FloatArray:
        """(N,) number of people, or of other objects, in each image."""
        first = np.unique(self.instance)
        person = self.scenes.box_label[first] == self.scenes.vocabulary.person
        images = self.scenes.box_image[first[person == people]]
        return np.bincount(images, minlength=len(self.scenes)).astype(np.float64)

    @cached_property
    def sizes(self) -> FloatArray:
        """(N, 2) width and height of each image, NaN where unknown."""
        if self.scenes.sizes is None:
            return np.full((len(self.scenes), 2), np.nan)
        return np.where(self.scenes.sizes > 0, self.scenes.sizes, np.nan)

    def boxes(self, which: IntArray) -> FloatArray:
        """(T, 4) boxes, NaN where there is none."""
        empty = np.full((1, 4), np.nan)
        return np.concatenate([np.asarray(self.scenes.box_xyxy, np.float64), empty])[which]

    @cached_property
    def crowding(self) -> FloatArray:
        """(T,) largest share of the person's box that another person covers."""
        scenes = self.scenes
        person = np.flatnonzero(scenes.box_label == scenes.vocabulary.person)
        bounds = np.searchsorted(scenes.box_image[person], np.arange(len(scenes) + 1))
        image = scenes.box_image[person]
        share = np.zeros(len(scenes.box_label))
        for mine, other in expand_in_parts(bounds[image], np.diff(bounds)[image]):
            apart = self.instance[person[mine]] != self.instance[person[other]]
            mine, other = person[mine[apart]], person[other[apart]]
            first, second = scenes.box_xyxy[mine], scenes.box_xyxy[other]
            low = np.maximum(first[:, :2], second[:, :2])
            high = np.minimum(first[:, 2:], second[:, 2:])
            shared = np.clip(high - low + 1, 0, None).prod(axis=1)
            np.maximum.at(share, mine, ratios(shared, area(first, 1.0), undefined=0.0))
        return share[self.human]


def attribute_slices(annotations: Scenes, attributes: Sequence[Attribute] = ()) -> list[Slice]:
    """Cut annotations by each attribute.

    Parameters
    ----------
    annotations : Scenes
        With N images and T annotated triplets.
    attributes : sequence of Attribute
        By default :data:`ATTRIBUTES`.

    Returns
    -------
    list of Slice
        Attributes that the annotations do not tell apart give none: sizes that no file says, for
        instance, or the role of objects where each pair has one.
    """
    annotated = Annotated(annotations)
    return [each for one in attributes or ATTRIBUTES for each in one.slices(annotated)]


def range_names(starts: Sequence[float], unit: str = "") -> tuple[str, ...]:
    """Name ranges by their bounds: counts as ``3 to 5``, others as ``0.1 to 0.2``."""
    counts = all(float(start).is_integer() for start in starts) and not unit
    names = []
    for place, start in enumerate(starts):
        stop = starts[place + 1] if place + 1 < len(starts) else None
        if counts and stop is not None:
            names.append(f"{start:g}" if stop == start + 1 else f"{start:g} to {stop - 1:g}")
        elif stop is None:
            names.append(f"{start:g}{unit} or more")
        elif place == 0:
            names.append(f"below {stop:g}{unit}")
        else:
            names.append(f"{start:g} to {stop:g}{unit}")
    return tuple(names)


def _triplets_of_image(of: Annotated) -> FloatArray:
    images = of.scenes.box_image[of.distinct[:, 0]]
    return np.bincount(images, minlength=len(of.scenes)).astype(np.float64)


def _triplets_of_pair(of: Annotated) -> FloatArray:
    pairs, number = np.unique(of.distinct[:, :2], axis=0, return_counts=True)
    key = len(of.instance) + 1
    at = np.searchsorted(
        pairs[:, 0].astype(np.int64) * key + pairs[:, 1], of.pair[0] * key + of.pair[1]
    )
    return number[at].astype(np.float64)


def _triplets_of_person(of: Annotated) -> FloatArray:
    number = np.bincount(of.distinct[:, 0], minlength=len(of.instance))
    return number[of.pair[0]].astype(np.float64)


def _people_of_object(of: Annotated) -> FloatArray:
    pairs = np.unique(of.distinct[:, :2], axis=0)
    number = np.bincount(pairs[pairs[:, 1] >= 0, 1], minlength=len(of.instance))
    return np.append(number.astype(np.float64), np.nan)[of.pair[1]]


def _areas(box: Callable[[Annotated], IntArray]) -> Callable[[Annotated], FloatArray]:
    return lambda of: area(of.boxes(box(of)), 1.0)


def _heights(box: Callable[[Annotated], IntArray]) -> Callable[[Annotated], FloatArray]:
    """Height of a box in widths."""

    def values(of: Annotated) -> FloatArray:
        boxes = of.boxes(box(of))
        size = boxes[:, 2:] - boxes[:, :2] + 1
        return np.asarray(size[:, 1] / size[:, 0])

    return values


def _distance(of: Annotated) -> FloatArray:
    human, object_box = of.boxes(of.human), of.boxes(of.object)
    apart = (human[:, :2] + human[:, 2:] - object_box[:, :2] - object_box[:, 2:]) / 2
    diagonal = np.hypot(*of.sizes.T)[of.scenes.triplet_image]
    return np.asarray(np.hypot(*apart.T) / diagonal)


def _overlap(of: Annotated) -> FloatArray:
    overlap = box_iou(of.boxes(of.human), of.boxes(of.object), margin=1.0)
    # A share of nothing: without an object there is no overlap to speak of.
    return np.where(of.object < 0, np.nan, overlap)


def _rarity(of: Annotated) -> FloatArray:
    hoi, rare = of.scenes.triplet_class, of.scenes.vocabulary.rare
    if rare is None:
        rare = np.bincount(hoi[hoi >= 0], minlength=len(of.scenes.vocabulary)) < FEW
    return rare.astype(np.float64)


def _time_sensitive(of: Annotated) -> FloatArray | None:
    classes = time_sensitive(of.scenes.vocabulary)
    return None if classes is None else classes.astype(np.float64)


COUNTS = (0.0, 1.0, 2.0, 3.0, 6.0)
SMALL_TO_LARGE = ("small", "medium", "large", "very large")
ATTRIBUTES = (
    Attribute(
        key="people",
        title="People in the image",
        by="image",
        starts=COUNTS,
        values=lambda of: of.instances_of(people=True),
    ),
    Attribute(
        key="objects",
        title="Objects in the image",
        by="image",
        starts=COUNTS,
        values=lambda of: of.instances_of(people=False),
    ),
    Attribute(
        key="triplets",
        title="Triplets in the image",
        by="image",
        starts=(1.0, 2.0, 4.0, 8.0),
        values=_triplets_of_image,
    ),
    Attribute(
        key="image_size",
        title="Size of the image",
        by="image",
        starts=(0.0, 0.2, 0.4, 1.0),
        unit=" MP",
        values=lambda of: of.sizes.prod(axis=1) / 1e6,
    ),
    Attribute(
        key="image_shape",
        title="Shape of the image",
        by="image",
        starts=(0.0, 0.8, 1.25),
        names=("upright", "square", "wide"),
        values=lambda of: of.sizes[:, 0] / of.sizes[:, 1],
    ),
    Attribute(
        key="pair_triplets",
        title="Triplets of the pair",
        by="pair",
        starts=(1.0, 2.0, 3.0),
        values=_triplets_of_pair,
    ),
    Attribute(
        key="person_triplets",
        title="Triplets of the person",
        by="pair",
        starts=(1.0, 2.0, 4.0),
        values=_triplets_of_person,
    ),
    Attribute(
        key="object_people",
        title="People with the object",
        by="pair",
        starts=(1.0, 2.0, 3.0),
        values=_people_of_object,
    ),
    Attribute(
        key="object_box",
        title="Box of the object",
        by="pair",
        starts=(0.0, 1.0),
        names=("none", "annotated"),
        values=lambda of: (of.object >= 0).astype(np.float64),
    ),
    Attribute(
        key="crowding",
        title="Person covered by another",
        by="pair",
        # Anything above 0 is above the share that one pixel of the largest picture covers.
        starts=(0.0, 1e-9, 0.25),
        names=("not at all", "up to 0.25", "0.25 or more"),
        values=lambda of: of.crowding,
    ),
    Attribute(
        key="human_area",
        title="Human box",
        by="pair",
        starts=COCO_AREAS,
        names=SMALL_TO_LARGE,
        values=_areas(lambda of: of.human),
    ),
    Attribute(
        key="object_area",
        title="Object box",
        by="pair",
        starts=COCO_AREAS,
        names=SMALL_TO_LARGE,
        values=_areas(lambda of: of.object),
    ),
    Attribute(
        key="human_aspect",
        title="Human box, height / width",
        by="pair",
        starts=(0.0, 1.0, 2.0),
        names=("below 1", "1 to 2", "2 or more"),
        values=_heights(lambda of: of.human),
    ),
    Attribute(
        key="object_aspect",
        title="Object box, height / width",
        by="pair",
        starts=(0.0, 0.5, 2.0),
        names=("below 0.5", "0.5 to 2", "2 or more"),
        values=_heights(lambda of: of.object),
    ),
    Attribute(
        key="distance",
        title="Distance / diagonal",
        by="pair",
        starts=(0.0, 0.1, 0.2, 0.4),
        values=_distance,
    ),
    Attribute(
        key="overlap",
        title="IoU of person and object",
        by="pair",
        starts=(0.0, 1e-9, 0.1, 0.3),
        names=("0", "up to 0.1", "0.1 to 0.3", "0.3 or more"),
        values=_overlap,
    ),
    Attribute(
        key="rarity",
        title="Class",
        by="class",
        starts=(0.0, 1.0),
        names=("non-rare", "rare"),
        values=_rarity,
    ),
    Attribute(
        key="time_sensitive",
        title="Verb",
        by="class",
        starts=(0.0, 1.0),
        names=("others", "time-sensitive"),
        values=_time_sensitive,
    ),
)
"""What annotations are cut by. All ranges are fixed, so that results of different data sets can be
compared, and so are their reasons: counts are single where most annotations are, and wider beyond;
box areas are cut at COCO's 32² and 96² pixels, and at 288², where sides are three times as long
again; image sizes around the 640 x 480 pixels (0.31 MP) of most pictures; shapes where one side is
a quarter longer or shorter than the other, and boxes where one is twice the other; distances and
overlaps so that each range holds many of HICO-DET's annotated pairs."""


Tags = str | Iterable[str] | None
Own = Mapping[str, bool | Tags] | Callable[[str], bool | Tags]
"""Tags by the name of the image, or whether it has the one tag that the attribute is named by: a
mapping, or a function."""
SEPARATOR = ";"


def read_tags(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read tags of images from a CSV file.

    Parameters
    ----------
    path : path
        The first line names the columns. The first column holds the names of the images; every
        other one is an attribute with the tag of each image, several with ``;`` between them, or
        nothing.

    Returns
    -------
    dict of dict of str
        By attribute the cell of each image.

    Raises
    ------
    InputError
        For a file that cannot be read, has no tags, or names an image or an attribute twice.
    """
    path = Path(path)
    rows = read_rows(path, "a header and a line per image: its name, then its tags")
    if not rows or len(rows[0][1]) < 2:
        raise InputError(
            f"{path}: expected a header such as 'image,weather', then a line per image with its "
            "name and its tags"
        )
    check_widths(path, rows)
    attributes = rows[0][1][1:]
    if "" in attributes or len(set(attributes)) < len(attributes):
        raise InputError(f"{path}: line {rows[0][0]}: each column needs a name of its own")
    tags: dict[str, dict[str, str]] = {attribute: {} for attribute in attributes}
    seen: dict[str, int] = {}
    for line, (image, *cells) in rows[1:]:
        if image in seen:
            raise InputError(
                f"{path}: line {line}: image '{image}' appears twice, first in line {seen[image]}; "
                f"write several tags into one cell, with '{SEPARATOR}' between them"
            )
        seen[image] = line
        for attribute, cell in zip(attributes, cells, strict=True):
            tags[attribute][image] = cell
    return tags


def tag_slices(
    names: StrArray, own: Mapping[str, Own], source: str = "slices"
) -> tuple[list[Slice], list[str]]:
    """Cut images by tags.

    Parameters
    ----------
    names : (N,) str array
        Images of the annotations.
    own : mapping
        By the name of the attribute what says the tags of each image. Images are found by their
        full names or, where that finds none, by their stems.
    source : str
        What messages call the tags.

    Returns
    -------
    list of Slice, list of str
        By image; and notes on images that have no tag or are not annotated.

    Raises
    ------
    InputError
        Where none of the images is annotated, or there is no tag.
    """
    found: list[Slice] = []
    notes: list[str] = []
    for attribute, given in own.items():
        where = f"{source}: {attribute}"
        if isinstance(given, Mapping):
            of_image, note = _looked_up(names.tolist(), given, source, attribute)
            notes += note
        elif callable(given):
            of_image = [_of_answer(given(name), attribute) for name in names.tolist()]
        else:
            raise InputError(f"{where}: expected a mapping or a function, found {given!r:.60}")
        tags = sorted({tag for each in of_image for tag in each})
        if not tags:
            raise InputError(f"{where}: no image has a tag")
        found += [
            Slice(
                attribute=attribute,
                title=attribute,
                name=tag,
                by="image",
                members=np.array([tag in each for each in of_image], dtype=bool),
            )
            for tag in tags
        ]
    # The same images are named for each attribute of a file.
    return found, list(dict.fromkeys(notes))


def _looked_up(
    names: Sequence[str], given: Mapping[str, bool | Tags], source: str, attribute: str
) -> tuple[list[frozenset[str]], list[str]]:
    where = f"{source}: {attribute}"
    wanted = list(names)
    tags = dict(given)
    if tags.keys().isdisjoint(wanted):
        wanted = [PurePath(name).stem for name in names]
        tags = {PurePath(name).stem: value for name, value in given.items()}
    if tags.keys().isdisjoint(wanted):
        raise InputError(
            f"{where}: none of its {len(tags)} images is annotated, '{next(iter(given), '')}' for "
            f"instance; images are named like '{next(iter(names), '')}'"
        )
    notes = []
    others = sorted(tags.keys() - set(wanted))
    if others:
        some = f"{number_of('image', len(others))} not annotated: {some_of(others)}"
        notes.append(f"{source}: {some}")
    found = [_of_answer(tags.get(name), attribute) for name in wanted]
    without = [name for name, each in zip(names, found, strict=True) if not each]
    if without:
        some = f"{number_of('image', len(without))} without a tag: {some_of(without)}"
        notes.append(f"{where}: {some}")
    return found, notes


def _of_answer(answer: bool | Tags, attribute: str) -> frozenset[str]:
    """Return the tags of one image."""
    if isinstance(answer, bool | np.bool_):
        return frozenset([attribute] if answer else [])
    if answer is None:
        return frozenset()
    each = answer.split(SEPARATOR) if isinstance(answer, str) else answer
    return frozenset(tag.strip() for tag in map(str, each) if tag.strip())

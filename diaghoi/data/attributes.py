"""Describe images and annotated pairs by attributes, whose values are split into named ranges.

Attributes depend only on annotations, so every detector is examined in the same slices. People and
objects are counted as instances (:func:`diaghoi.data.boxes.instances`), because some data sets draw
the same person once per triplet. Users add their own slices by tagging images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    StrArray,
    distinct,
    expand_in_parts,
    ratios,
)
from diaghoi.data.boxes import area, box_iou, instances
from diaghoi.data.files import check_widths, read_rows
from diaghoi.data.groups import time_sensitive
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, number_of, some_of

By = Literal["image", "pair", "class"]
FEW = 10
"""Number of annotated triplets below which a class is rare, if the data set lists no rare
classes."""
Tags = str | Iterable[str] | None
Own = Mapping[str, bool | Tags] | Callable[[str], bool | Tags]
"""Tags by image name, as a mapping or a function. For an attribute with a single tag, True or False
may replace the tag of each image.
"""
SEPARATOR = ";"


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice:
    """A subset of the images, the annotated triplets or the classes.

    Parameters
    ----------
    attribute : str
        Key of the attribute: ``people``.
    title : str
        Displayed name of the attribute: ``People in the image``.
    name : str
        Name of the range: ``3 to 5``.
    by : {"image", "pair", "class"}
        Whether predictions belong to the slice by image, by the annotated pair that they match, or
        by class.
    members : (N,), (T,) or (C,) bool array
        Mask of the images, the annotated triplets or the classes.
    """

    attribute: str
    title: str
    name: str
    by: By
    members: BoolArray

    @property
    def key(self) -> str:
        """Key of the slice: ``people: 3 to 5``."""
        return f"{self.attribute}: {self.name}"

    def triplets(self, annotations: Scenes) -> BoolArray:
        """(T,) mask of the annotated triplets in the slice."""
        if self.by == "image":
            return np.asarray(self.members[annotations.triplet_image])
        if self.by == "class":
            return np.append(self.members, False)[annotations.triplet_class]
        return self.members


class Attribute(NamedTuple):
    """An attribute that splits annotations; ``key`` is the ``attribute`` of each :class:`Slice`.

    ``values`` returns (N,), (T,) or (C,) values, or None if the annotations lack the data. Each
    range has a start and a name; values below the first start, and NaN, are in no range.
    """

    key: str
    title: str
    by: By
    starts: tuple[float, ...]
    names: tuple[str, ...]
    values: Callable[[Any], FloatArray | None]


ATTRIBUTES: list[Attribute] = []
"""Attributes that split annotations. All ranges are fixed, so that results on different data sets
can be compared. Ranges of counts contain a single value where most annotations lie, and several
larger values elsewhere. Box areas are split at COCO's 32² and 96² pixels, and at 288², which
continues the series. Image sizes are split so that one range contains 640 x 480 pixels (0.31 MP),
the size of most pictures. Image shapes are split where the longer side is 1.25 times the shorter
side, object boxes where one side is twice the other, and human boxes where the height is once or
twice the width. Distances and overlaps are split so that each range contains many annotated pairs
of HICO-DET.
"""

_Values = TypeVar("_Values", bound=Callable[[Any], FloatArray | None])


def _attribute(
    title: str, by: By, *starts: float, names: tuple[str, ...] = (), unit: str = ""
) -> Callable[[_Values], _Values]:
    """Register a method of :class:`_Annotated` as an attribute; ``names`` defaults to bounds."""

    def listed(values: _Values) -> _Values:
        called = names or range_names(starts, unit)
        ATTRIBUTES.append(Attribute(values.__name__, title, by, starts, called, values))
        return values

    return listed


def range_names(starts: Sequence[float], unit: str = "") -> tuple[str, ...]:
    """Name ranges by their bounds: ``3 to 5`` for counts, ``0.1 to 0.2`` for other values."""
    last = f"{starts[-1]:g}{unit} or more"
    if unit or not all(float(start).is_integer() for start in starts):
        names = [f"{start:g} to {stop:g}{unit}" for start, stop in pairwise(starts)]
        return (f"below {starts[1]:g}{unit}", *names[1:], last)
    counts = (range(int(start), int(stop)) for start, stop in pairwise(starts))
    names = [f"{some[0]}" if len(some) == 1 else f"{some[0]} to {some[-1]}" for some in counts]
    return (*names, last)


_AREAS = (0, 32**2, 96**2, 288**2)
_SIZES = ("small", "medium", "large", "very large")
# Any share above 0 exceeds 1e-9, because a single pixel is a larger share of any box.
_ABOVE = 1e-9


class _Annotated:
    """The data from which attributes are computed, with one method per attribute."""

    def __init__(self, scenes: Scenes) -> None:
        self.scenes = scenes
        self.instance = instances(scenes)  # (B,) index of the first box of the same instance
        # (T,) box and instance of the person and of the object, -1 without an object
        self.human = scenes.pair_human[scenes.triplet_pair]
        self.object = scenes.pair_object[scenes.triplet_pair]
        self.person = self.instance[self.human]
        self.thing = np.append(self.instance, -1)[self.object]
        # First triplet of each pair of instances, the pair of each triplet, and the first triplet
        # of each pair and verb.
        key = self.person * np.int64(len(self.instance) + 1) + self.thing
        self.pairs, self.pair = distinct(key)
        self.triplet, _ = distinct(self.pair * len(scenes.vocabulary.verbs) + scenes.triplet_verb)
        boxes = np.concatenate([np.asarray(scenes.box_xyxy, np.float64), np.full((1, 4), np.nan)])
        self.human_xyxy, self.object_xyxy = boxes[self.human], boxes[self.object]
        # (N, 2) width and height of each image, NaN if unknown
        self.sizes = np.full((len(scenes), 2), np.nan)
        if scenes.sizes is not None:
            np.copyto(self.sizes, scenes.sizes, where=scenes.sizes > 0)

    def _instances(self, *, people: bool) -> FloatArray:
        scenes, first = self.scenes, np.unique(self.instance)
        person = scenes.box_label[first] == scenes.vocabulary.person
        return _counts(scenes.box_image[first[person == people]], len(scenes))

    @_attribute("People in the image", "image", 0, 1, 2, 3, 6)
    def people(self) -> FloatArray:
        return self._instances(people=True)

    @_attribute("Objects in the image", "image", 0, 1, 2, 3, 6)
    def objects(self) -> FloatArray:
        return self._instances(people=False)

    @_attribute("Triplets in the image", "image", 1, 2, 4, 8)
    def triplets(self) -> FloatArray:
        return _counts(self.scenes.triplet_image[self.triplet], len(self.scenes))

    @_attribute("Size of the image", "image", 0, 0.2, 0.4, 1, unit=" MP")
    def image_size(self) -> FloatArray:
        return np.asarray(self.sizes.prod(axis=1) / 1e6)

    @_attribute("Shape of the image", "image", 0, 0.8, 1.25, names=("upright", "square", "wide"))
    def image_shape(self) -> FloatArray:
        return np.asarray(self.sizes[:, 0] / self.sizes[:, 1])

    @_attribute("Triplets of the pair", "pair", 1, 2, 3)
    def pair_triplets(self) -> FloatArray:
        return _counts(self.pair[self.triplet])[self.pair]

    @_attribute("Triplets of the person", "pair", 1, 2, 4)
    def person_triplets(self) -> FloatArray:
        return _counts(self.person[self.triplet])[self.person]

    @_attribute("People with the object", "pair", 1, 2, 3)
    def object_people(self) -> FloatArray:
        things = self.thing[self.pairs]
        people = _counts(things[things >= 0], len(self.instance))
        return np.append(people, np.nan).take(self.thing)

    @_attribute("Box of the object", "pair", 0, 1, names=("none", "annotated"))
    def object_box(self) -> FloatArray:
        return (self.object >= 0).astype(np.float64)

    @_attribute(
        "Person covered by another",
        "pair",
        *(0, _ABOVE, 0.25),
        names=("not at all", "up to 0.25", "0.25 or more"),
    )
    def crowding(self) -> FloatArray:
        """Return the largest share of each person's box that one other person covers, (T,)."""
        scenes = self.scenes
        person = np.flatnonzero(scenes.box_label == scenes.vocabulary.person)
        image = scenes.box_image[person]
        bounds = np.searchsorted(image, np.arange(len(scenes) + 1))
        share = np.zeros(len(scenes.box_label))
        for covered, covering in expand_in_parts(bounds[image], np.diff(bounds)[image]):
            apart = self.instance[person[covered]] != self.instance[person[covering]]
            covered, covering = person[covered[apart]], person[covering[apart]]
            first, second = scenes.box_xyxy[covered], scenes.box_xyxy[covering]
            low = np.maximum(first[:, :2], second[:, :2])
            high = np.minimum(first[:, 2:], second[:, 2:])
            shared = np.clip(high - low + 1, 0, None).prod(axis=1)
            np.maximum.at(share, covered, ratios(shared, area(first, 1.0), undefined=0.0))
        return share[self.human]

    @_attribute("Human box", "pair", *_AREAS, names=_SIZES)
    def human_area(self) -> FloatArray:
        return area(self.human_xyxy, 1.0)

    @_attribute("Object box", "pair", *_AREAS, names=_SIZES)
    def object_area(self) -> FloatArray:
        return area(self.object_xyxy, 1.0)

    @_attribute(
        "Human box, height / width", "pair", 0, 1, 2, names=("below 1", "1 to 2", "2 or more")
    )
    def human_aspect(self) -> FloatArray:
        return _aspect(self.human_xyxy)

    @_attribute("Object box, height / width", "pair", 0, 0.5, 2)
    def object_aspect(self) -> FloatArray:
        return _aspect(self.object_xyxy)

    @_attribute("Distance / diagonal", "pair", 0, 0.1, 0.2, 0.4)
    def distance(self) -> FloatArray:
        human, thing = self.human_xyxy, self.object_xyxy
        apart = (human[:, :2] + human[:, 2:] - thing[:, :2] - thing[:, 2:]) / 2
        diagonal = np.hypot(*self.sizes.T)[self.scenes.triplet_image]
        return np.asarray(np.hypot(*apart.T) / diagonal)

    @_attribute(
        "IoU of person and object",
        "pair",
        *(0, _ABOVE, 0.1, 0.3),
        names=("0", "up to 0.1", "0.1 to 0.3", "0.3 or more"),
    )
    def overlap(self) -> FloatArray:
        # A pair without an object has no overlap.
        iou = box_iou(self.human_xyxy, self.object_xyxy, margin=1.0)
        return np.where(self.object < 0, np.nan, iou)

    @_attribute("Class", "class", 0, 1, names=("non-rare", "rare"))
    def rarity(self) -> FloatArray:
        hoi, vocabulary = self.scenes.triplet_class, self.scenes.vocabulary
        if vocabulary.rare is not None:
            return vocabulary.rare.astype(np.float64)
        few = np.bincount(hoi[hoi >= 0], minlength=len(vocabulary)) < FEW
        return few.astype(np.float64)

    @_attribute("Verb", "class", 0, 1, names=("others", "time-sensitive"))
    def time_sensitive(self) -> FloatArray | None:
        classes = time_sensitive(self.scenes.vocabulary)
        return None if classes is None else classes.astype(np.float64)


def _counts(rows: IntArray, length: int = 0) -> FloatArray:
    return np.bincount(rows, minlength=length).astype(np.float64)


def _aspect(boxes: FloatArray) -> FloatArray:
    """Return the height-to-width ratio of boxes."""
    size = boxes[:, 2:] - boxes[:, :2] + 1
    return np.asarray(size[:, 1] / size[:, 0])


def attribute_slices(annotations: Scenes) -> list[Slice]:
    """Split annotations by each of :data:`ATTRIBUTES`.

    Ranges without triplets are omitted. Attributes with fewer than two ranges are omitted, too,
    such as the image size if the files contain no sizes.
    """
    annotated, slices = _Annotated(annotations), []
    for key, title, by, starts, names, values_of in ATTRIBUTES:
        values = values_of(annotated)
        if values is None:
            continue
        number = np.digitize(values, starts) - 1
        number[np.isnan(values)] = -1
        cuts = [
            Slice(attribute=key, title=title, name=name, by=by, members=number == place)
            for place, name in enumerate(names)
        ]
        cuts = [cut for cut in cuts if cut.triplets(annotations).any()]
        slices += cuts if len(cuts) > 1 else []
    return slices


def read_tags(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read image tags from a CSV file: for each attribute, the cell of each image.

    The first line names the columns. The first column contains the image names; every other column
    is an attribute. A cell contains the tags of its image, separated by ``;``, or is empty.

    Raises
    ------
    InputError
        If the file cannot be read, has no tags, or names an image or an attribute twice.
    """
    path = Path(path)
    rows = read_rows(path, "a header, and one line per image with its name and tags")
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
    for line, (image, *cells) in rows[1:]:
        if image in tags[attributes[0]]:
            raise InputError(
                f"{path}: line {line}: image '{image}' appears twice; write several tags into one "
                f"cell, with '{SEPARATOR}' between them"
            )
        for attribute, cell in zip(attributes, cells, strict=True):
            tags[attribute][image] = cell
    return tags


def tag_slices(
    names: StrArray, own: Mapping[str, Own], source: str = "slices"
) -> tuple[list[Slice], list[str]]:
    """Split annotated images by tags; return notes on images without tags or without annotations.

    ``names`` contains the (N,) annotated images; ``own`` maps each attribute to the source of its
    tags. Images are looked up by full name or, if no name is found, by stem. ``source`` names the
    tags in messages.

    Raises
    ------
    InputError
        If a mapping contains no annotated image, if no image has a tag, or if a source is neither a
        mapping nor a function.
    """
    slices: list[Slice] = []
    notes: dict[str, None] = {}  # attributes from one file share images and thus notes
    for attribute, given in own.items():
        where = f"{source}: {attribute}"
        answers: Iterable[bool | Tags]
        if isinstance(given, Mapping):
            answers = _looked_up(names.tolist(), given, source, where, notes)
        elif callable(given):
            answers = map(given, names.tolist())
        else:
            raise InputError(f"{where}: expected a mapping or a function, found {given!r:.60}")
        of_image = [_tags_in(answer, attribute) for answer in answers]
        tags = sorted(set().union(*of_image))
        if not tags:
            raise InputError(f"{where}: no image has a tag")
        without = [name for name, some in zip(names.tolist(), of_image, strict=True) if not some]
        if without and isinstance(given, Mapping):
            some = f"{number_of('image', len(without))} without a tag: {some_of(without)}"
            notes[f"{where}: {some}"] = None
        for tag in tags:
            members = np.array([tag in some for some in of_image], dtype=bool)
            slices.append(
                Slice(attribute=attribute, title=attribute, name=tag, by="image", members=members)
            )
    return slices, list(notes)


def _looked_up(
    names: Sequence[str],
    tags: Mapping[str, bool | Tags],
    source: str,
    where: str,
    notes: dict[str, None],
) -> list[bool | Tags]:
    """Look up the tags of images by name, or by stem if the mapping has none of the names."""
    wanted, first = list(names), next(iter(tags), "")
    if tags.keys().isdisjoint(wanted):
        wanted = [PurePath(name).stem for name in names]
        tags = {PurePath(name).stem: value for name, value in tags.items()}
    if tags.keys().isdisjoint(wanted):
        raise InputError(
            f"{where}: none of its {len(tags)} images is annotated ('{first}', for example); "
            f"images are named like '{next(iter(names), '')}'"
        )
    if others := sorted(tags.keys() - set(wanted)):
        some = f"{number_of('image', len(others))} not annotated: {some_of(others)}"
        notes[f"{source}: {some}"] = None
    return [tags.get(name) for name in wanted]


def _tags_in(answer: bool | Tags, attribute: str) -> frozenset[str]:
    if isinstance(answer, bool | np.bool_):
        return frozenset([attribute] if answer else [])
    tags = answer.split(SEPARATOR) if isinstance(answer, str) else answer or ()
    return frozenset(tag.strip() for tag in map(str, tags) if tag.strip())

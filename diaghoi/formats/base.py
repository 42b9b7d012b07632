"""Define what a format is: its name, how its content is recognised, and how it is read.

:data:`diaghoi.formats.reading.FORMATS` lists all formats in the order in which they are tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple, TypedDict

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray
from diaghoi.data.boxes import LAYOUTS, corners_of
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.content import Content

# Boxes are read as left, top, width, height only if at least this number of boxes is given and,
# read as corners, at least this share would be inverted.
_ENOUGH, _TURNED = 20, 0.05
Kind = Literal["annotations", "predictions", "pairs"]


class UnclearDataSetError(InputError):
    """A file that may belong to several data sets; ``--dataset`` or the annotations show which."""


class OwnDataError(UnclearDataSetError):
    """A file of an unknown data set, which needs a description.

    Parameters
    ----------
    problem : str
        The evidence, including the name of the file.
    files : sequence of path
        The file and its companions: annotations and predictions.
    """

    def __init__(self, problem: str, files: Sequence[str | os.PathLike[str]]) -> None:
        self.problem, self.files = problem, tuple(map(Path, files))
        given = " ".join(map(quote, map(str, self.files[:1])))
        if len(self.files) > 1:
            given += f" --annotations {quote(str(self.files[1]))}"
        super().__init__(
            f"{problem}; if the file belongs to a data set of your own, draft its description with "
            f"'diaghoi inspect {given} --to-description own.toml', fill in the names, and give "
            "--dataset own.toml; if it belongs to a known data set, give that one with --dataset"
        )


class UnknownNumberError(InputError):
    """An object, verb or HOI class number that the data set does not have.

    Parameters
    ----------
    message : str
        The text.
    unknown : (R,) bool array
        Mask of the unknown numbers in the file.
    """

    def __init__(self, message: str, unknown: BoolArray) -> None:
        super().__init__(message)
        self.unknown = unknown


class Reading(TypedDict, total=False):
    """The options for reading a file: the keywords of :func:`diaghoi.read_predictions`.

    Parameters
    ----------
    format : str, optional
        Name of the format; by default recognised from the content.
    dataset : str or Vocabulary, optional
        The data set, or the ``.toml`` file that describes it; by default the recognised data set,
        or HICO-DET if the file does not show one.
    origin : {0, 1}, optional
        Whether coordinates start at zero or one; by default the convention of the format.
    objects : {'coco80', 'coco91', 'hico80', 'coco80-1', 'coco91-0'}, optional
        Numbering of objects; by default inferred from the format and the box labels.
    verbs, classes : {0, 1}, optional
        Number of the first verb or HOI class, depending on which of them the triplets contain; by
        default inferred from the format and the triplets.
    boxes : str, optional
        Layout of the four numbers of a box, one of :data:`diaghoi.data.boxes.LAYOUTS`: `xyxy`,
        `xywh`, `cxcywh`, `yxyx` and so on; by default `xyxy` or `xywh`, inferred from the boxes.
    top : int, optional
        Triplets kept per image when reading dense arrays and iCAN files; for HICO-DET at least 100
        (the default), because the official evaluator uses 100. Other formats are read completely.
        To evaluate fewer triplets, set ``top`` in the protocol.
    instances, ids : path, optional
        The COCO instances file and the ``.ids`` file that belong to V-COCO annotations in the
        official layout; by default searched for next to the file.
    image_id : str or int, optional
        The image of a V-COCO prediction file that covers one image without naming it.
    """

    format: str | None
    dataset: str | Vocabulary | None
    origin: int | None
    objects: str | None
    verbs: int | None
    classes: int | None
    boxes: str | None
    top: int | None
    instances: str | os.PathLike[str] | None
    ids: str | os.PathLike[str] | None
    image_id: str | int | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The user's checked options for reading a file, together with the recognised data set.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    origin, objects, verbs, classes, boxes, top, instances, ids, image_id
        As in :class:`Reading`; None if they are to be inferred.
    shown : dict
        The conventions with which the file was read: ``boxes`` (xyxy or xywh), ``objects`` and
        ``triplets`` (their numbering).
    stated : bool
        Whether the data set's conventions decide the numbering, even if the numbers suggest
        otherwise.
    annotated : callable
        Function without arguments that returns, in ascending order, the HOI classes in the
        annotations that the description of the data set names.
    """

    vocabulary: Vocabulary
    origin: int | None = None
    objects: str | None = None
    verbs: int | None = None
    classes: int | None = None
    boxes: str | None = None
    shown: dict[str, str] = field(default_factory=dict)
    top: int | None = None
    instances: str | os.PathLike[str] | None = None
    ids: str | os.PathLike[str] | None = None
    image_id: str | int | None = None
    stated: bool = False
    annotated: Callable[[], IntArray] = lambda: np.zeros(0, dtype=np.int64)

    def states(self, *, predictions: bool) -> bool:
        """Whether the data set defines the triplet numbering, whatever the numbers suggest."""
        conventions = self.vocabulary.conventions
        by_description = conventions is not None and conventions.predictions is not None
        return conventions is not None and (self.stated or (predictions and by_description))

    def origin_or(self, default: int) -> int:
        """Return the origin given by the user, else by the data set, else by the format."""
        if self.origin is not None:
            return self.origin
        conventions = self.vocabulary.conventions
        return default if conventions is None else conventions.origin

    def corners(self, boxes: FloatArray) -> FloatArray:
        """Convert boxes of a file to left, top, right, bottom.

        The user's layout has priority, followed by that of the data set. If neither states a
        layout, the first boxes of the file decide: xywh if many boxes, read as xyxy, would end
        before they begin, and no box, read as xywh, has a negative size; if not, xyxy. For `xywh`,
        right is left + width, as in the detectors' code; a data set may specify another rule.
        """
        conventions = self.vocabulary.conventions
        if self.boxes is None and conventions is not None:
            return corners_of(boxes, conventions.boxes, self.vocabulary.protocol.margin)
        layout = self.boxes or self.shown.setdefault("boxes", _layout(boxes))
        return corners_of(boxes, layout)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the file for readers of the results."""
        layout = self.boxes or self.shown.get("boxes", "xyxy")
        if layout == "xyxy":
            return ()
        why = (
            "read as corners, many boxes would end before they begin"
            if self.boxes is None
            else "as asked for"
        )
        return (f"boxes are {LAYOUTS[layout]}: {why}",)


def _layout(boxes: FloatArray) -> str:
    """Choose xywh if many boxes are inverted as xyxy and no size is negative as xywh; else xyxy."""
    with np.errstate(invalid="ignore"):
        turned = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
        positive = bool((boxes[:, 2:] >= 0).all())
    many = len(boxes) >= _ENOUGH and turned.mean() >= _TURNED
    return "xywh" if many and positive else "xyxy"


class Doubts(NamedTuple):
    """Evidence about the data set, taken from the numbers in a file.

    Parameters
    ----------
    either : tuple of str
        The candidate data sets if the file does not show its data set; empty if HICO-DET is
        assumed.
    evidence : tuple of str
        The evidence for the data set.
    misfit : str
        The evidence that the file belongs to no known data set; empty if there is none.
    """

    either: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    misfit: str = ""


class Format:
    """A file format; subclasses define its name and how it is recognised and read.

    Attributes
    ----------
    name : str
        Name in ``--read format=NAME``.
    title : str
        Human-readable description.
    kinds : tuple of str
        What a file of the format may contain.
    keys : tuple of str
        Keys that identify the format, for suggestions in messages.
    marks : tuple of str
        Keys that show, if the first dict of a list has all of them, that the file is of the first
        kind in ``kinds``.
    only : str or None
        The data set that the format belongs to; None for formats that may also hold described data
        sets.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    keys: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    only: str | None = None

    def recognise(self, content: Content) -> Kind | None:
        """Return what a file of this format contains, or None for any other file.

        The content decides, never the name of the file.
        """
        return self.kinds[0] if self.marks and content.first.keys() >= {*self.marks} else None

    def read(self, content: Content, kind: Kind, options: Options) -> SceneSource:
        """Read a recognised file into scenes, or into a source that is read on demand.

        Raises
        ------
        InputError
            If the content is invalid; the message names file, image, field and value.
        """
        raise NotImplementedError

    def dataset(self, content: Content) -> str | None:
        """Return the name of the data set that the content shows, or None."""
        return self.only

    def doubts(self, content: Content) -> Doubts:
        """Return what a file's numbers reveal about a data set that nothing else identifies."""
        return Doubts()


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """The result of recognising a file.

    Parameters
    ----------
    format : str
        Name of the format, as in ``--read format=NAME``.
    kind : str
        ``annotations``, ``predictions`` or ``pairs``.
    title : str
        Readable description of the format.
    container : str
        ``pickle``, ``json``, ``torch``, ``npz``, ``mat``, ``folder`` or ``parts``.
    dataset : str
        The data set, as in ``--dataset``; ``hico-det`` if neither the file nor the user names it.
    numbering : dict
        How ``boxes``, ``objects`` and ``triplets`` were read if the format allows several
        conventions; empty if the file has not been read.
    """

    format: str
    kind: Kind
    title: str
    container: str
    dataset: str
    numbering: Mapping[str, str] = field(default_factory=dict)

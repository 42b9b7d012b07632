"""What defines a format: a name, a function that recognises it from the content, a reader.

:data:`diaghoi.formats.registry.FORMATS` lists all formats, in the order in which they are tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.containers.content import Content

Kind = Literal["annotations", "predictions", "pairs"]


class UnclearDataSetError(InputError):
    """A file that several data sets may have written; ``--dataset`` or its annotations decide."""


class Reading(TypedDict, total=False):
    """How to read a file: the keywords of :func:`diaghoi.read_predictions` and its sisters.

    Parameters
    ----------
    format : str, optional
        Name of a format, instead of recognising it.
    dataset : str or Vocabulary, optional
        The data set, or the ``.toml`` file that describes it; by default as recognised, or HICO-DET
        if the file does not show it.
    origin : {0, 1}, optional
        Whether coordinates start at zero or one; by default the convention of the format.
    objects : {'coco80', 'coco91', 'hico80'}, optional
        How objects are numbered; by default determined from the format and the human boxes.
    verbs, classes : {0, 1}, optional
        That triplets are numbered by verb, or by HOI class, and from where; by default determined
        from the format and the triplets.
    top : int, optional
        Triplets kept per image of dense arrays; in HICO-DET at least 100, the default, because the
        official evaluator uses 100. Other formats are read completely. To evaluate fewer triplets,
        give ``top`` to the protocol.
    instances, ids : path, optional
        The COCO instances file and the ``.ids`` file that belong to V-COCO annotations in the
        official layout; by default searched for beside the file.
    image_id : str or int, optional
        The image of a V-COCO prediction file that holds one image and does not name it.
    """

    format: str | None
    dataset: str | Vocabulary | None
    origin: int | None
    objects: str | None
    verbs: int | None
    classes: int | None
    top: int | None
    instances: str | os.PathLike[str] | None
    ids: str | os.PathLike[str] | None
    image_id: str | int | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The user's options for reading a file, checked, and with the data set that was found.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    origin, objects, verbs, classes, top, instances, ids, image_id
        As in :class:`Reading`; None to determine them.
    """

    vocabulary: Vocabulary
    origin: int | None = None
    objects: str | None = None
    verbs: int | None = None
    classes: int | None = None
    top: int | None = None
    instances: str | os.PathLike[str] | None = None
    ids: str | os.PathLike[str] | None = None
    image_id: str | None = None

    def origin_or(self, default: int) -> int:
        """Return the origin: the user's, the data set's, or the format's own."""
        if self.origin is not None:
            return self.origin
        conventions = self.vocabulary.conventions
        return default if conventions is None else conventions.origin

    def corners(self, boxes: FloatArray) -> FloatArray:
        """Convert boxes in the layout of the data set's files to left, top, right, bottom."""
        conventions = self.vocabulary.conventions
        if conventions is None or conventions.boxes == "xyxy":
            return boxes
        margin = self.vocabulary.protocol.margin
        return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:] - margin], axis=1)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format on disk.

    Parameters
    ----------
    name : str
        As in ``--format``.
    title : str
        Description for people.
    kinds : tuple of str
        What such a file can hold.
    keys : tuple of str
        Names by which it is recognised, for suggestions in messages.
    recognise : callable
        ``content -> kind``, or None if the content is not in this format. Considers only the
        content, never the name of the file.
    read : callable
        ``(content, kind, options) -> Scenes``, or a source of scenes that is read on demand.
    dataset : callable
        ``content -> data set``, or None if the content does not show it.
    either : callable
        ``content -> data sets``: which may have written a file that does not show it; empty where
        such a file is HICO-DET's.
    single : bool
        Whether the format belongs to that data set only; others also hold described data sets.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    keys: tuple[str, ...]
    recognise: Callable[[Content], Kind | None]
    read: Callable[[Content, Kind, Options], SceneSource]
    dataset: Callable[[Content], str | None] = lambda content: None
    either: Callable[[Content], tuple[str, ...]] = lambda content: ()
    single: bool = False


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """What a file was found to be.

    Parameters
    ----------
    format : str
        Name of the format, as in ``--format``.
    kind : str
        ``annotations``, ``predictions`` or ``pairs``.
    title : str
        Description of the format, for people.
    container : str
        ``pickle``, ``json``, ``torch``, ``npz``, ``mat`` or ``folder``.
    dataset : str
        The data set, as in ``--dataset``; ``hico-det`` if neither the file nor the user names it.
    """

    format: str
    kind: Kind
    title: str
    container: str
    dataset: str

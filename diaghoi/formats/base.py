"""What a format is: a name, a recogniser by content, and a reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.containers.content import Content

Kind = Literal["annotations", "predictions", "pairs"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user may say about a file.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    origin : {0, 1} or None
        Whether boxes are counted from zero or one; None for what the format prescribes.
    objects : str or None
        How objects are numbered: ``coco80``, ``coco91`` or ``hico80``; None to find it.
    top : int or None
        Triplets kept of each image of dense arrays; None for the customary 100, the fewest in
        HICO-DET.
    instances, ids : path or None
        The COCO instances and the split of the official V-COCO annotations; None to find them
        beside the file.
    image_id : str or None
        The image of a file with V-COCO predictions of one image that does not name it.
    """

    vocabulary: Vocabulary
    origin: int | None = None
    objects: str | None = None
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
        """Return boxes as the files of the data set write them as left, top, right, bottom."""
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
        What it is, for people.
    kinds : tuple of str
        What such a file can hold.
    keys : tuple of str
        Names by which it is recognised, for suggestions in messages.
    recognise : callable
        ``content -> kind``, or None where the content is not in this format. Looks at the content,
        never at the name of the file.
    read : callable
        ``(content, kind, options) -> Scenes``, or a file of scenes that is read when it is used.
    dataset : callable
        ``content -> data set``, or None where the content does not tell.
    single : bool
        Whether the format belongs to that data set alone; else a description can be read with it.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    keys: tuple[str, ...]
    recognise: Callable[[Content], Kind | None]
    read: Callable[[Content, Kind, Options], SceneSource]
    dataset: Callable[[Content], str | None] = lambda content: None
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
        What the format is, for people.
    container : str
        How it is stored: ``pickle``, ``json``, ``npz``, ``mat`` or ``folder``.
    dataset : str
        The data set, as in ``--dataset``; ``hico-det`` where neither file nor user tells.
    """

    format: str
    kind: Kind
    title: str
    container: str
    dataset: str

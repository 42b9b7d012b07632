"""Readers and writers of files: each format is recognised by its content and read into ``Scenes``.

The package uses one convention internally: objects in COCO-80 order with person as 0, verbs from 0
in vocabulary order, and zero-based xyxy boxes. The readers and writers convert all other
conventions.
"""

from diaghoi.formats.base import Format, Options, Reading, Recognised
from diaghoi.formats.content import Content
from diaghoi.formats.dense import write_dense_arrays
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.lists import write_triplet_lists
from diaghoi.formats.own import write
from diaghoi.formats.pair_lists import write_pair_lists
from diaghoi.formats.reading import (
    FORMATS,
    open_annotations,
    open_both,
    open_file,
    open_predictions,
    read,
    read_annotations,
    read_predictions,
    recognise,
)
from diaghoi.formats.v_coco_results import write_v_coco

__all__ = [
    "FORMATS",
    "Content",
    "Format",
    "Options",
    "Reading",
    "Recognised",
    "from_repeated",
    "open_annotations",
    "open_both",
    "open_file",
    "open_predictions",
    "read",
    "read_annotations",
    "read_predictions",
    "recognise",
    "write",
    "write_dense_arrays",
    "write_pair_lists",
    "write_triplet_lists",
    "write_v_coco",
]

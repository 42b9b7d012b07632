"""Reading and writing files: every format is recognised by its content and read to ``Scenes``.

Inside the package there is one numbering: objects in COCO-80 order with person 0, verbs from 0 in
the order of the vocabulary, boxes xyxy counted from zero. Everything else is translated here.
"""

from diaghoi.formats.base import Format, Options, Reading, Recognised
from diaghoi.formats.columnar import write
from diaghoi.formats.content import Content
from diaghoi.formats.dense_arrays import write_dense_arrays
from diaghoi.formats.flat import from_repeated
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
from diaghoi.formats.triplet_lists import write_triplet_lists
from diaghoi.formats.v_coco.writing import write_v_coco

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

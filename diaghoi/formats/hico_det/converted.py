"""The result files of GEN-VLKT's converter for the MATLAB evaluator: ``detections_XX.mat``.

As in :mod:`diaghoi.formats.hico_det.detections` there is one file for each object in COCO order
counted from one, but ``all_boxes`` lists predictions: rows of five cells with the human box, the
object box, the number of the image (that at the end of its file name), the class among those of the
object in official order, from 0, and the score times 1000. Boxes are xyxy counted from zero. Boxes
with the same coordinates and category in one image are one box.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.columns.checks import EXACT, Rows, check_boxes, check_scores
from diaghoi.formats.columns.repeated import Meaning, from_repeated
from diaghoi.formats.content import Content
from diaghoi.formats.hico_det.detections import check_complete, file_orders
from diaghoi.formats.matlab import read_variable, variables

# How many numbers the cells of a row hold: boxes, image, class, score.
_CELLS = (4, 4, 1, 1, 1)
_SCALE = 1000.0


def _recognise(content: Content) -> Kind | None:
    if content.container != "folder":
        return None
    try:
        filled = None
        for path in content.value.values():
            found = variables(path).get("all_boxes")
            if found is None or len(found.shape) != 2 or found.shape[1] != len(_CELLS):
                return None
            filled = path if filled is None and found.shape[0] else filled
        row = () if filled is None else read_variable(filled, "all_boxes")[0]
    except InputError:  # for the reader of the other files to explain
        return None
    return "predictions" if tuple(np.size(cell) for cell in row) == _CELLS else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    vocabulary, file = options.vocabulary, content.file
    files: dict[int, Path] = content.value
    check_complete(file, files, len(vocabulary.objects))
    tables = {number: _table(path) for number, path in sorted(files.items())}
    classes = _classes(file, tables, vocabulary, options.objects)
    values = np.concatenate(list(tables.values()))
    hoi = np.concatenate(
        [classes[number][table[:, 9].astype(np.int64)] for number, table in tables.items()]
    )
    # By falling score within an image, as the lists were that are converted.
    order = np.lexsort((hoi, -values[:, 10], values[:, 8]))
    values, hoi = values[order], hoi[order]
    images, count = np.unique(values[:, 8].astype(np.int64), return_counts=True)
    names = np.array(list(map(str, images.tolist())), dtype=np.str_)
    rows = Rows(file, names.tolist(), "all_boxes", count)
    origin = options.origin_or(0)
    return from_repeated(
        vocabulary,
        names=names,
        image=rows.image,
        human=check_boxes(rows, values[:, :4], "", origin=origin),
        object_box=check_boxes(rows, values[:, 4:8], "", origin=origin),
        meaning=Meaning.of_classes(vocabulary, hoi),
        score=check_scores(rows, values[:, 10] / _SCALE, ""),
        source=file,
    )


def _table(path: Path) -> FloatArray:
    """Read the rows of one file as (rows, 11) numbers."""
    cells: Array = read_variable(path, "all_boxes")
    if not cells.size:
        return np.zeros((0, sum(_CELLS)))
    sizes = np.array([[np.size(cell) for cell in row] for row in cells])
    wrong = (sizes != _CELLS).any(axis=1) if cells.shape[1:] == (len(_CELLS),) else sizes[:, 0] >= 0
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise InputError(
            f"{path}: all_boxes: row {bad + 1} has cells of {', '.join(map(str, sizes[bad]))} "
            "numbers; give two boxes, the image, the class and the score"
        )
    flat = [np.ravel(cell) for row in cells for cell in row]
    numbers = np.concatenate(flat)
    if numbers.dtype.kind not in "biuf":
        raise InputError(f"{path}: all_boxes: holds something else than real numbers")
    values = numbers.astype(np.float64).reshape(-1, sum(_CELLS))
    whole = values[:, 8:10]
    bad_rows = ~((whole >= 0) & (whole <= EXACT) & (whole == np.floor(whole))).all(axis=1)
    if bad_rows.any():
        bad = int(np.argmax(bad_rows))
        raise InputError(
            f"{path}: all_boxes: row {bad + 1}: image {whole[bad, 0]:g} and class "
            f"{whole[bad, 1]:g} must be whole numbers from 0"
        )
    return values


def _classes(
    folder: str, tables: dict[int, FloatArray], vocabulary: Vocabulary, given: str | None
) -> dict[int, IntArray]:
    """HOI classes of the object of each file, in the numbering of objects that fits the files."""
    orders = file_orders(given)
    problem = ""
    for name, order in orders.items():
        classes: dict[int, IntArray] = {
            n: np.flatnonzero(vocabulary.class_object == order[n]) for n in tables
        }
        bad = next((n for n, t in tables.items() if (t[:, 9] >= len(classes[n])).any()), None)
        if bad is None:
            return classes
        problem = problem or (
            f"{folder}: detections_{bad:02d}.mat: all_boxes: class {tables[bad][:, 9].max():g}, "
            f"but {vocabulary.objects[order[bad]]!r} has {len(classes[bad])} HOI classes ({name})"
        )
    raise InputError(problem)


FORMAT = Format(
    name="hico-converted-mat",
    title="files for the official HICO-DET evaluator by GEN-VLKT's converter",
    kinds=("predictions",),
    keys=(),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det",
    single=True,
)

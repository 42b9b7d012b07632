"""The result files of the official HICO-DET evaluator: ``detections_01.mat`` to ``_80.mat``.

The number in the name is the object counted from one: in COCO order (01 person, 02 bicycle) as the
evaluator looks it up and SCG writes it, or in HICO's alphabetical order as UPT and PViC write it.
The number of HOI classes of each file shows which.

Each file has ``all_boxes``, a cell array of (HOI classes of the object, in official order) x
(images of the official test list) with (n, 9) arrays: human x1, y1, x2, y2, object x1, y1, x2, y2,
score. Boxes are counted from zero (the evaluator adds 1 before it compares them). The files have no
image names: images are joined by position. There is no score of the verb alone. Boxes with the same
coordinates and category in one image are one box.

A box may end one pixel before it begins: UPT subtracts 1 from the right and bottom edge, even of
boxes narrower than a pixel.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diaghoi.data.arrays import Array, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, object_numberings
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_boxes, check_scores
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.matlab import read_variable, variables

_COLUMNS = 9


def _recognise(content: Content) -> Kind | None:
    return "predictions" if content.container == "folder" else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    vocabulary = options.vocabulary
    files: dict[int, Path] = content.value
    check_complete(content.file, files, len(vocabulary.objects))
    shapes = {number: _shape(path) for number, path in sorted(files.items())}
    images = {number: count for number, (_, count) in shapes.items()}
    if len(set(images.values())) > 1:
        other = next(n for n, count in images.items() if count != images[1])
        raise InputError(
            f"{files[other]}: all_boxes: has {images[other]} images, but {files[1].name} has "
            f"{images[1]}; all files need the images of the same list"
        )
    table = _numbering(
        content.file, {n: rows for n, (rows, _) in shapes.items()}, vocabulary, options.objects
    )
    parts = []
    for number in shapes:
        # One file at a time: the cell arrays of all 80 together take gigabytes.
        classes = np.flatnonzero(vocabulary.class_object == table[number])
        parts.append(
            _rows(
                files[number],
                read_variable(files[number], "all_boxes"),
                classes,
                options.origin_or(0),
            )
        )
    image, hoi, values = (np.concatenate([part[n] for part in parts]) for n in range(3))
    order = np.lexsort((hoi, image))
    return from_repeated(
        vocabulary,
        names=np.full(images[1], "", dtype=np.str_),
        image=image[order],
        human=values[order, :4],
        object_box=values[order, 4:8],
        hoi=hoi[order],
        score=values[order, 8],
        source=content.file,
        notes=(f"{content.file}: images have no names; they are joined by position",),
    )


def check_complete(folder: str, files: dict[int, Path], objects: int) -> None:
    """Refuse a folder that lacks the file of an object, or has too many.

    Raises
    ------
    InputError
        If so.
    """
    missing = [f"detections_{n:02d}.mat" for n in range(1, objects + 1) if n not in files]
    if missing:
        raise InputError(
            f"{folder}: {len(missing)} of {objects} files are missing: {some_of(missing)}; the "
            "official evaluator writes one for each object"
        )
    extra = [path.name for n, path in files.items() if not 1 <= n <= objects]
    if extra:
        raise InputError(f"{folder}: has more files than objects: {some_of(extra)}; remove them")


def _shape(path: Path) -> tuple[int, int]:
    """Return how many classes and images ``all_boxes`` of one file has, without loading it."""
    found = variables(path).get("all_boxes")
    if found is None or found.kind != "cell" or len(found.shape) != 2:
        problem = "is missing" if found is None else "is not a cell array of classes x images"
        raise InputError(f"{path}: the variable 'all_boxes' {problem}")
    return found.shape[0], found.shape[1]


def file_orders(given: str | None) -> dict[str, dict[int, int]]:
    """Object of each file number, in the orders in which code bases number files.

    Parameters
    ----------
    given : str or None
        The only one that the user allows.

    Raises
    ------
    InputError
        For another numbering.
    """
    known = ("coco80", "hico80")
    if given is not None and given not in known:
        raise InputError(f"--read objects={given}: these files are numbered as coco80 or hico80")
    return {
        name: {number + 1: position for number, position in object_numberings()[name].items()}
        for name in (known if given is None else (given,))
    }


def _numbering(
    folder: str, rows: dict[int, int], vocabulary: Vocabulary, given: str | None
) -> dict[int, int]:
    """Map each file to its object, and verify that by the number of HOI classes in the file."""
    file_orders(given)
    orders = file_orders(None)
    expected = np.bincount(vocabulary.class_object, minlength=len(vocabulary.objects))
    wrong = {
        name: next((n for n, count in rows.items() if count != expected[table[n]]), None)
        for name, table in orders.items()
    }
    fits = next((name for name, misfit in wrong.items() if misfit is None), None)
    name = given or fits or "coco80"
    bad = wrong[name]
    if bad is None:
        return orders[name]
    hint = f"; the files fit {fits}: give --read objects={fits}" if fits else ""
    object_name = vocabulary.objects[orders[name][bad]]
    raise InputError(
        f"{folder}: detections_{bad:02d}.mat: all_boxes: has {rows[bad]} rows, but "
        f"{object_name!r} has {expected[orders[name][bad]]} HOI classes{hint}"
    )


def _rows(
    path: Path, cells: Array, classes: IntArray, origin: int
) -> tuple[IntArray, IntArray, Array]:
    """List the detections of one file: image, HOI class, and (n, 9) boxes and score."""
    classes_of_file, images = cells.shape
    flat = cells.T.reshape(-1)  # image by image
    count = np.fromiter((len(c) if c.size else 0 for c in flat), dtype=np.int64, count=len(flat))
    filled = np.flatnonzero(count)
    for n in filled.tolist():
        if flat[n].ndim != 2 or flat[n].shape[1] != _COLUMNS or flat[n].dtype.kind not in "iuf":
            image, row = divmod(n, classes_of_file)
            raise InputError(
                f"{path}: all_boxes{{{row + 1},{image + 1}}}: is of shape {flat[n].shape} and type "
                f"{flat[n].dtype}; give n x 9 numbers: two boxes and the score"
            )
    parts = [flat[n].astype(np.float64) for n in filled.tolist()]
    values = np.concatenate(parts) if parts else np.zeros((0, _COLUMNS))
    per_image = count.reshape(images, classes_of_file).sum(axis=1)
    rows = Rows(str(path), [""] * images, "all_boxes", per_image)
    for part in (slice(0, 4), slice(4, 8)):
        values[:, part] = check_boxes(rows, values[:, part], "", origin=origin, least=-1.0)
    check_scores(rows, values[:, 8], "")
    cell = np.repeat(filled, count[filled])
    return rows.image, classes[cell % classes_of_file], values


FORMAT = Format(
    name="hico-detections-mat",
    title="result files of the official HICO-DET evaluator",
    kinds=("predictions",),
    keys=(),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det",
    single=True,
)

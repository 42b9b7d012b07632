"""The MATLAB files of HICO-DET: annotations, detections for the official evaluator, image labels.

Boxes of an image with the same coordinates and category are merged.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, StrArray
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary, hico_det, object_numberings
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    Rows,
    check_boxes,
    check_names,
    check_range,
    check_scores,
    is_list,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import Flat, from_repeated
from diaghoi.formats.hico_det import connected
from diaghoi.formats.matlab import read_variable, variables
from diaghoi.formats.records import Images, RecordTable

_EDGES = ("x1", "y1", "x2", "y2")
_SIDES = ("bboxhuman", "bboxobject")
_COLUMNS = 9


class AnnoBbox(Format):
    """Read the annotations as published: ``anno_bbox.mat``.

    The struct arrays ``bbox_test`` and ``bbox_train`` (1 x N) have ``filename``, ``size`` (width,
    height, depth) and ``hoi``, a struct array with ``id`` (1-600), ``bboxhuman`` and ``bboxobject``
    (struct arrays with x1, x2, y1, y2), ``connection`` (K x 2, one-based indices of the human and
    object box) and ``invis``. Boxes are one-based. HOIs marked invisible have no boxes; they are
    skipped, and a note gives the number of them.
    """

    name = "anno-bbox-mat"
    title = "HICO-DET annotations as published (anno_bbox.mat)"
    kinds = ("annotations",)
    keys = ("bbox_test", "bbox_train")
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        named = content.container == "mat" and not {*self.keys}.isdisjoint(content.value)
        return "annotations" if named else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        file, notes = content.file, []
        variable = self.keys["bbox_test" not in content.value]
        structs = _structs(_plain(read_variable(content.path, variable)))
        for image in structs:
            image |= {key: _structs(image[key]) for key in ("size", "hoi") if key in image}
        names = check_names(file, [_name(image) for image in structs], "filename").tolist()
        images = Images(file, structs, names, content.size)
        none = {"width": 0, "height": 0}
        first = [next(iter(size), none) for size in images.table("size").lists]
        sizes = images.single("size", first)
        hois = images.table("hoi")
        visible = hois.integers("invis") == 0
        if variable == "bbox_train":
            notes.append(f"{file}: has no 'bbox_test'; the training images ('bbox_train') are read")
        if not visible.all():
            invisible = int((~visible).sum())
            notes.append(f"{file}: {invisible} HOIs marked invisible have no boxes and are omitted")
        rows = hois.rows.of_rows(visible, "hoi")
        seen = RecordTable([list(compress(hois, visible))], rows)
        table = connected(seen, _SIDES, "connection", content.size, first=1)
        what = "HOI class (id - 1)"
        hoi = check_range(table.rows, table.integers("id") - 1, len(options.vocabulary), "id", what)
        return Flat(table.rows, replace(options, boxes="xyxy"), origin=1, notes=notes).scenes(
            {key: table.boxes(key) for key in _SIDES},
            hoi=hoi,
            sizes=np.stack([sizes.integers("width", 0), sizes.integers("height", 0)], axis=1),
        )


def _plain(value: Any) -> Any:
    """Convert arrays of structs and cells to lists, and boxes to tuples; unwrap single values."""
    if isinstance(value, dict):
        plain = {key: _plain(part) for key, part in value.items()}
        is_box = plain.keys() >= set(_EDGES)
        return tuple(plain[edge] for edge in _EDGES) if is_box else plain
    if isinstance(value, np.ndarray) and value.dtype == object:
        parts = map(_plain, value.reshape(-1))
        return [row for part in parts for row in (part if isinstance(part, list) else [part])]
    if isinstance(value, np.ndarray) and value.size < 2:
        return value.item() if value.size else []
    return value


def _structs(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if is_list(value) else []


def _name(image: dict[str, Any]) -> Any:
    name = image.get("filename", "")
    return next(iter(name), "") if isinstance(name, list) else name


class HicoDetections(Format):
    """Read detections for the official evaluator: ``detections_01.mat`` to ``_80.mat``.

    The number in the file name is the object's number, counted from one: in COCO order (01 person,
    02 bicycle), which the evaluator uses and SCG writes, or in HICO's alphabetical order, which UPT
    and PViC write. The number of HOI classes in each file shows which order was used.

    Each file contains ``all_boxes``, a cell array of (HOI classes of the object, in official order)
    x (images of the official test list) whose cells are (n, 9) arrays: human x1, y1, x2, y2, object
    x1, y1, x2, y2, score. Boxes are zero-based (the evaluator adds 1 before comparing them). The
    files have no image names: images are joined by index. The files have no separate verb scores.

    A box may end one pixel before it begins: UPT subtracts 1 from the right and bottom edges, even
    for boxes narrower than a pixel.
    """

    name = "hico-detections-mat"
    title = "result files of the official HICO-DET evaluator"
    kinds = ("predictions",)
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        return "predictions" if content.container == "folder" else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        vocabulary, folder = options.vocabulary, content.file
        files: dict[int, Path] = content.value
        check_complete(folder, files, len(vocabulary.objects))
        shapes = {number: _shape(path) for number, path in sorted(files.items())}
        images = shapes[1][1]
        for number, (_, count) in shapes.items():
            if count != images:
                raise InputError(
                    f"{files[number]}: all_boxes: has {count} images, but {files[1].name} has "
                    f"{images}; all files must list the same images"
                )
        amount = {n: rows for n, (rows, _) in shapes.items()}
        table = objects_of_files(folder, amount, vocabulary, options.objects, all_classes=True)
        parts = []
        for number in shapes:
            # Files are read one at a time: the cell arrays of all 80 would take gigabytes.
            cells = read_variable(files[number], "all_boxes")
            classes = np.flatnonzero(vocabulary.class_object == table[number])
            parts.append(_rows(files[number], cells, classes, options.origin_or(0)))
        image, hoi, values = (np.concatenate([part[n] for part in parts]) for n in range(3))
        order = np.lexsort((hoi, image))
        rows = Rows(folder, [""] * images, "all_boxes", np.bincount(image, minlength=images))
        return from_repeated(
            vocabulary,
            names=np.array(rows.names, dtype=np.str_),
            image=rows.image,
            human=values[order, :4],
            object_box=values[order, 4:8],
            hoi=hoi[order],
            score=values[order, 8],
            source=folder,
            notes=(f"{folder}: images have no names, so files are joined by index",),
        )


def check_complete(folder: str, files: dict[int, Path], objects: int) -> None:
    """Reject a folder that lacks the file of an object or has too many files."""
    missing = [f"detections_{n:02d}.mat" for n in range(1, objects + 1) if n not in files]
    if missing:
        raise InputError(
            f"{folder}: {len(missing)} of {objects} files are missing: {some_of(missing)}; the "
            "official evaluator writes one file for each object"
        )
    extra = [path.name for n, path in files.items() if not 1 <= n <= objects]
    if extra:
        raise InputError(
            f"{folder}: has more files than there are objects: {some_of(extra)}; remove them"
        )


def _shape(path: Path) -> tuple[int, int]:
    """Return the numbers of classes and images in a file's ``all_boxes``, without loading it."""
    found = variables(path).get("all_boxes")
    if found is None or found.kind != "cell" or len(found.shape) != 2:
        problem = "is missing" if found is None else "is not a cell array of classes x images"
        raise InputError(f"{path}: the variable 'all_boxes' {problem}")
    return found.shape[0], found.shape[1]


def file_orders(given: str | None) -> dict[str, dict[int, int]]:
    """Return the object of each file number, for each order that code bases use.

    Raises
    ------
    InputError
        If ``given``, the only order that the user allows, is not an order that code bases use.
    """
    known = ("coco80", "hico80")
    if given is not None and given not in known:
        raise InputError(f"--read objects={given}: these files are numbered as coco80 or hico80")
    return {
        name: {number + 1: position for number, position in object_numberings()[name].items()}
        for name in (known if given is None else (given,))
    }


def objects_of_files(
    folder: str,
    amount: Mapping[int, int],
    vocabulary: Vocabulary,
    given: str | None,
    *,
    all_classes: bool,
) -> dict[int, int]:
    """Map each file to its object, in the numbering that fits the HOI classes of the files.

    Parameters
    ----------
    folder : str
        The folder, for messages.
    amount : mapping of int
        Number of HOI classes in each numbered file.
    vocabulary : Vocabulary
        The data set.
    given : str or None
        The only numbering that the user allows.
    all_classes : bool
        Whether each file contains all classes of its object, including classes without detections.

    Raises
    ------
    InputError
        If no numbering that the user allows fits, or no code base uses the numbering that the user
        requests.
    """
    file_orders(given)
    orders, fit = file_orders(None), operator.eq if all_classes else operator.le
    classes = np.bincount(vocabulary.class_object, minlength=len(vocabulary.objects))
    wrong = {
        name: [n for n in amount if not fit(amount[n], classes[order[n]])]
        for name, order in orders.items()
    }
    fits = next((name for name, misfits in wrong.items() if not misfits), None)
    name = given or fits or "coco80"
    if not wrong[name]:
        return orders[name]
    bad = wrong[name][0]
    hint = f"; the files fit {fits}: give --read objects={fits}" if fits else ""
    place = orders[name][bad]
    raise InputError(
        f"{folder}: detections_{bad:02d}.mat: all_boxes: has {amount[bad]} HOI classes, but "
        f"{vocabulary.objects[place]!r} has {classes[place]}{hint}"
    )


def _rows(
    path: Path, cells: Array, classes: IntArray, origin: int
) -> tuple[IntArray, IntArray, Array]:
    """List the detections of a file: image, HOI class, and (n, 9) boxes and scores."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageLabels:
    """The image-level labels of HICO (``anno.mat``), used by the official Known Object setting.

    Parameters
    ----------
    names : (M,) str array
        Images.
    positive : (C, M) bool array
        Whether the image is labelled with the HOI class.
    source : str
        The file, for messages.
    """

    names: StrArray
    positive: BoolArray
    source: str = ""

    def objects(self, annotations: SceneSource) -> BoolArray:
        """Return the (N, objects) mask of images labelled with a class of the object category.

        Raises
        ------
        InputError
            If an image is not in the file.
        """
        position = {name: row for row, name in enumerate(self.names.tolist())}
        names = annotations.names.tolist()
        missing = [name for name in names if name not in position]
        if missing:
            raise InputError(
                f"{self.source}: no image labels for {len(missing)} of {len(names)} images: "
                f"{some_of(missing)}"
            )
        positive = self.positive[:, [position[name] for name in names]]
        objects = np.zeros((len(annotations), len(annotations.vocabulary.objects)), dtype=bool)
        for hoi, label in enumerate(annotations.vocabulary.class_object):
            objects[:, label] |= positive[hoi]
        return objects


def read_image_labels(path: str | PathLike[str]) -> ImageLabels:
    """Read the image-level labels of the HICO test set from ``anno.mat``.

    Parameters
    ----------
    path : path
        MATLAB file with ``anno_test`` (600 x images: 1 positive, -1 negative, 0 unclear, NaN
        unknown) and ``list_test`` (image names).

    Raises
    ------
    InputError
        If the file is missing, or lacks ``anno_test`` or ``list_test`` in this form.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    found = variables(path)
    for name in ("anno_test", "list_test"):
        if name not in found:
            raise InputError(f"{path}: no '{name}' in it; give HICO's anno.mat")
    listed = np.ravel(read_variable(path, "list_test")).tolist()
    names = np.array([str(np.ravel(name)[0]) if np.size(name) == 1 else "" for name in listed])
    labels = np.asarray(read_variable(path, "anno_test"))
    shape = len(hico_det()), len(names)
    if not all(names.tolist()) or labels.dtype.kind not in "biuf" or labels.shape != shape:
        raise InputError(
            f"{path}: 'anno_test' has shape {labels.shape} and type {labels.dtype}, and "
            f"'list_test' has {len(names)} images; give HICO's anno.mat: numbers for {shape[0]} "
            "HOI classes x images, and the image names"
        )
    positive = labels == 1
    return ImageLabels(names=names, positive=positive, source=str(path))

"""HICO-DET annotations as published: ``anno_bbox.mat``.

Struct arrays ``bbox_test`` and ``bbox_train`` (1 x N): ``filename``, ``size`` (width, height,
depth) and ``hoi``, a struct array with ``id`` (1-600), ``bboxhuman`` and ``bboxobject`` (struct
arrays with x1, x2, y1, y2), ``connection`` (K x 2, human and object box counted from one) and
``invis``. Boxes are counted from one; with the same coordinates and category in one image they are
one box.
HOIs marked invisible have no boxes; they are skipped and counted in a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    Rows,
    check_boxes,
    check_names,
    check_range,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.matlab import read_variable

_Number = TypeVar("_Number", int, float)

_EDGES = ("x1", "y1", "x2", "y2")


def _recognise(content: Content) -> Kind | None:
    if content.container != "mat":
        return None
    return "annotations" if {"bbox_test", "bbox_train"} & set(content.value) else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    file, vocabulary = content.file, options.vocabulary
    variable = "bbox_test" if "bbox_test" in content.value else "bbox_train"
    found = _Collected(file)
    for image in structs(read_variable(content.path, variable)):
        found.add(image)
    names = check_names(file, found.names, "filename")
    count = np.array(found.count, dtype=np.int64)
    rows = Rows(file, names.tolist(), "hoi", count)
    hoi = check_range(
        rows, np.array(found.hoi, dtype=np.int64) - 1, len(vocabulary), "id", "HOI class (id - 1)"
    )
    origin = options.origin_or(1)
    human, object_box = (
        check_boxes(rows, np.array(part).reshape(-1, 4), key, origin=origin)
        for part, key in ((found.human, "bboxhuman"), (found.object_box, "bboxobject"))
    )
    return from_repeated(
        vocabulary,
        names=names,
        sizes=np.array(found.sizes, dtype=np.int64).reshape(-1, 2),
        image=rows.image,
        human=human,
        object_box=object_box,
        hoi=hoi,
        source=file,
        notes=_notes(file, variable, found.invisible),
    )


def _notes(file: str, variable: str, invisible: int) -> tuple[str, ...]:
    notes = []
    if variable == "bbox_train":
        notes.append(f"{file}: has no 'bbox_test'; the training images ('bbox_train') are read")
    if invisible:
        notes.append(f"{file}: {invisible} HOIs marked invisible have no boxes and are left out")
    return tuple(notes)


def structs(value: Any) -> list[Any]:
    """Flatten a MATLAB struct array, or a cell array of structs, to a list of structs."""
    if isinstance(value, np.void | dict):
        return [value]
    if isinstance(value, np.ndarray) and value.dtype.names:
        return list(value.reshape(-1))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [struct for part in value.reshape(-1) for struct in structs(part)]
    return []


def _first(value: Any) -> Any:
    """Unwrap a scalar, which MATLAB stores as a 1 x 1 array; None for an empty array."""
    while isinstance(value, np.ndarray):
        if value.size == 0:
            return None
        value = value.reshape(-1)[0]
    return value


def _real(value: Any) -> float:
    if isinstance(value, np.complexfloating):
        raise TypeError  # float() would drop the imaginary part with only a warning
    return float(value)


@dataclass(eq=False)
class _Collected:
    """Columns of the triplets, extended image by image."""

    file: str
    names: list[str] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    hoi: list[int] = field(default_factory=list)
    human: list[list[float]] = field(default_factory=list)
    object_box: list[list[float]] = field(default_factory=list)
    invisible: int = 0

    def add(self, image: Any) -> None:
        """Add one image."""
        name = _first(self._field(image, "filename", f"image {len(self.names)} (counted from 0)"))
        where = f"image {str(name)!r}"
        before = len(self.hoi)
        sizes = structs(self._field(image, "size", where))
        self.sizes.append(self._size(sizes[0], where) if sizes else (0, 0))
        for number, hoi in enumerate(structs(self._field(image, "hoi", where))):
            self._add_hoi(hoi, f"{where}: hoi[{number}]")
        self.names.append(str(name) if name is not None else "")
        self.count.append(len(self.hoi) - before)

    def _add_hoi(self, hoi: Any, where: str) -> None:
        if self._whole(hoi, "invis", where):
            self.invisible += 1
            return
        boxes = [self._boxes(hoi, key, where) for key in ("bboxhuman", "bboxobject")]
        number = self._whole(hoi, "id", where)
        connection = np.asarray(self._field(hoi, "connection", where))
        if connection.size == 0:
            return
        if connection.ndim != 2 or connection.shape[1] != 2 or connection.dtype.kind not in "iuf":
            raise InputError(
                f"{self.file}: {where}: connection: has shape {connection.shape}; give K x 2 "
                "numbers of a human and an object box"
            )
        for row in connection.tolist():
            pair = [self._checked(box, whole_number, f"{where}.connection") for box in row]
            for box, part, what in zip(pair, boxes, ("human", "object"), strict=True):
                if not 1 <= box <= len(part):
                    raise InputError(
                        f"{self.file}: {where}: connection: there is no {what} box {box}; there "
                        f"are {len(part)}, counted from 1"
                    )
            self.hoi.append(number)
            self.human.append(boxes[0][pair[0] - 1])
            self.object_box.append(boxes[1][pair[1] - 1])

    def _boxes(self, hoi: Any, key: str, where: str) -> list[list[float]]:
        return [
            [self._number(box, edge, f"{where}.{key}[{n}]") for edge in _EDGES]
            for n, box in enumerate(structs(self._field(hoi, key, where)))
        ]

    def _size(self, size: Any, where: str) -> tuple[int, int]:
        width, height = (self._whole(size, key, f"{where}: size") for key in ("width", "height"))
        return width, height

    def _number(self, struct: Any, key: str, where: str) -> float:
        return self._checked(_first(self._field(struct, key, where)), _real, f"{where}.{key}")

    def _whole(self, struct: Any, key: str, where: str) -> int:
        value = _first(self._field(struct, key, where))
        return self._checked(value, whole_number, f"{where}.{key}")

    def _checked(self, value: Any, convert: Callable[[Any], _Number], where: str) -> _Number:
        try:
            return convert(value)
        except (TypeError, ValueError, OverflowError):
            pass
        try:
            problem = f"{_real(value)} is not a whole number"
        except (TypeError, ValueError, OverflowError):
            problem = f"{shown(str(value))} is not a number"
        raise InputError(f"{self.file}: {where}: {problem}")

    def _field(self, struct: Any, key: str, where: str) -> Any:
        names = list(struct.dtype.names or ()) if isinstance(struct, np.void) else list(struct)
        if key not in names:
            raise InputError(
                f"{self.file}: {where}: the field {key!r} is missing; has: {', '.join(names)}"
            )
        return struct[key]


FORMAT = Format(
    name="anno-bbox-mat",
    title="HICO-DET annotations as published (anno_bbox.mat)",
    kinds=("annotations",),
    keys=("bbox_test", "bbox_train"),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det",
    single=True,
)

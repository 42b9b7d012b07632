"""V-COCO predictions in the official layout: one dict per pair or person.

``image_id``; ``person_box`` [x1, y1, x2, y2]; for each of the 26 actions ``<action>_agent``, the
score that the person does it; for each of its roles ``<action>_<role>``, [x1, y1, x2, y2, score]. A
role box of zeros or NaNs means no box, a score of NaN no prediction. Stored as a pickle, or as JSON
with ``null`` or NaN. The ``CacheTemplate`` of UPT and its descendants supplies the missing keys of
a dict: score 0, and a tiny box for roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, NoReturn

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.columns.checks import check_amount, key_names, shown
from diaghoi.formats.containers.content import Content
from diaghoi.formats.containers.safe_types import CacheTemplate
from diaghoi.formats.v_coco.columns import SceneColumns, Values
from diaghoi.formats.v_coco.keys import image_number, roles

_CHUNK = 4096
_BAD_ROW = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    return "predictions" if "person_box" in content.first else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read the dicts in chunks: the file may hold hundreds of thousands."""
    file, dicts = content.file, content.value
    bad = next((n for n, row in enumerate(dicts) if not isinstance(row, dict)), -1)
    if bad >= 0:
        where = f"{file}: dict {bad} (counted from 0)"
        raise InputError(f"{where}: is {shown(dicts[bad])}; give a dict")
    check_amount(file, "dicts", sum(map(len, dicts)), content.size)
    names, image = _images(file, dicts, options.image_id)
    position: Any = range(len(dicts))
    if (image[1:] < image[:-1]).any():
        position = np.argsort(image, kind="stable")
        image = image[position]
        dicts = list(map(dicts.__getitem__, position.tolist()))
    columns = SceneColumns(file, names, image, position, origin=options.origin_or(0))
    completed = False
    for start in range(0, len(dicts), _CHUNK):
        rows = dicts[start : start + _CHUNK]
        if any(type(row) is CacheTemplate for row in rows):
            rows = _complete(rows)
            completed = True
        try:
            values = _values(rows)
        except _BAD_ROW:
            _blame(columns, rows, start)
        columns.add(start, values)
    return columns.scenes(options.vocabulary, _notes(file, completed))


def _notes(file: str, completed: bool) -> tuple[str, ...]:
    notes = [f"{file}: V-COCO files have no score of the verb alone; the agent's score stands in"]
    if completed:
        notes.append(f"{file}: actions that a CacheTemplate leaves out are predicted with score 0")
    return tuple(notes)


def _images(
    file: str, dicts: Sequence[dict[str, Any]], given: str | None
) -> tuple[list[str], IntArray]:
    """Return the image names in the order of first use, and the image of each dict."""
    ids = list(map(methodcaller("get", "image_id"), dicts))
    without = sum(number is None for number in ids)
    if without == len(ids) and ids:
        if given is None:
            raise InputError(
                f"{file}: the dicts have no 'image_id', as QPIC writes them for a single image; "
                "say which image it is with --image-id"
            )
        ids = [given] * len(ids)
    elif without:
        bad = next(n for n, number in enumerate(ids) if number is None)
        raise InputError(
            f"{file}: dict {bad} (counted from 0): the key 'image_id' is missing; it "
            "is needed in every dict"
        )
    elif given is not None:
        raise InputError(
            f"{file}: the dicts name their images (the first is {shown(ids[0])}); leave --image-id "
            "out"
        )
    return _numbered(file, ids)


def _numbered(file: str, ids: list[Any]) -> tuple[list[str], IntArray]:
    # Texts are the keys: Python's hash of numbers can be foreseen, and many numbers with one hash
    # would take hours.
    name_of = [image_number(_single(value)) for value in ids]
    number = {name: n for n, name in enumerate(dict.fromkeys(name_of))}
    if "" in number:
        bad = name_of.index("")
        raise InputError(
            f"{file}: dict {bad} (counted from 0): image_id: {shown(ids[bad])} is not the "
            "number of a COCO image; give 165 or '165'"
        )
    image = np.fromiter(map(number.__getitem__, name_of), dtype=np.int32, count=len(ids))
    return list(number), image


def _single(value: Any) -> Any:
    """Unwrap an image number from an array or list of one; None for anything else."""
    found = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
    if isinstance(found, list | tuple):
        found = found[0] if len(found) == 1 else None
    return found


_DEFAULTS = {
    key: 0.0 if key.endswith("_agent") else [0.0, 0.0, 0.1, 0.1, 0.0] for key in roles().keys
}


def _complete(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill in the defaults of a CacheTemplate at once: calling it for every key is slow."""
    return [_DEFAULTS | row if type(row) is CacheTemplate else row for row in rows]


_agent_keys = tuple(roles().keys[n] for n in roles().agents)
_role_keys = tuple(roles().keys[n] for n in roles().roles)
_person = itemgetter("person_box")
_agents = itemgetter(*_agent_keys)
_roles = itemgetter(*_role_keys)


def _values(rows: Sequence[dict[str, Any]]) -> Values:
    """Convert dicts to arrays without a Python call for each value."""
    n, agents, others = len(rows), len(_agent_keys), len(_role_keys)
    people = list(map(_person, rows))
    parts = list(chain.from_iterable(map(_roles, rows)))
    if set(map(len, people)) - {4} or set(map(len, parts)) - {5}:
        raise ValueError
    floats = chain.from_iterable
    person = np.fromiter(floats(people), dtype=np.float64, count=4 * n)
    agent = np.fromiter(floats(map(_agents, rows)), dtype=np.float64, count=agents * n)
    role = np.fromiter(floats(parts), dtype=np.float64, count=5 * others * n)
    role = np.ascontiguousarray(role.reshape(n, others, 5).transpose(2, 0, 1))
    return Values(person=person.reshape(n, 4), agent=agent.reshape(n, agents), role=role)


def _blame(columns: SceneColumns, rows: Sequence[dict[str, Any]], start: int) -> NoReturn:
    """Find the first value that cannot be read."""
    for n, row in enumerate(rows):
        for key in ("person_box", *roles().keys):
            if key not in row:
                known = key_names(row)
                raise columns.error(
                    start + n,
                    "",
                    f"the key {key!r} is missing{close_matches(key, known)}; it has "
                    f"{some_of(known)}",
                )
            length = 4 if key == "person_box" else 0 if key.endswith("_agent") else 5
            if not _is_numbers(row[key], length):
                what = {
                    0: "a number",
                    4: "four numbers (x1, y1, x2, y2)",
                    5: "five numbers (x1, y1, x2, y2, score)",
                }[length]
                raise columns.error(start + n, key, f"{shown(row[key])} is not {what}")
    raise InputError(f"{columns.file}: a value is not a number")


def _is_numbers(value: Any, length: int) -> bool:
    try:
        if length and len(value) != length:
            return False
        np.fromiter(value if length else [value], dtype=np.float64, count=length or 1)
    except Exception:
        return False
    return True


FORMAT = Format(
    name="v-coco-results",
    title="V-COCO predictions, official layout",
    kinds=("predictions",),
    keys=("image_id", "person_box", "hold_agent", "hold_obj"),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "v-coco",
    single=True,
)

"""V-COCO predictions in the official layout: one dict per pair or person.

``image_id``; ``person_box`` [x1, y1, x2, y2]; for each of the 26 actions ``<action>_agent``, the
score that the person does it; for each of its roles ``<action>_<role>``, [x1, y1, x2, y2, score]. A
role box of zeros or NaNs means no box, a score of NaN no prediction. Stored as a pickle, or as JSON
with ``null`` or NaN. A dict may leave out actions: the ``CacheTemplate`` of UPT and its descendants
then supplies score 0, and a tiny box for roles (:func:`diaghoi.data.scenes.filled_in`), also where
it was written as plain dicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, repeat
from operator import itemgetter, methodcaller, ne
from typing import Any, NoReturn

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_amount, key_names, shown
from diaghoi.formats.content import Content
from diaghoi.formats.pickle import CacheTemplate
from diaghoi.formats.v_coco.columns import SceneColumns, Values
from diaghoi.formats.v_coco.keys import image_number, roles

_CHUNK = 4096
_SUFFIXES = ("_agent", "_obj", "_instr")
_BAD_ROW = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    return "predictions" if "person_box" in content.first else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read the dicts in chunks: the file may hold hundreds of thousands."""
    file, dicts = content.file, content.value
    if not all(issubclass(kind, dict) for kind in set(map(type, dicts))):
        bad = next(n for n, row in enumerate(dicts) if not isinstance(row, dict))
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
    partial = _are_partial(dicts)
    left_out = 0
    for start in range(0, len(dicts), _CHUNK):
        rows = dicts[start : start + _CHUNK]
        try:
            values = _values_left(rows) if partial else _values(rows)
        except _BAD_ROW:
            _blame(columns, rows, start, partial)
        columns.add(start, values)
        left_out += 0 if values.filled is None else np.count_nonzero(values.filled)
    notes = [f"{file}: V-COCO files have no score of the verb alone; the agent's score stands in"]
    if left_out:
        notes.append(
            f"{file}: {left_out:,} of {len(dicts):,} dicts leave out actions, which are no "
            "predictions; the official agent AP and scenario 2 count them with score 0, as a "
            "CacheTemplate fills them in"
        )
    return columns.scenes(options.vocabulary, tuple(notes))


def _are_partial(dicts: Sequence[dict[str, Any]]) -> bool:
    """Whether dicts may leave out actions: a plain dict with all of them shows that none may."""
    keys = frozenset(roles().keys)
    if any(type(row) is CacheTemplate for row in dicts):
        return True
    return not any(map(keys.issubset, dicts)) and not all(map(keys.isdisjoint, dicts))


def _is_misspelt(key: Any) -> bool:
    """Whether a key looks like an action with a role, but is none."""
    return isinstance(key, str) and key.endswith(_SUFFIXES) and key not in _number


def _images(
    file: str, dicts: Sequence[dict[str, Any]], given: str | int | None
) -> tuple[list[str], IntArray]:
    """Return the image names in the order of first use, and the image of each dict."""
    ids = list(map(methodcaller("get", "image_id"), dicts))
    without = sum(number is None for number in ids)
    if without == len(ids) and ids:
        if given is None:
            raise InputError(
                f"{file}: the dicts have no 'image_id', as QPIC writes them for a single image; "
                "say which image it is with --read image-id=ID"
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
            f"{file}: the dicts name their images (the first is {shown(ids[0])}); leave --read "
            "image-id out"
        )
    return _numbered(file, ids)


def _numbered(file: str, ids: list[Any]) -> tuple[list[str], IntArray]:
    # The dicts of an image mostly follow one another.
    new = [True, *map(ne, ids[1:], ids)] if set(map(type, ids)) <= {int, str} else [True] * len(ids)
    first = list(compress(range(len(ids)), new))
    # Texts are the keys: Python's hash of numbers can be foreseen, and many numbers with one hash
    # would take hours.
    name_of = [image_number(_single(ids[n])) for n in first]
    number = {name: n for n, name in enumerate(dict.fromkeys(name_of))}
    if "" in number:
        bad = first[name_of.index("")]
        raise InputError(
            f"{file}: dict {bad} (counted from 0): image_id: {shown(ids[bad])} is not the "
            "number of a COCO image; give 165 or '165'"
        )
    image = np.fromiter(map(number.__getitem__, name_of), dtype=np.int32, count=len(first))
    return list(number), np.repeat(image, np.diff([*first, len(ids)]))


def _single(value: Any) -> Any:
    """Unwrap an image number from an array or list of one; None for anything else."""
    found = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
    if isinstance(found, list | tuple):
        found = found[0] if len(found) == 1 else None
    return found


_number = {key: n for n, key in enumerate(roles().keys)}
_is_role = np.isin(np.arange(len(_number)), roles().roles)
_bit = 1 << np.arange(len(_number))
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
    agent = agent.reshape(n, agents)
    role = np.fromiter(floats(parts), dtype=np.float64, count=5 * others * n).reshape(-1, 5)
    score = np.empty((n, len(_number)))
    score[:, roles().agents], score[:, roles().roles] = agent, role[:, 4].reshape(n, others)
    row, verb = np.nonzero(~np.isnan(score))
    of_role = np.flatnonzero(_is_role[verb])
    box = np.full((4, len(row)), np.nan)
    place = row[of_role] * others + np.searchsorted(roles().roles, verb[of_role])
    box[:, of_role] = role[place, :4].T
    return Values(
        person=person.reshape(n, 4),
        agent=agent,
        row=row,
        verb=verb,
        score=score[row, verb],
        box=box,
    )


def _values_left(rows: Sequence[dict[str, Any]]) -> Values:
    """Convert dicts that leave out actions; only what they hold is looked at."""
    n, classes = len(rows), len(_number)
    people = list(map(_person, rows))
    if set(map(len, people)) - {4}:
        raise ValueError
    person = np.fromiter(chain.from_iterable(people), dtype=np.float64, count=4 * n)
    length = np.fromiter(map(len, rows), dtype=np.int64, count=n)
    total = int(length.sum())
    keys = map(_number.get, chain.from_iterable(rows), repeat(-1))
    key = np.fromiter(keys, dtype=np.int64, count=total)
    row = np.repeat(np.arange(n), length)
    usual = n * (1 + ("image_id" in rows[0]))
    if np.count_nonzero(key < 0) > usual and any(map(_is_misspelt, set().union(*rows))):
        raise ValueError
    role = (key >= 0) & _is_role[key]
    agent = (key >= 0) & ~role
    values = list(chain.from_iterable(map(dict.values, rows)))
    parts = list(compress(values, role.tolist()))
    if set(map(len, parts)) - {5}:
        raise ValueError
    flat = np.fromiter(chain.from_iterable(parts), dtype=np.float64, count=5 * len(parts))
    flat = flat.reshape(-1, 5)
    score, box = np.full(total, np.nan), np.full((4, total), np.nan)
    score[agent] = np.fromiter(compress(values, agent.tolist()), dtype=np.float64)
    score[role], box[:, role] = flat[:, 4], flat[:, :4].T
    agents = np.full((n, len(_agent_keys)), np.nan)
    agents[row[agent], roles().action[key[agent]]] = score[agent]
    # Sums of distinct bits, of which there are fewer than a float64 holds exactly.
    held = np.bincount(row[key >= 0], _bit[key[key >= 0]], minlength=n).astype(np.int64)
    # Dicts may hold their actions in any order.
    order = np.argsort(row * classes + key, kind="stable")
    order = order[~np.isnan(score[order])]
    return Values(
        person=person.reshape(n, 4),
        agent=agents,
        row=row[order],
        verb=key[order],
        score=score[order],
        box=box[:, order],
        filled=_bit.sum() - held,
    )


def _blame(
    columns: SceneColumns, rows: Sequence[dict[str, Any]], start: int, partial: bool
) -> NoReturn:
    """Find the first value that cannot be read."""
    for n, row in enumerate(rows):
        bad = next(filter(_is_misspelt, row), None) if partial else None
        if bad is not None:
            raise columns.error(
                start + n,
                bad,
                f"is not an action with a role of V-COCO{close_matches(bad, roles().keys)}",
            )
        for key in ("person_box", *roles().keys):
            if key not in row and partial and key != "person_box":
                continue
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

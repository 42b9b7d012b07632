"""Slices of a user's own: tags of images, from a CSV file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path, PurePath

import numpy as np

from diaghoi.data.arrays.types import StrArray
from diaghoi.data.attributes import Slice
from diaghoi.data.csv_rows import check_widths, read_rows
from diaghoi.exceptions import InputError, number_of, some_of

Tags = str | Iterable[str] | None
Own = Mapping[str, bool | Tags] | Callable[[str], bool | Tags]
"""Tags by the name of the image, or whether it has the one tag that the attribute is named by: a
mapping, or a function."""
SEPARATOR = ";"


def read_tags(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read tags of images from a CSV file.

    Parameters
    ----------
    path : path
        The first line names the columns. The first column holds the names of the images; every
        other one is an attribute with the tag of each image, several with ``;`` between them, or
        nothing.

    Returns
    -------
    dict of dict of str
        By attribute the cell of each image.

    Raises
    ------
    InputError
        For a file that cannot be read, has no tags, or names an image or an attribute twice.
    """
    path = Path(path)
    rows = read_rows(path, "a header and a line per image: its name, then its tags")
    if not rows or len(rows[0][1]) < 2:
        raise InputError(
            f"{path}: expected a header such as 'image,weather', then a line per image with its "
            "name and its tags"
        )
    check_widths(path, rows)
    attributes = rows[0][1][1:]
    if "" in attributes or len(set(attributes)) < len(attributes):
        raise InputError(f"{path}: line {rows[0][0]}: each column needs a name of its own")
    tags: dict[str, dict[str, str]] = {attribute: {} for attribute in attributes}
    seen: dict[str, int] = {}
    for line, (image, *cells) in rows[1:]:
        if image in seen:
            raise InputError(
                f"{path}: line {line}: image '{image}' appears twice, first in line {seen[image]}; "
                f"write several tags into one cell, with '{SEPARATOR}' between them"
            )
        seen[image] = line
        for attribute, cell in zip(attributes, cells, strict=True):
            tags[attribute][image] = cell
    return tags


def tag_slices(
    names: StrArray, own: Mapping[str, Own], source: str = "slices"
) -> tuple[list[Slice], list[str]]:
    """Cut images by tags.

    Parameters
    ----------
    names : (N,) str array
        Images of the annotations.
    own : mapping
        By the name of the attribute what says the tags of each image. Images are found by their
        full names or, where that finds none, by their stems.
    source : str
        What messages call the tags.

    Returns
    -------
    list of Slice, list of str
        By image; and notes on images that have no tag or are not annotated.

    Raises
    ------
    InputError
        Where none of the images is annotated, or there is no tag.
    """
    found: list[Slice] = []
    notes: list[str] = []
    for attribute, given in own.items():
        where = f"{source}: {attribute}"
        if isinstance(given, Mapping):
            of_image, note = _looked_up(names.tolist(), given, source, attribute)
            notes += note
        elif callable(given):
            of_image = [_of_answer(given(name), attribute) for name in names.tolist()]
        else:
            raise InputError(f"{where}: expected a mapping or a function, found {given!r:.60}")
        tags = sorted({tag for each in of_image for tag in each})
        if not tags:
            raise InputError(f"{where}: no image has a tag")
        found += [
            Slice(
                attribute=attribute,
                title=attribute,
                name=tag,
                by="image",
                members=np.array([tag in each for each in of_image], dtype=bool),
            )
            for tag in tags
        ]
    # The same images are named for each attribute of a file.
    return found, list(dict.fromkeys(notes))


def _looked_up(
    names: Sequence[str], given: Mapping[str, bool | Tags], source: str, attribute: str
) -> tuple[list[frozenset[str]], list[str]]:
    where = f"{source}: {attribute}"
    wanted = list(names)
    tags = dict(given)
    if tags.keys().isdisjoint(wanted):
        wanted = [PurePath(name).stem for name in names]
        tags = {PurePath(name).stem: value for name, value in given.items()}
    if tags.keys().isdisjoint(wanted):
        raise InputError(
            f"{where}: none of its {len(tags)} images is annotated, '{next(iter(given), '')}' for "
            f"instance; images are named like '{next(iter(names), '')}'"
        )
    notes = []
    others = sorted(tags.keys() - set(wanted))
    if others:
        some = f"{number_of('image', len(others))} not annotated: {some_of(others)}"
        notes.append(f"{source}: {some}")
    found = [_of_answer(tags.get(name), attribute) for name in wanted]
    without = [name for name, each in zip(names, found, strict=True) if not each]
    if without:
        some = f"{number_of('image', len(without))} without a tag: {some_of(without)}"
        notes.append(f"{where}: {some}")
    return found, notes


def _of_answer(answer: bool | Tags, attribute: str) -> frozenset[str]:
    """Return the tags of one image."""
    if isinstance(answer, bool | np.bool_):
        return frozenset([attribute] if answer else [])
    if answer is None:
        return frozenset()
    each = answer.split(SEPARATOR) if isinstance(answer, str) else answer
    return frozenset(tag.strip() for tag in map(str, each) if tag.strip())

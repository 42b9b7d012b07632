"""Look up a data set by name or description."""

from __future__ import annotations

import os

from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.description import read_description


def vocabulary(name: str | os.PathLike[str] | Vocabulary) -> Vocabulary:
    """Return the vocabulary of a data set by its name, or from the description of one.

    Parameters
    ----------
    name : str, path or Vocabulary
        One of ``VOCABULARIES``, or the path of a ``.toml`` file
        (:mod:`diaghoi.formats.description`); a vocabulary is returned as it is.

    Raises
    ------
    InputError
        If the name is unknown, or the description is invalid.
    """
    if isinstance(name, Vocabulary):
        return name
    name = os.fspath(name)
    if name.endswith(".toml"):
        return read_description(name)
    if name.endswith(".npy"):
        raise InputError(
            f"--dataset {name}: a matrix has no names; give the .toml file of a description with "
            f'classes = "{name}"'
        )
    if name not in VOCABULARIES:
        raise InputError(
            f"unknown data set '{name}'{close_matches(name, VOCABULARIES)}; "
            f"known: {', '.join(VOCABULARIES)}, and any that a .toml file describes"
        )
    return VOCABULARIES[name]()

"""The data set that a name or a description says."""

from __future__ import annotations

from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.description import read_description


def vocabulary(name: str) -> Vocabulary:
    """Return the vocabulary of a data set by its name, or from the description of one.

    Parameters
    ----------
    name : str
        One of ``VOCABULARIES``, or the path of a ``.toml`` file
        (:mod:`diaghoi.formats.description`).

    Raises
    ------
    InputError
        If no data set of that name is known, or the description cannot be used.
    """
    if name.endswith(".toml"):
        return read_description(name)
    if name not in VOCABULARIES:
        raise InputError(
            f"unknown data set '{name}'{close_matches(name, VOCABULARIES)}; "
            f"known: {', '.join(VOCABULARIES)}, and any that a .toml file describes"
        )
    return VOCABULARIES[name]()

"""Senses of words: the names that they have in a table of similarity."""

from __future__ import annotations

import os
from pathlib import Path

from diaghoi.data.files import read_rows
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.words import plain

# Usual headers of lists, in lower case: the word, and its sense.
WORDS = ("word", "name", "verb", "object", "original_verb")
SENSES = ("synset", "sense", "table", "name_in_table")


def read_senses(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a list of words and their senses.

    Parameters
    ----------
    path : path
        CSV with a column ``synset`` (or ``sense``) and one of the words (``word``, ``name``,
        ``verb`` or ``object``); or two columns without a header, the word and its sense.

    Returns
    -------
    dict
        Sense of each word, both as :func:`diaghoi.language.words.plain` writes them.

    Raises
    ------
    InputError
        For a file that cannot be used, and a word with two senses.
    """
    path = Path(path)
    rows = read_rows(path, "word,synset")
    if not rows:
        raise InputError(f"{path}: is empty; give rows of word,synset")
    head = [cell.lower() for cell in rows[0][1]]
    word, sense = _columns(path, head)
    start = 1 if {*head} & {*WORDS, *SENSES} else 0
    senses: dict[str, str] = {}
    for number, row in rows[start:]:
        if len(row) <= max(word, sense) or not row[word] or not row[sense]:
            raise InputError(f"{path}: line {number}: a word or its sense is missing; give both")
        name, meant = plain(row[word]), plain(row[sense])
        if senses.setdefault(name, meant) != meant:
            raise InputError(
                f"{path}: line {number}: '{name}' is given two senses, '{senses[name]}' and "
                f"'{meant}'; give one"
            )
    return senses


def _columns(path: Path, head: list[str]) -> tuple[int, int]:
    """Find the columns of words and of senses."""
    words = [head.index(name) for name in WORDS if name in head]
    senses = [head.index(name) for name in SENSES if name in head]
    if words and senses:
        return words[0], senses[0]
    if not words and not senses and len(head) == 2:
        return 0, 1
    known = (*WORDS, *SENSES)
    hints = [close_matches(name, known) for name in head if name not in known]
    raise InputError(
        f"{path}: the columns are {', '.join(head)}{next(filter(None, hints), '')}; give a column "
        "of words, 'word', and one of senses, 'synset'"
    )

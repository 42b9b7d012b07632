"""Words to compare: lists of them, their senses and their definitions."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from diaghoi.data.files import check_widths, read_rows
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.lexicon import Lexicon, Pos
from diaghoi.language.words import plain, read_object, read_verb
from diaghoi.semantic.tables.similarity import SYNSET


@dataclass(frozen=True, kw_only=True)
class Term:
    """A verb or object to rate.

    Parameters
    ----------
    name : str
        Its name in the table.
    gloss : str
        Its definition.
    synset : str
        Its sense in WordNet, empty where none is given.
    """

    name: str
    gloss: str
    synset: str = ""

    @property
    def shown(self) -> str:
        """Name and definition, as raters see them."""
        word = self.name.split(".")[0] if self.name == self.synset else self.name
        return f"{word.replace('_', ' ')}: {self.gloss}"


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


@cache
def hico_synsets() -> dict[str, dict[str, str]]:
    """Synset of each word of HICO-DET: of verbs under "v", of objects under "n"."""
    found: dict[str, dict[str, str]] = {"v": {}, "n": {}}
    table = resources.files("diaghoi.semantic.tables") / "hico_synsets.csv"
    text = table.read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        found["v" if row["kind"] == "verb" else "n"][row["name"]] = row["synset"]
    return found


def annotated_synsets(words: Sequence[str], pos: Pos, lexicon: Lexicon) -> dict[str, str]:
    """Return the synset in which each word of a data set is annotated.

    Parameters
    ----------
    words : sequence of str
        Verbs or objects of the data set.
    pos : {"v", "n"}
        Which of the two.
    lexicon : Lexicon
        Gives the most frequent sense of words that HICO-DET does not have.

    Returns
    -------
    dict of str to str
        Words without a sense are left out, such as ``no_interaction``. Words of HICO-DET have the
        synsets that the authors of SHOE chose.
    """
    chosen = hico_synsets()[pos]
    read = read_verb if pos == "v" else read_object
    found = {}
    for word in words:
        key = plain(word)
        if key == "no_interaction":
            continue
        if key in chosen:
            found[word] = chosen[key]
            continue
        senses = [
            each for lemma in read(word, lexicon).lemmas for each in lexicon.senses(lemma, pos)
        ]
        if senses:
            found[word] = lexicon.names[senses[0]]
    return found


# Usual headers of lists, in lower case.
SYNSETS = ("synset", "sense")
GLOSSES = ("definition", "gloss")
_NAMES = (*WORDS, "term")


def read_terms(path: Path, pos: Pos, lexicon: Lexicon) -> tuple[Term, ...]:
    """Read a list of verbs or objects.

    Parameters
    ----------
    path : pathlib.Path
        One word or synset per line; or CSV with a header that has ``name`` (or ``verb``,
        ``object``) or ``synset`` or both, and possibly ``definition``.
    pos : {"v", "n"}
        Which of the two.
    lexicon : Lexicon
        Gives definitions that the file lacks. A word without a synset has the sense in which
        HICO-DET uses it, else its most frequent one.

    Returns
    -------
    tuple of Term
        In the order of the file, each name once.

    Raises
    ------
    InputError
        For a file that cannot be used, an unknown synset, a name with two meanings, and words
        without a definition.
    """
    rows = read_rows(path, "one word or synset per line")
    columns = _columns(path, [cell.lower() for cell in rows[0][1]]) if rows else {}
    if rows and not columns:
        check_widths(path, rows)
    terms: dict[str, Term] = {}
    unknown: list[str] = []
    for line, row in rows[1:] if columns else rows:
        cells = {key: row[at] for key, at in (columns or {"name": 0}).items() if at < len(row)}
        found = _term(f"{path}: line {line}", cells, pos, lexicon)
        if not found.gloss:
            unknown.append(found.name)
        elif terms.setdefault(found.name, found) != found:
            raise InputError(
                f"{path}: line {line}: '{found.name}' appears twice with different meanings; "
                "give two names"
            )
    if unknown:
        raise InputError(
            f"{path}: {lexicon.source} has no definition of {some_of(unknown)}; add a column "
            "'definition', or leave them out"
        )
    if not terms:
        raise InputError(f"{path}: holds no words; give one word or synset per line")
    return tuple(terms.values())


def _columns(path: Path, head: Sequence[str]) -> dict[str, int]:
    """Find the columns by the header; empty without a header."""
    headers = {"name": _NAMES, "synset": SYNSETS, "gloss": GLOSSES}
    found = {
        key: head.index(name)
        for key, names in headers.items()
        for name in reversed(names)
        if name in head
    }
    if len(head) > 1 and not found.keys() & {"name", "synset"}:
        known = [name for names in headers.values() for name in names]
        hint = next(filter(None, (close_matches(cell, known) for cell in head)), "")
        raise InputError(
            f"{path}: the columns are {some_of(head)}{hint}; give 'name' or 'synset', and possibly "
            "'definition'"
        )
    return found


def _term(where: str, cells: dict[str, str], pos: Pos, lexicon: Lexicon) -> Term:
    name, synset = cells.get("name") or cells.get("synset", ""), cells.get("synset", "")
    if not name:
        raise InputError(f"{where}: neither name nor synset; give one of them")
    if not synset:
        named = SYNSET.fullmatch(name.lower()) is not None
        synset = name if named else annotated_synsets([name], pos, lexicon).get(name, "")
    gloss = cells.get("gloss", "")
    if synset and not gloss:
        try:
            gloss = lexicon.definition(lexicon.number(synset))
        except InputError as error:
            raise InputError(f"{where}: {error}; or add a column 'definition'") from None
    return Term(name=plain(name), gloss=gloss, synset=synset)

"""Read lists of words to compare, with senses and definitions."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from diaghoi.data.files import check_widths, read_rows
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.lexicon import Lexicon, Pos
from diaghoi.language.words import plain, read_object, read_verb
from diaghoi.semantic.tables.similarity import SYNSET

# Common headers of lists, in lower case: the word, and its sense.
WORDS = ("word", "name", "verb", "object", "original_verb")
SYNSETS = ("synset", "sense")
SENSES = {"word": WORDS, "sense": (*SYNSETS, "table", "name_in_table")}
NO_INTERACTION = "no_interaction"
KINDS: dict[Pos, str] = {"v": "verbs", "n": "objects"}
TERMS = {"name": (*WORDS, "term"), "synset": SYNSETS, "gloss": ("definition", "gloss")}


@dataclass(frozen=True, kw_only=True)
class Term:
    """A verb or object to rate.

    Parameters
    ----------
    name : str
        Name in the table.
    gloss : str
        Definition of the word.
    synset : str
        WordNet sense, empty by default.
    """

    name: str
    gloss: str
    synset: str = ""

    @property
    def shown(self) -> str:
        """Name and definition, as shown to raters."""
        word = self.name.split(".")[0] if self.name == self.synset else self.name
        return f"{word.replace('_', ' ')}: {self.gloss}"


def _columns(
    path: Path,
    head: Sequence[str],
    headers: Mapping[str, Sequence[str]],
    needed: Sequence[set[str]],
    give: str,
) -> dict[str, int]:
    """Find columns by their headers; return no columns for a list without a header."""
    head = [cell.lower() for cell in head]
    columns = {
        key: head.index(name)
        for key, names in headers.items()
        for name in reversed(names)
        if name in head
    }
    plain_list = not columns and len(head) <= len(needed[0])
    if not plain_list and not any(keys <= columns.keys() for keys in needed):
        usual = [name for names in headers.values() for name in names]
        hints = (close_matches(cell, usual) for cell in head if cell not in usual)
        raise InputError(
            f"{path}: the columns are {some_of(head)}{next(filter(None, hints), '')}; give {give}"
        )
    return columns


def read_senses(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a list of words and their senses.

    Parameters
    ----------
    path : path
        CSV with a column ``synset`` (or ``sense``) and a column of words (``word``, ``name``,
        ``verb`` or ``object``); or two columns without a header, the word and its sense.

    Returns
    -------
    dict
        Sense of each word, both normalised by :func:`diaghoi.language.words.plain`.

    Raises
    ------
    InputError
        If a file cannot be used, or a word has two senses.
    """
    path = Path(path)
    rows = read_rows(path, "rows of word,synset", least=1)
    give = "a column of words, 'word', and a column of senses, 'synset'"
    columns = _columns(path, rows[0][1], SENSES, [{"word", "sense"}], give)
    places = [*(columns or {"word": 0, "sense": 1}).values()]
    senses: dict[str, str] = {}
    for line, row in rows[1:] if columns else rows:
        cells = [plain(row[place]) for place in places if place < len(row)]
        if len(cells) < 2 or not all(cells):
            raise InputError(f"{path}: line {line}: a word or its sense is missing; give both")
        word, sense = cells
        if senses.setdefault(word, sense) != sense:
            raise InputError(
                f"{path}: line {line}: '{word}' is given two senses, '{senses[word]}' and "
                f"'{sense}'; give one sense"
            )
    return senses


def read_terms(path: Path, pos: Pos, lexicon: Lexicon) -> tuple[Term, ...]:
    """Read a list of verbs or objects, each name once.

    Parameters
    ----------
    path : pathlib.Path
        One word or synset per line; or a CSV whose header has ``name`` (or ``verb``, ``object``),
        ``synset`` or both, and optionally ``definition``.
    pos : {"v", "n"}
        Kind of the words.
    lexicon : Lexicon
        WordNet, which provides definitions that the file lacks. A word without a synset has its
        sense in HICO-DET, otherwise its most frequent sense.

    Raises
    ------
    InputError
        If a file cannot be used, a synset is unknown, a name has two meanings, or a word has no
        definition.
    """
    rows = read_rows(path, "one word or synset per line", least=1)
    give = "'name' or 'synset', and possibly 'definition'"
    columns = _columns(path, rows[0][1], TERMS, [{"name"}, {"synset"}], give)
    if not columns:
        check_widths(path, rows)
    terms: dict[str, Term] = {}
    undefined: list[str] = []
    for line, row in rows[1:] if columns else rows:
        cells = {key: row[at] for key, at in (columns or {"name": 0}).items() if at < len(row)}
        term = _term(f"{path}: line {line}", cells, pos, lexicon)
        if not term.gloss:
            undefined.append(term.name)
        elif terms.setdefault(term.name, term) != term:
            raise InputError(
                f"{path}: line {line}: '{term.name}' appears twice with different meanings; "
                "give two names"
            )
    if undefined:
        raise InputError(
            f"{path}: {lexicon.source} has no definition of {some_of(undefined)}; add a column "
            "'definition', or leave out these words"
        )
    if not terms:
        raise InputError(f"{path}: holds no words; give one word or synset per line")
    return tuple(terms.values())


def _term(where: str, cells: Mapping[str, str], pos: Pos, lexicon: Lexicon) -> Term:
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


class RatedTerm(NamedTuple):
    """A term in the ratings of this package.

    Parameters
    ----------
    sense : str
        WordNet synset, or the name of a term without a synset.
    names : tuple of str
        Names in HICO-DET and V-COCO.
    shoe : str
        The synset that the authors of SHOE chose (for four objects, a wrong synset); "none" for
        terms that HICO-DET lacks.
    definition : str
        Definition as shown to the rater.
    """

    sense: str
    names: tuple[str, ...]
    shoe: str
    definition: str


@cache
def rated_terms(pos: Pos) -> tuple[RatedTerm, ...]:
    """Return the verbs or objects compared in the ratings of this package."""
    return tuple(
        RatedTerm(sense, tuple(names.split()), shoe or sense, definition)
        for sense, names, shoe, definition in packaged(f"rated_{KINDS[pos]}.csv")
    )


def packaged(name: str) -> list[list[str]]:
    """Read the rows of a table in this package, without its header."""
    table = resources.files("diaghoi.semantic.tables") / name
    return list(csv.reader(table.read_text(encoding="utf-8").splitlines()))[1:]


@cache
def hico_synsets() -> dict[str, dict[str, str]]:
    """Return the synset of each word of HICO-DET: verbs under "v", objects under "n"."""
    return {
        pos: {
            name: term.shoe
            for term in rated_terms(pos)
            for name in term.names
            if term.shoe != "none"
        }
        for pos in KINDS
    }


def annotated_synsets(words: Sequence[str], pos: Pos, lexicon: Lexicon) -> dict[str, str]:
    """Return the annotated synset of each word of a data set.

    HICO-DET words have the synsets chosen by the authors of SHOE; other words (``pos`` "v" for
    verbs, "n" for objects) have their most frequent sense in the lexicon. Words without a sense,
    such as ``no_interaction``, are omitted.
    """
    chosen = hico_synsets()[pos]
    read = read_verb if pos == "v" else read_object
    synsets = {}
    for word in words:
        key = plain(word)
        if key in chosen:
            synsets[word] = chosen[key]
        elif key != NO_INTERACTION:
            lemmas = read(word, lexicon).lemmas
            senses = [sense for lemma in lemmas for sense in lexicon.senses(lemma, pos)]
            if senses:
                synsets[word] = lexicon.names[senses[0]]
    return synsets

"""Lists of verbs or objects with their senses and definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diaghoi.data.files import check_widths, read_rows
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.lexicon import Lexicon, Pos
from diaghoi.language.words import plain
from diaghoi.semantic.tables.annotated_senses import annotated_synsets
from diaghoi.semantic.tables.prompts import Term
from diaghoi.semantic.tables.senses import WORDS
from diaghoi.semantic.tables.similarity import SYNSET

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

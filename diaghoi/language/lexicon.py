"""Words and their senses: lemmas, synsets, hypernyms, definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.wordnet import Records, read_dict, read_extract, read_glosses

Pos = Literal["n", "v"]

NAME = re.compile(r"(.+)\.([nv])\.0*([0-9]{1,9})")
# WordNet's rules of detachment: an ending, and its replacement in the base form.
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """The noun and verb synsets of WordNet, numbered: nouns first, then verbs.

    Synsets are named as in NLTK: the first word, the part of speech and the sense number of that
    word, ``sit.v.01``. Any other word of a synset names it too.

    Parameters
    ----------
    records : dict of str to Records
        By part of speech, ``n`` and ``v``.
    source : str
        Their origin, for results.
    definitions : sequence of str or None
        The definition of each synset; None to read those of the package on demand.
    """

    records: dict[str, Records]
    source: str
    definitions: Sequence[str] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each synset."""
        return tuple(
            f"{words[0][0].lower()}.{pos}.{words[0][1]:02d}"
            for pos, part in self.records.items()
            for words in part.words
        )

    @cached_property
    def hypernyms(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the synsets directly above each."""
        verbs = len(self.records["n"].words)
        return (
            *self.records["n"].hypernyms,
            *(tuple(verbs + each for each in above) for above in self.records["v"].hypernyms),
        )

    @cached_property
    def _senses(self) -> dict[str, dict[str, dict[int, int]]]:
        """Synset of each word and sense number, by part of speech."""
        found: dict[str, dict[str, dict[int, int]]] = {}
        first = 0
        for pos, part in self.records.items():
            table = found.setdefault(pos, {})
            for number, words in enumerate(part.words, first):
                for word, sense in words:
                    table.setdefault(word.lower(), {})[sense] = number
            first += len(part.words)
        return found

    def has(self, lemma: str, pos: Pos) -> bool:
        """Whether a base form, with underscores for spaces, has senses."""
        return lemma in self._senses[pos]

    def senses(self, lemma: str, pos: Pos) -> tuple[int, ...]:
        """Numbers of the synsets of a base form, the most frequent sense first."""
        return tuple(number for _, number in sorted(self._senses[pos].get(lemma, {}).items()))

    def find(self, name: str) -> int | None:
        """Find the number of the synset of a name like ``sit.v.01``; None if there is none."""
        parts = NAME.fullmatch(name.lower())
        if parts is None:
            return None
        lemma, pos, sense = parts.groups()
        return self._senses[pos].get(lemma, {}).get(int(sense))

    def number(self, name: str) -> int:
        """Return the number of the synset of a name.

        Raises
        ------
        InputError
            If there is no such synset.
        """
        found = self.find(name)
        if found is None:
            lemma = name.split(".")[0].lower()
            known = [self.names[each] for pos in ("n", "v") for each in self.senses(lemma, pos)]
            raise InputError(
                f"{self.source} has no synset '{name}'{close_matches(name, known)}; synsets are "
                "named like sit.v.01"
            )
        return found

    def definition(self, number: int) -> str:
        """Definition of a synset, without examples."""
        return (_glosses() if self.definitions is None else self.definitions)[number]

    def lemmas(self, word: str, pos: Pos) -> tuple[str, ...]:
        """Find the base forms of a word in small letters, as WordNet's ``morphy`` finds them.

        Returns
        -------
        tuple of str
            The word itself if it is one, then irregular forms, else what the endings give in the
            order of the rules: ``riding`` gives ``ride`` before ``rid``. Empty for unknown words.
        """
        irregular = self.records[pos].exceptions.get(word)
        if irregular is None:
            irregular = tuple(
                word.removesuffix(ending) + instead
                for ending, instead in ENDINGS[pos]
                if word.endswith(ending) and len(word) > len(ending)
            )
        forms = dict.fromkeys((word, *irregular))
        return tuple(form for form in forms if self.has(form, pos))


@cache
def _glosses() -> list[str]:
    return read_glosses()


_CHOSEN: ContextVar[Path | None] = ContextVar("wordnet", default=None)


@contextmanager
def using_wordnet(folder: Path | None) -> Iterator[None]:
    """Use a full WordNet as the lexicon within this context; None changes nothing.

    Raises
    ------
    InputError
        If no such folder, also where no word is looked up.
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"--wordnet {folder}: is not a folder; give WordNet's dict folder")
    token = _CHOSEN.set(folder or _CHOSEN.get())
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def load_lexicon(folder: Path | None = None) -> Lexicon:
    """Return the lexicon of the package, or a full WordNet.

    Parameters
    ----------
    folder : pathlib.Path, optional
        WordNet's ``dict`` folder; by default that of :func:`using_wordnet`, else the extract in the
        package.

    Raises
    ------
    InputError
        If a file of the folder is missing or is not one of WordNet's.
    """
    return _read(folder or _CHOSEN.get())


@cache
def _read(folder: Path | None) -> Lexicon:
    if folder is None:
        return Lexicon(records=read_extract(), source="WordNet 3.0 (without named individuals)")
    records, glosses = read_dict(folder)
    return Lexicon(records=records, source=f"WordNet in {folder}", definitions=glosses)

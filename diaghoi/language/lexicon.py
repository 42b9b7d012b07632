"""Words and their senses: lemmas, synsets, hypernyms and definitions of WordNet.

The source is WordNet's ``dict`` folder, or the extract in the package. The extract has all noun and
verb synsets of WordNet 3.0 except named individuals (people, places, works), with words, hypernyms,
definitions and irregular forms. ``formats.wordnet_extract.py`` creates the extract, whose licence
is ``WORDNET_LICENSE``.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Literal

from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError, close_matches

Pos = Literal["n", "v"]

EXTRACT = "wordnet30.txt.xz"
GLOSSES = "wordnet30_glosses.txt.xz"
# WordNet's rules of detachment: an ending, and its replacement in the base form.
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"),
        ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ),
    "v": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
        ("ing", ""),
    ),
}  # fmt: skip

_NAME = re.compile(r"(.+)\.([nv])\.0*([0-9]{1,9})")
_EXAMPLE = re.compile(r'[;:,] *"')
_Synset = tuple[list[str], list[str], bool, str]
_CHOSEN: ContextVar[Path | None] = ContextVar("wordnet", default=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """The noun and verb synsets of WordNet, numbered: nouns first, then verbs.

    Synsets are named as in NLTK: the first word, the part of speech and the sense number of that
    word, ``sit.v.01``. A name may also have any other word of the synset, with the sense number of
    that word.

    Parameters
    ----------
    synsets : list of (str, list of (str, int))
        Part of speech of each synset, ``n`` or ``v``, and its words as in WordNet, each with a
        sense number.
    hypernyms : list of tuple of int
        Numbers of the synsets directly above each synset.
    exceptions : dict of dict of str to tuple of str
        Base forms of irregular forms, by part of speech.
    source : str
        Source of the data, for results.
    definitions : sequence of str or None
        The definition of each synset, without examples; None to read the definitions of the package
        on demand.
    """

    synsets: list[tuple[str, list[tuple[str, int]]]]
    hypernyms: list[tuple[int, ...]]
    exceptions: dict[str, dict[str, tuple[str, ...]]]
    source: str
    definitions: Sequence[str] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each synset."""
        return tuple(f"{w[0][0].lower()}.{pos}.{w[0][1]:02d}" for pos, w in self.synsets)

    @cached_property
    def kinds(self) -> Counter[int]:
        """Number of synsets directly below each synset."""
        return Counter(above for hypernyms in self.hypernyms for above in hypernyms)

    @cached_property
    def _senses(self) -> dict[str, dict[str, dict[int, int]]]:
        """Synset of each word and sense number, by part of speech."""
        senses: dict[str, dict[str, dict[int, int]]] = {"n": {}, "v": {}}
        for number, (pos, words) in enumerate(self.synsets):
            for word, sense in words:
                senses[pos].setdefault(word.lower(), {})[sense] = number
        return senses

    def has(self, lemma: str, pos: Pos) -> bool:
        """Check whether a base form, with underscores for spaces, has senses."""
        return lemma in self._senses[pos]

    def senses(self, lemma: str, pos: Pos) -> tuple[int, ...]:
        """Return the synset numbers of a base form, the most frequent sense first."""
        return tuple(number for _, number in sorted(self._senses[pos].get(lemma, {}).items()))

    def find(self, name: str) -> int | None:
        """Find the number of the synset with a name like ``sit.v.01``; None if it is unknown."""
        parts = _NAME.fullmatch(name.lower())
        if parts is None:
            return None
        lemma, pos, sense = parts.groups()
        return self._senses[pos].get(lemma, {}).get(int(sense))

    def number(self, name: str) -> int:
        """Return the number of the synset with the given name.

        Raises
        ------
        InputError
            If there is no such synset.
        """
        found = self.find(name)
        if found is None:
            lemma = name.split(".")[0].lower()
            names = [self.names[each] for pos in ("n", "v") for each in self.senses(lemma, pos)]
            raise InputError(
                f"{self.source} has no synset '{name}'{close_matches(name, names)}; synsets are "
                "named like sit.v.01"
            )
        return found

    def definition(self, number: int) -> str:
        """Return the definition of a synset, without examples."""
        return (self.definitions or _glosses())[number]

    def lemmas(self, word: str, pos: Pos) -> tuple[str, ...]:
        """Find the base forms of a lower-case word, as WordNet's ``morphy`` does.

        Returns
        -------
        tuple of str
            The word itself if it is in the lexicon, followed by irregular forms or else the results
            of the ending rules, in order: ``riding`` gives ``ride`` before ``rid``. Empty for
            unknown words.
        """
        irregular = self.exceptions[pos].get(word)
        if irregular is None:
            irregular = tuple(
                word.removesuffix(ending) + instead
                for ending, instead in ENDINGS[pos]
                if word.endswith(ending) and len(word) > len(ending)
            )
        forms = dict.fromkeys((word, *irregular))
        return tuple(form for form in forms if self.has(form, pos))


@contextmanager
def using_wordnet(folder: Path | None) -> Iterator[None]:
    """Use a full WordNet as the lexicon within this context; None changes nothing.

    Raises
    ------
    InputError
        If the folder does not exist, even if no word is looked up.
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"--wordnet {folder}: is not a folder; give WordNet's dict folder")
    token = _CHOSEN.set(folder or _CHOSEN.get())
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def load_lexicon(folder: Path | None = None) -> Lexicon:
    """Return the lexicon of WordNet's ``dict`` folder.

    The default is the folder of :func:`using_wordnet`, otherwise the extract in the package.

    Raises
    ------
    InputError
        If a file of the folder is missing or is not one of WordNet's.
    """
    return _read(folder or _CHOSEN.get())


@cache
def _read(folder: Path | None) -> Lexicon:
    return unpack(_extract(EXTRACT)) if folder is None else read_dict(folder)


def read_dict(folder: Path, *, individuals: bool = True) -> Lexicon:
    """Read WordNet's ``dict`` folder, with or without named individuals ("instances").

    The folder has ``data.noun``, ``index.noun``, ``noun.exc`` and the same files for verbs.

    Raises
    ------
    InputError
        If a file is missing or is not one of WordNet's.
    """
    synsets: list[tuple[str, list[tuple[str, int]]]] = []
    hypernyms, definitions = [], []
    exceptions: dict[str, dict[str, tuple[str, ...]]] = {}
    for pos, kind in (("n", "noun"), ("v", "verb")):
        names = (f"data.{kind}", f"index.{kind}", f"{kind}.exc")
        data, index, irregular = (_lines(folder / name) for name in names)
        order = {}
        try:
            for line in index:
                fields = line.split()
                order[fields[0]] = fields[len(fields) - int(fields[2]) :]
            parsed = {line[:8]: _synset(line) for line in data}
            if not individuals:
                parsed = _without_individuals(parsed)
            number = {offset: row for row, offset in enumerate(parsed, len(synsets))}
            for offset, (words, above, _, definition) in parsed.items():
                senses = [(word, order[word.lower()].index(offset) + 1) for word in words]
                synsets.append((pos, senses))
                hypernyms.append(tuple(number[higher] for higher in above))
                definitions.append(definition)
        except (KeyError, ValueError, IndexError) as error:
            raise InputError(
                f"{folder}: data.{kind} and index.{kind} do not fit WordNet's layout "
                f"({error!s:.60}); give the dict folder of a WordNet release"
            ) from None
        bases = {
            form: [b for b in bases if b in order] for form, *bases in map(str.split, irregular)
        }
        exceptions[pos] = {form: tuple(known) for form, known in bases.items() if known}
    return Lexicon(
        synsets=synsets,
        hypernyms=hypernyms,
        exceptions=exceptions,
        source=f"WordNet in {folder}",
        definitions=definitions,
    )


def _without_individuals(parsed: dict[str, _Synset]) -> dict[str, _Synset]:
    """Drop individuals, and the few synsets below an individual."""
    kept = {offset: synset for offset, synset in parsed.items() if not synset[2]}
    while any(above not in kept for synset in kept.values() for above in synset[1]):
        kept = {offset: synset for offset, synset in kept.items() if kept.keys() >= set(synset[1])}
    return kept


def _synset(line: str) -> _Synset:
    """Parse a data line: words, hypernyms, whether the synset is an individual, definition."""
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    count = int(fields[3], 16)
    words = fields[4 : 4 + 2 * count : 2]
    if not words:
        raise ValueError(f"a synset without words: {line}")
    start = 5 + 2 * count
    pointers = [fields[at : at + 2] for at in range(start, start + 4 * int(fields[start - 1]), 4)]
    above = [offset for symbol, offset in pointers if symbol in ("@", "@i")]
    definition = _EXAMPLE.split(gloss, maxsplit=1)[0].strip(" ;:,\n")
    return words, above, any(symbol == "@i" for symbol, _ in pointers), definition


def _lines(path: Path) -> list[str]:
    """Read the lines of a WordNet file, without its licence header."""
    try:
        text = ordinary(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise InputError(
            f"{path}: {reason}; --wordnet needs WordNet's dict folder, with data.noun, "
            "index.noun, noun.exc and the same files for verbs"
        ) from None
    return [line for line in text.split("\n") if line.strip() and not line.startswith(" ")]


def pack(lexicon: Lexicon) -> str:
    """Write a lexicon as text: one synset per line, its words and the distance to each hypernym."""
    lines = []
    for pos, exceptions in lexicon.exceptions.items():
        numbers = [number for number, (part, _) in enumerate(lexicon.synsets) if part == pos]
        lines.append(f"# {pos} {len(numbers)} {len(exceptions)}")
        for number in numbers:
            words = lexicon.synsets[number][1]
            entry = " ".join(word if sense == 1 else f"{word}:{sense}" for word, sense in words)
            above = (f"\t{number - higher}" for higher in lexicon.hypernyms[number])
            lines.append(entry + "".join(above))
        lines += [" ".join((form, *bases)) for form, bases in exceptions.items()]
    return "\n".join(lines) + "\n"


def unpack(text: str) -> Lexicon:
    """Read the output of :func:`pack`."""
    lines = iter(text.splitlines())
    synsets: list[tuple[str, list[tuple[str, int]]]] = []
    hypernyms, exceptions = [], {}
    for header in lines:
        _, pos, count, irregular = header.split()
        for line in islice(lines, int(count)):
            entry, *above = line.split("\t")
            hypernyms.append(tuple(len(synsets) - int(distance) for distance in above))
            pairs = (word.partition(":") for word in entry.split(" "))
            synsets.append((pos, [(word, int(sense or 1)) for word, _, sense in pairs]))
        forms = (line.split() for line in islice(lines, int(irregular)))
        exceptions[pos] = {form: tuple(bases) for form, *bases in forms}
    return Lexicon(
        synsets=synsets,
        hypernyms=hypernyms,
        exceptions=exceptions,
        source="WordNet 3.0 (without named individuals)",
    )


@cache
def _glosses() -> list[str]:
    """Read the definitions of the extract, first of nouns, then of verbs."""
    return _extract(GLOSSES).splitlines()


def _extract(name: str) -> str:
    data = (resources.files("diaghoi.language") / name).read_bytes()
    return lzma.decompress(data).decode("utf-8")

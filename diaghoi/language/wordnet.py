"""Reading WordNet: from its own ``dict`` folder, and from the extract that comes with the package.

Both give the same :class:`Records`. The extract holds all noun and verb synsets of WordNet 3.0
except named individuals (people, places, works), with their words, hypernyms, definitions and
irregular forms; ``formats.wordnet_extract.py`` makes it, ``WORDNET_LICENSE`` is its
licence.
"""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError

_Synset = tuple[list[str], list[str], bool, str]

POS = {"n": "noun", "v": "verb"}
_EXAMPLE = re.compile(r'[;:,] *"')
EXTRACT = "wordnet30.txt.xz"
GLOSSES = "wordnet30_glosses.txt.xz"


@dataclass(frozen=True, kw_only=True)
class Records:
    """The synsets of one part of speech, in the order of WordNet's files.

    Parameters
    ----------
    words : list of list of (str, int)
        Words of each synset, as WordNet writes them, each with its sense number.
    hypernyms : list of tuple of int
        Positions of the synsets above.
    exceptions : dict of str to tuple of str
        Base forms of irregular forms.
    """

    words: list[list[tuple[str, int]]]
    hypernyms: list[tuple[int, ...]]
    exceptions: dict[str, tuple[str, ...]]


def read_dict(folder: Path, *, individuals: bool = True) -> tuple[dict[str, Records], list[str]]:
    """Read WordNet's ``dict`` folder.

    Parameters
    ----------
    folder : pathlib.Path
        With ``data.noun``, ``index.noun``, ``noun.exc`` and the same of verbs.
    individuals : bool
        Whether to keep synsets of named individuals ("instances" in WordNet).

    Returns
    -------
    records : dict of str to Records
        By part of speech, ``n`` and ``v``.
    glosses : list of str
        The definitions, without examples: those of nouns, then those of verbs.

    Raises
    ------
    InputError
        If a file is missing or is not one of WordNet's.
    """
    records, glosses = {}, []
    for pos in POS:
        records[pos], found = _read_pos(folder, pos, individuals)
        glosses += found
    return records, glosses


def _read_pos(folder: Path, pos: str, individuals: bool) -> tuple[Records, list[str]]:
    kind = POS[pos]
    data, index = (_lines(folder / f"{part}.{kind}") for part in ("data", "index"))
    try:
        order = {}
        for line in index:
            fields = line.split()
            order[fields[0]] = fields[len(fields) - int(fields[2]) :]
        parsed = {line[:8]: _synset(line) for line in data}
        if not individuals:
            parsed = _without_individuals(parsed)
        place = {offset: row for row, offset in enumerate(parsed)}
        words = [
            [(word, order[word.lower()].index(offset) + 1) for word in each[0]]
            for offset, each in parsed.items()
        ]
        hypernyms = [tuple(place[above] for above in each[1]) for each in parsed.values()]
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(
            f"{folder}: data.{kind} and index.{kind} do not fit WordNet's layout ({error!s:.60}); "
            "give the dict folder of a WordNet release"
        ) from None
    exceptions = {}
    for line in _lines(folder / f"{kind}.exc"):
        form, *bases = line.split()
        known = tuple(base for base in bases if base in order)
        if known:
            exceptions[form] = known
    glosses = [each[3] for each in parsed.values()]
    return Records(words=words, hypernyms=hypernyms, exceptions=exceptions), glosses


def _without_individuals(parsed: dict[str, _Synset]) -> dict[str, _Synset]:
    """Drop individuals, and the few synsets below one."""
    kept = {offset: each for offset, each in parsed.items() if not each[2]}
    while any(above not in kept for each in kept.values() for above in each[1]):
        kept = {offset: each for offset, each in kept.items() if kept.keys() >= set(each[1])}
    return kept


def _synset(line: str) -> _Synset:
    """Parse a data line: words, hypernyms, whether it is an individual, definition."""
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
    """Lines of one of WordNet's files, without the licence at its head."""
    try:
        text = ordinary(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise InputError(
            f"{path}: {reason}; --wordnet needs WordNet's dict folder, with data.noun, index.noun, "
            "noun.exc and the same of verbs"
        ) from None
    return [line for line in text.split("\n") if line.strip() and not line.startswith(" ")]


def pack(records: dict[str, Records]) -> str:
    """Write records as text: one synset per line, its words and the distance to each hypernym."""
    lines = []
    for pos, part in records.items():
        lines.append(f"# {pos} {len(part.words)} {len(part.exceptions)}")
        for row, (words, above) in enumerate(zip(part.words, part.hypernyms, strict=True)):
            entry = " ".join(word if sense == 1 else f"{word}:{sense}" for word, sense in words)
            lines.append(entry + "".join(f"\t{row - each}" for each in above))
        lines += [" ".join((form, *bases)) for form, bases in part.exceptions.items()]
    return "\n".join(lines) + "\n"


def unpack(text: str) -> dict[str, Records]:
    """Read what :func:`pack` wrote."""
    lines = iter(text.splitlines())
    records = {}
    for header in lines:
        _, pos, synsets, exceptions = header.split()
        words, hypernyms = [], []
        for row in range(int(synsets)):
            entry, *above = next(lines).split("\t")
            pairs = (word.partition(":") for word in entry.split(" "))
            words.append([(word, int(sense) if sense else 1) for word, _, sense in pairs])
            hypernyms.append(tuple(row - int(each) for each in above))
        irregular = (next(lines).split() for _ in range(int(exceptions)))
        records[pos] = Records(
            words=words,
            hypernyms=hypernyms,
            exceptions={form: tuple(bases) for form, *bases in irregular},
        )
    return records


def read_extract() -> dict[str, Records]:
    """Read the extract in the package."""
    return unpack(_packed(EXTRACT))


def read_glosses() -> list[str]:
    """Read the definitions of the extract: those of nouns, then those of verbs."""
    return _packed(GLOSSES).splitlines()


def _packed(name: str) -> str:
    data = (resources.files("diaghoi.language") / name).read_bytes()
    return lzma.decompress(data).decode("utf-8")

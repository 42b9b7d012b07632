"""From free text to base forms: verbs with their particles, objects of several words, phrases.

The matching procedure of SHOE (paper 000, section 4): verbs are lemmatised, objects of several
words are split, and each word is looked up on its own. Beyond the paper, combinations that WordNet
knows as one word (``pick_up``, ``hot_dog``) are looked up too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.lexicon import ENDINGS, Lexicon

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CLAUSE = re.compile(
    r"[.,;:!?()\n]+|\b(?:and|as|because|but|or|that|when|where|which|while|who)\b", re.IGNORECASE
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BEING = _words("am are be been being is was were")
DETERMINERS = _words(
    "a an another any each her his its my one our some that the their these this those your"
)
PARTICLES = _words(
    "about above across against along around at away back behind beside by down for forward from "
    "in inside into near next of off on onto out over through to together toward towards under "
    "underneath up upon with"
)
# Words that end the noun phrase of the object: "riding a horse on the beach".
AFTERWARDS = PARTICLES - {"of"}
PEOPLE = _words(
    "adult adults athlete baby boy boys child children girl girls guy guys he human humans kid "
    "kids lady man men people person persons player rider she someone somebody subject they woman "
    "women worker"
)
NEGATIONS = _words("aren't isn't never no nobody not nothing without")
_NO_VERBS = BEING | DETERMINERS | PARTICLES | PEOPLE | NEGATIONS


@dataclass(frozen=True, kw_only=True)
class WordForms:
    """The possible names of a verb or an object.

    Parameters
    ----------
    name : str
        The name shown to users.
    names : tuple of str
        Forms of the whole, with underscores: ``sit_on``.
    lemmas : tuple of str
        Base forms whose senses are candidates: ``sit``; the whole too where it is a word.
    """

    name: str
    names: tuple[str, ...]
    lemmas: tuple[str, ...]


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words, also at underscores and hyphens."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    return _TOKEN.findall(folded)


def read_verb(text: str, lexicon: Lexicon, known: Collection[str] = ()) -> WordForms:
    """Read a verb, which may be inflected and have particles: ``sitting on``.

    Parameters
    ----------
    text : str
        The verb.
    lexicon : Lexicon
        Decides what are base forms.
    known : collection of str
        First words of the verbs of a data set, which need not be in the lexicon.

    Returns
    -------
    WordForms
        Without lemmas where no word of the text is a verb.
    """
    words = tokens(text)
    words = [word for word in words if word not in BEING] or words
    for place, word in enumerate(words):
        bases = _verbs(word, lexicon, known)
        if bases:
            rest = words[place + 1 :]
            names = tuple(dict.fromkeys("_".join((base, *rest)) for base in bases))
            shown = names[0]
            whole = tuple(name for name in names if rest and lexicon.has(name, "v"))
            names = tuple(dict.fromkeys(("_".join(words), *names)))
            return WordForms(name=shown, names=names, lemmas=(*whole, *bases))
    joined = "_".join(words)
    return WordForms(name=joined, names=(joined,), lemmas=())


def _verbs(word: str, lexicon: Lexicon, known: Collection[str]) -> tuple[str, ...]:
    """Find the base forms of a verb, those of the data set first."""
    forms = [
        word,
        *(word.removesuffix(end) + new for end, new in ENDINGS["v"] if word.endswith(end)),
    ]
    own = (form for form in forms if form in known)
    return tuple(dict.fromkeys((*own, *lexicon.lemmas(word, "v"))))


def read_object(text: str, lexicon: Lexicon) -> WordForms:
    """Read an object, which may have several words: ``dining_table``.

    Returns
    -------
    WordForms
        Lemmas: what WordNet knows as one word, the longest first, then each word. None where no
        word is a noun.
    """
    words = [word for word in tokens(text) if word not in DETERMINERS]
    names = ["_".join(words)]
    lemmas: list[str] = []
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            part = words[start : start + length]
            last = dict.fromkeys((part[-1], *lexicon.lemmas(part[-1], "n")))
            forms = ["_".join((*part[:-1], form)) for form in last]
            if length == len(words):
                names += forms
            lemmas += [form for form in forms if lexicon.has(form, "n")]
    return WordForms(
        name=names[0], names=tuple(dict.fromkeys(names)), lemmas=tuple(dict.fromkeys(lemmas))
    )


def read_phrase(text: str, lexicon: Lexicon, known: Collection[str] = ()) -> tuple[str, str] | None:
    """Take verb and object from a sentence, such as "a person is riding a horse on the beach".

    The verb is a word in -ing, preferably after the person, else the word after the person or the
    first word; particles after it belong to it. The object is the text that follows, up to the next
    preposition, conjunction or punctuation mark.

    Returns
    -------
    (str, str) or None
        None if no verb is found, nothing follows it, or the sentence is negated.
    """
    for clause in _CLAUSE.split(text):
        words = tokens(clause)
        place = _verb_place(words, lexicon, known)
        if place is None or NEGATIONS & set(words[:place]):
            continue
        stop = place + 1
        while stop < len(words) and words[stop] in PARTICLES:
            stop += 1
        named: list[str] = []
        for word in words[stop:]:
            if word in AFTERWARDS:
                break
            if word not in DETERMINERS:
                named.append(word)
        if named:
            return " ".join(words[place:stop]), " ".join(named)
    return None


def _verb_place(words: list[str], lexicon: Lexicon, known: Collection[str]) -> int | None:
    """Find the position of the verb in a clause: the most likely one, the first among equals."""
    best, place = 0, None
    for at, word in enumerate(words):
        behind = at > 0 and words[at - 1] in PEOPLE | BEING
        likely = 2 * word.endswith("ing") + 2 * behind + (at == 0)
        if likely > best and word not in _NO_VERBS and _verbs(word, lexicon, known):
            best, place = likely, at
    return place


def plain(word: str) -> str:
    """Normalise a word for comparison: lower case, single underscores."""
    return "_".join(word.replace("_", " ").lower().split())


def verb_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Words by which the verbs of a data set are compared; in V-COCO only the action."""
    if vocabulary.agents is None:
        return vocabulary.verbs
    return tuple(verb.rsplit(" ", 1)[0] for verb in vocabulary.verbs)

"""Reduce free text to base forms: verbs with particles, multi-word objects, phrases.

The module follows the matching procedure of SHOE (supplement, section 4): verbs are lemmatised,
multi-word objects are split, and each word is looked up separately. Beyond the paper, combinations
that are words in WordNet (``pick_up``, ``hot_dog``) are also looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.lexicon import ENDINGS, Lexicon

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SENTENCE = re.compile(r"[.,;:!?()\n]+")
_CLAUSE = re.compile(
    rf"{_SENTENCE.pattern}|\b(?:and|as|because|but|or|that|when|where|which|while|who)\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(?:that|which|who)\s+(?=(?:is|are|was|were)\b)", re.IGNORECASE)


def word_set(text: str) -> frozenset[str]:
    """Split a text into a set of words."""
    return frozenset(text.split())


BEING = word_set("am are be been being is was were")
_HAVING = word_set("get gets getting got had has have")
DETERMINERS = word_set(
    "a an another any each her his its my one our some that the their these this those your"
)
PARTICLES = word_set(
    "about above across against along around at away back behind beside by down for forward from "
    "in inside into near next of off on onto out over through to together toward towards under "
    "underneath up upon with"
)
_BEFORE_BY = PARTICLES - {"by"}
# Words that end the noun phrase of the object: "riding a horse on the beach".
AFTERWARDS = PARTICLES - {"of"}
PEOPLE = word_set(
    "adult adults athlete baby boy boys child children girl girls guy guys he human humans kid "
    "kids lady man men people person persons player rider she someone somebody subject they woman "
    "women worker"
)
NEGATIONS = word_set(
    "aren't can't cannot didn't doesn't don't isn't never no nobody not nothing without"
)
# Forms that WordNet omits.
_IRREGULAR = {"people": "person", "shorn": "shear"}
_NO_VERBS = BEING | DETERMINERS | PARTICLES | PEOPLE | NEGATIONS


@dataclass(frozen=True, kw_only=True)
class WordForms:
    """The possible names of a verb or an object.

    Parameters
    ----------
    name : str
        Name shown to users.
    names : tuple of str
        Forms of the whole text, with underscores: ``sit_on``.
    lemmas : tuple of str
        Base forms whose senses are candidates: ``sit``, and the whole text if it is a word.
    """

    name: str
    names: tuple[str, ...]
    lemmas: tuple[str, ...]


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words, also at underscores and hyphens."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    return _TOKEN.findall(folded)


def read_verb(text: str, lexicon: Lexicon, known: Collection[str] = ()) -> WordForms:
    """Parse a verb, which may be inflected and have particles: ``sitting on``.

    Parameters
    ----------
    text : str
        The verb.
    lexicon : Lexicon
        Lexicon that determines the base forms.
    known : collection of str
        First words of the verbs of a data set; the lexicon may lack them.

    Returns
    -------
    WordForms
        Without lemmas if no word of the text is a verb.
    """
    words = tokens(text)
    words = [word for word in words if word not in BEING | DETERMINERS] or words
    joined = "_".join(words)
    for place, word in enumerate(words):
        if bases := _verbs(word, lexicon, known):
            rest = words[place + 1 :]
            names = ["_".join((base, *rest)) for base in bases]
            whole = [name for name in names if rest and lexicon.has(name, "v")]
            return WordForms(
                name=names[0], names=tuple(dict.fromkeys((joined, *names))), lemmas=(*whole, *bases)
            )
    return WordForms(name=joined, names=(joined,), lemmas=())


def _verbs(word: str, lexicon: Lexicon, known: Collection[str]) -> tuple[str, ...]:
    """Find the base forms of a verb; forms that the data set uses come first."""
    word = _IRREGULAR.get(word, word)
    regular = (word.removesuffix(end) + new for end, new in ENDINGS["v"] if word.endswith(end))
    own = [form for form in (word, *regular) if form in known]
    return tuple(dict.fromkeys((*own, *lexicon.lemmas(word, "v"))))


def _nouns(word: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Find the base forms of a noun."""
    irregular = (_IRREGULAR[word],) if word in _IRREGULAR else ()
    return (*lexicon.lemmas(word, "n"), *irregular)


def read_object(text: str, lexicon: Lexicon) -> WordForms:
    """Parse an object, which may have several words: ``dining_table``.

    Returns
    -------
    WordForms
        The lemmas are the WordNet entries in the text, longest first, followed by each word. The
        lemmas are empty if no word is a noun.
    """
    words = [word for word in tokens(text) if word not in DETERMINERS]
    names = ["_".join(words)]
    lemmas: list[str] = []
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            part = words[start : start + length]
            last = dict.fromkeys((part[-1], *_nouns(part[-1], lexicon)))
            forms = ["_".join((*part[:-1], form)) for form in last]
            if length == len(words):
                names += forms
            lemmas += [form for form in forms if lexicon.has(form, "n")]
    return WordForms(
        name=names[0], names=tuple(dict.fromkeys(names)), lemmas=tuple(dict.fromkeys(lemmas))
    )


@dataclass(frozen=True, kw_only=True)
class KnownNames:
    """Names of a data set, used to parse phrases.

    Parameters
    ----------
    heads : frozenset of str
        First words of the verbs, because a lexicon may lack these base forms.
    verbs, objects : tuple of tuple of str
        Multi-word verbs and objects, longest first.
    no_interaction : str
        Verb of the data set for a pair that does not interact; empty if the data set has no such
        verb.
    """

    heads: frozenset[str] = frozenset()
    verbs: tuple[tuple[str, ...], ...] = ()
    objects: tuple[tuple[str, ...], ...] = ()
    no_interaction: str = ""


NO_NAMES = KnownNames()


def known_names(vocabulary: Vocabulary) -> KnownNames:
    """Collect the names of a data set."""
    verbs, objects = (
        sorted({tuple(tokens(name)) for name in names}, key=lambda name: (-len(name), name))
        for names in (verb_words(vocabulary), vocabulary.objects)
    )
    none = vocabulary.no_interaction
    return KnownNames(
        heads=frozenset(name[0] for name in verbs if name),
        verbs=tuple(name for name in verbs if len(name) > 1),
        objects=tuple(name for name in objects if len(name) > 1),
        no_interaction=vocabulary.verbs[none] if none >= 0 else "",
    )


def read_phrase(
    text: str, lexicon: Lexicon, known: KnownNames = NO_NAMES
) -> tuple[str, str] | None:
    """Extract verb and object from a sentence: "a person is riding a horse on the beach".

    Multi-word object names are found first and contain no verb: "dining table". The verb is a word
    in -ing, preferably after the person; without one, it is the word after the person, the first
    word, or a verb of the data set. Particles that follow belong to the verb. The object is the
    text after the verb, up to the next preposition, conjunction or punctuation mark; in a passive
    clause, "a horse is being ridden", it is the subject.

    Parameters
    ----------
    text : str
        The sentence.
    lexicon : Lexicon
        Lexicon that determines the verbs.
    known : KnownNames
        Names of the data set; by default none.

    Returns
    -------
    (str, str) or None
        None if there is no verb, the verb has no object, or the sentence is negated; "not
        interacting with a horse" is a verb if the data set has a verb for no interaction.
    """
    for sentence in _SENTENCE.split(text) if known.no_interaction else ():
        if named := _not_interacting(tokens(sentence)):
            return known.no_interaction, " ".join(named)
    for clause in _CLAUSE.split(_RELATIVE.sub("", text)):
        words = _joined(tokens(clause), lexicon, known.objects)
        if len(words) == 1:
            words = tokens(clause)  # "pruning shears" may also be the name of an object
        words = words[1:] if words[:1] == ["to"] else words
        place = _verb_place(words, lexicon, known)
        if place is None or NEGATIONS & set(words[:place]):
            continue
        stop = _end_of_verb(words, place, lexicon, known)
        if passive := _passive(words, place, stop, lexicon, known):
            return passive
        if named := _noun_phrase(words[stop:]):
            return " ".join(words[place:stop]), " ".join(named)
    return None


def _not_interacting(words: list[str]) -> list[str]:
    """Find the object in "no interaction with the horse"; return nothing for any other sentence."""
    for at, word in enumerate(words):
        if word.startswith("interact") and NEGATIONS & set(words[:at]):
            passed = PARTICLES | DETERMINERS | {"and", "between"}
            named = [word for word in words[at + 1 :] if word not in passed]
            # "between the person and the horse"
            return named[1:] if len(named) > 1 and named[0] in PEOPLE else named
    return []


def _joined(words: list[str], lexicon: Lexicon, names: Sequence[tuple[str, ...]]) -> list[str]:
    """Join the words of each name with underscores, longest names first."""
    words = list(words)
    for *first, last in names:
        if not words or first[0] not in words:
            continue
        for start in range(len(words) - len(first)):
            stop = start + len(first)
            if words[start:stop] == first and stop < len(words):
                forms = ({word, *_nouns(word, lexicon)} for word in (words[stop], last))
                if not set.isdisjoint(*forms):
                    words[start : stop + 1] = ["_".join(words[start : stop + 1])]
    return words


def _verb_place(words: list[str], lexicon: Lexicon, known: KnownNames) -> int | None:
    """Find the index of the most likely verb in a clause; the first of equally likely verbs."""
    best, place = (0, False), None
    for at, word in enumerate(words):
        if word in _NO_VERBS or "_" in word:
            continue
        bases = _verbs(word, lexicon, known.heads)
        before = words[at - 1] if at else ""
        base = word in bases
        behind = before in PEOPLE | BEING or (before in _HAVING and not base)
        # "a park" and "in park" are nouns.
        verb = before not in DETERMINERS | PARTICLES and not known.heads.isdisjoint(bases)
        after = next((word for word in words[at + 1 :] if word not in _BEFORE_BY), "")
        # "a horse ridden"; for a form that may also be active, like "cut", only "cut by".
        participle = at > 0 and not word.endswith("s")
        ridden = verb and participle and after in (("by",) if base else ("by", ""))
        likely = 2 * word.endswith("ing") + 2 * (behind or ridden) + (at == 0)
        if bases and (likely, verb) > best:
            best, place = (likely, verb), at
    return place


def _end_of_verb(words: list[str], place: int, lexicon: Lexicon, known: KnownNames) -> int:
    """Find the end of a verb: after the words of its name, and any particles."""
    stop = place + 1
    bases = _verbs(words[place], lexicon, known.heads)
    for head, *rest in known.verbs:
        if head in bases and words[stop : stop + len(rest)] == rest:
            stop += len(rest)
            break
    while stop < len(words) and words[stop] in PARTICLES:
        stop += 1
    return stop


def _noun_phrase(words: Sequence[str]) -> list[str]:
    """Return the words of the noun phrase at the start of a text, without determiners."""
    phrase = takewhile(lambda word: word not in AFTERWARDS, words)
    return [word for word in phrase if word not in DETERMINERS]


def _passive(
    words: list[str], place: int, stop: int, lexicon: Lexicon, known: KnownNames
) -> tuple[str, str] | None:
    """Extract verb and object from "a horse is ridden by a man"; None for an active clause."""
    verb, bases = words[place], _verbs(words[place], lexicon, known.heads)
    if verb.endswith("ing") or (verb.endswith("s") and verb not in bases):
        return None
    end = place
    while end and (words[end - 1] in BEING | _HAVING or words[end - 1].endswith("ly")):
        end -= 1
    ends = AFTERWARDS | BEING | NEGATIONS | {"there"}
    subject = list(takewhile(lambda word: word not in ends, reversed(words[:end])))[::-1]
    subject = [word for word in subject if word not in DETERMINERS]
    if not subject:
        return None
    person, being = subject[-1] in PEOPLE, words[place - 1] in BEING
    participle = being or verb not in bases
    particles, named = words[place + 1 : stop], _noun_phrase(words[stop:])
    if "by" in particles:
        agent = not PEOPLE.isdisjoint(named)
        passive = agent and participle if person else True
        stop = place + 1 + particles.index("by")
    elif named:
        # "the horse is ridden on the beach", but "the man is seated on the couch"
        passive, stop = being and not person, place + 1
    else:
        named_so = not known.heads.isdisjoint(bases)
        passive = participle and (not person or (being and named_so))
    return (" ".join(words[place:stop]), " ".join(subject)) if passive else None


def plain(word: str) -> str:
    """Normalise a word for comparison: lower case, single underscores."""
    return "_".join(word.replace("_", " ").lower().split())


def verb_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the words to look up for a data set's verbs; for V-COCO, only the action."""
    if vocabulary.agents is None:
        return vocabulary.verbs
    return tuple(verb.rsplit(" ", 1)[0] for verb in vocabulary.verbs)

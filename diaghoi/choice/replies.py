r"""Parse model replies: letters, option texts, "none of these", or unreadable.

Models are asked for letters only, but write many other things. Rules, in order of precedence:

1. Reasoning in tags (``<think>``) is skipped; if there is an ``<answer>`` or ``\boxed{}``, only the
last one counts. 2. A reply, or its last line, consisting only of letters (``A, C``, ``(A) (C)``,
``AC``, ``A and C``), ``none of the above`` or ``all of the above``; numbers count as letters if the
reply has nothing else. 3. Letters after words that announce an answer; the last announcement
counts. 4. ``none of the above`` and refusals in a sentence. 5. Letters in prose that are not called
wrong, then option texts (``riding the bicycle``).

The published scorer splits the reply at commas and keeps only parts that are exactly one letter, so
it takes ``(A) (B)``, ``A and C`` and option texts for empty answers. Replies that this module
cannot read count as empty, as they do for the published scorer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from diaghoi.choice import reply_patterns as patterns
from diaghoi.choice.classes import ARTICLE
from diaghoi.choice.questions import MOST_OPTIONS
from diaghoi.language.answers import strip_reasoning
from diaghoi.language.words import word_set

How = Literal["letters", "text", "none", "refusal", "empty", "unreadable"]

# Only the start and the end of a longer reply are read: a runaway model repeats itself in between.
BEGINNING, ENDING = 2_000, 18_000
# Kinds of replies without a readable choice; a result counts such replies as empty and lists them.
UNREAD = ("refusal", "empty", "unreadable")

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CLAUSE = re.compile(r"[.;!?\n]|\bbut\b")
_SKIPPED = word_set("a an the his her their its this that some one person's")
_NEGATIONS = word_set(
    "not no never without isn't aren't wasn't doesn't don't neither nor cannot can't"
)
ENDINGS = ("ing", "ed", "es", "s")
# Number of words, mostly adjectives, allowed between a verb and its object.
BETWEEN = 2


@dataclass(frozen=True, kw_only=True)
class ParsedReply:
    """Indices of the options that a reply picks, in ascending order, and the form of the reply.

    A readable reply has letters (or numbers), option texts, or words for "none of them"; other
    replies have no readable choice and count as empty.
    """

    picked: tuple[int, ...] = ()
    how: How


def read_reply(reply: str, options: Sequence[str]) -> ParsedReply:
    """Parse which options a reply picks; letters beyond the options are skipped.

    Parameters
    ----------
    reply : str
        Any text, as written by the model.
    options : sequence of str
        The options in displayed order, at most 26.
    """
    # NFKC can lengthen a text, so the normalised text is shortened again.
    plain = _shortened(unicodedata.normalize("NFKC", _shortened(reply)))
    text = patterns.COMMANDS.sub(" ", _concluding(plain.translate(patterns.PLAINER)))
    return next(filter(None, _readings(text, options)), ParsedReply(how="unreadable"))


def _shortened(text: str) -> str:
    if len(text) <= BEGINNING + ENDING:
        return text
    return f"{text[:BEGINNING]}\n{text[-ENDING:]}"


def _readings(text: str, options: Sequence[str]) -> Iterator[ParsedReply | None]:
    """Yield the result of each rule, the most reliable rule first."""
    count = min(len(options), MOST_OPTIONS)
    if not re.search(r"[^\W_]", text):
        signs = text.strip(" \t\r\n.,;:!-–—")
        yield ParsedReply(how="none" if signs in patterns.NOTHING_SIGNS else "empty")
    if not patterns.MARKED.match(text):
        yield _picks((n for n, option in enumerate(options) if same_text(text, option)), "text")
    if patterns.NOT_APPLICABLE.fullmatch(text):
        yield ParsedReply(how="none")
    yield _bare(text, count, whole=True)
    lines = [line for line in text.splitlines() if line.strip()]
    yield _bare(lines[-1], count) if lines else None
    runs = list(_runs(text, options))
    announced = [run for run in runs if run.announced and not run.denied]
    # Models that think aloud announce several answers; the last announcement counts.
    yield _picks(announced[-1].places) if announced else None
    yield _bare(lines[0], count) if lines else None
    # A letter affirmed in the same reply takes precedence over "none of the above".
    if not any(not run.denied for run in runs):
        yield ParsedReply(how="none") if patterns.NONE.search(text) else None
    if patterns.ALL.search(text):
        yield _picks(range(count))
    yield ParsedReply(how="refusal") if patterns.REFUSAL.search(text) else None
    yield _picks(place for run in runs if not run.denied for place in run.places)
    yield _picks(mentioned(text, options), "text")


def _picks(places: Iterable[int], how: How = "letters") -> ParsedReply | None:
    picked = tuple(sorted(set(places)))
    return ParsedReply(picked=picked, how=how) if picked else None


def _concluding(text: str) -> str:
    """Return the part of a reply that contains the answer."""
    text = strip_reasoning(text)
    tags = [match.end() for match in patterns.TAG.finditer(text)]
    if tags:
        inside = [re.split(patterns.TAG_END, text[start:], maxsplit=1)[0] for start in tags]
        return next((each for each in reversed(inside) if each.strip()), "")
    place = text.rfind("\\boxed")
    if place >= 0:
        return _braced(text[place + len("\\boxed") :])
    return text


def _braced(text: str) -> str:
    """Return the content of the braces at the start of a text, or the whole text without braces."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0 and letter == "}":
            return text[:place]
    return text


def _bare(text: str, count: int, *, whole: bool = False) -> ParsedReply | None:
    """Parse a text of only letters and filler words; None for any other text.

    Numbers count as options if the text is the whole reply.
    """
    if patterns.VERDICT_SIGNS.search(text):
        return None
    text = patterns.ARTICLE.sub("", text)
    text = patterns.RANGE.sub(_spread, text)
    upper: list[int] = []
    lower: list[int] = []
    numbers: list[int] = []
    every = nothing = False
    for token in patterns.TOKEN.findall(text):
        small = token.lower()
        place = ord(small) - ord("a") if len(token) == 1 and small.isascii() else -1
        # "I" is the pronoun if there are too few options for the letter.
        if token == "I" and count <= place:
            continue
        if 0 <= place < MOST_OPTIONS:
            (upper if token.isupper() else lower).append(place)
        elif token.isdecimal() and whole:
            numbers.append(int(token) - 1 if len(token) < 3 else count)
        elif small == "all":
            every = True
        elif small in patterns.NOTHING:
            nothing = True
        elif small not in patterns.AROUND and not (whole and small in patterns.VERDICTS):
            together = _together(token, count)
            if not together:
                return None
            upper += together
    # Next to capitals, a lower-case "a" is the article, so capitals take precedence over small
    # letters. Numbers come last: "A, 90 % sure" means A.
    picked = {place for place in upper or lower or numbers if 0 <= place < count}
    if (every or nothing) and (upper or lower):
        return None if nothing else _all_but(text, picked, count)
    if every:
        return None if nothing else _picks(range(count))
    if nothing or numbers == [-1]:
        return ParsedReply(how="none")
    if not picked:
        return ParsedReply(how="unreadable") if upper or numbers else None
    return _picks(picked)


def _all_but(text: str, picked: set[int], count: int) -> ParsedReply | None:
    but = re.search(r"\b(?:except|but)\b", text, re.IGNORECASE)
    return _picks(place for place in range(count) if not but or place not in picked)


def _together(token: str, count: int) -> list[int]:
    """Parse letters written as one token, such as ``ABD``; a word gives an empty list."""
    if not (token.isascii() and token.isupper() and len(set(token)) == len(token)):
        return []
    places = [ord(letter) - ord("A") for letter in token]
    return places if max(places) < count else []


def _spread(match: re.Match[str]) -> str:
    first, last = ord(match[1]), ord(match[2])
    return " ".join(chr(letter) for letter in range(first, last + 1)) or match[0]


class _Run(NamedTuple):
    """Adjacent letters in prose, with flags that say whether they are announced or denied."""

    places: tuple[int, ...]
    announced: bool
    denied: bool


def _runs(text: str, options: Sequence[str]) -> Iterator[_Run]:
    """Find option letters in prose."""
    marks = [match for match in patterns.LETTER.finditer(text) if _is_letter(match, text, options)]
    groups: list[list[re.Match[str]]] = []
    for mark in marks:
        joined = groups and patterns.BETWEEN.fullmatch(text[groups[-1][-1].end() : mark.start()])
        if joined:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    past = 0
    for number, group in enumerate(groups):
        start, end = group[0].start(), group[-1].end()
        stop = groups[number + 1][0].start() if number + 1 < len(groups) else len(text)
        # An announcement extends across commas ("the answer, I think, is A"), but a denial does
        # not.
        before = patterns.CLAUSE.split(text[max(0, start - 60) : start])[-1]
        nearest = patterns.CLAUSE_OR_COMMA.split(text[max(0, start - 60, past) : start])[-1]
        after = text[end : min(stop, end + 60)].lstrip(")]}.:\"' ")
        after = patterns.CLAUSE_OR_COMMA.split(after, maxsplit=1)[0]
        yield _Run(
            places=tuple(ord(mark[1]) - ord("A") for mark in group),
            announced=bool(patterns.ANNOUNCED.search(before)),
            denied=bool(
                patterns.DENIED_BEFORE.search(nearest) or patterns.DENIED_AFTER.match(after)
            ),
        )
        past = end


def _is_letter(match: re.Match[str], text: str, options: Sequence[str]) -> bool:
    """Check whether a letter is an option, not an article, a pronoun or a name ("person A")."""
    letter, after = match[1], text[match.end() : match.end() + 80]
    place = ord(letter) - ord("A")
    if place >= len(options):
        return False
    before = text[max(0, match.start() - 12) : match.start()]
    if patterns.OTHER_LETTERS.search(before):
        return False
    if letter not in "AI" or patterns.OPTION_BEFORE.search(before):
        return True
    following = patterns.WORD_AFTER.match(after)
    if following is None or following[1].lower() in patterns.AFTER_LETTER:
        return True
    return 0 in mentioned(after, [options[place]], at_start=True)


def same_text(text: str, option: str) -> bool:
    """Check whether a text is exactly an option, up to case, articles and underscores."""
    # Most replies consist of a few letters; a comparison of lengths cheaply shows that a reply is
    # no option.
    return len(text) >= len(option) // 2 and _spelled(text) == _option(option)


def mentioned(text: str, options: Sequence[str], *, at_start: bool = False) -> Iterator[int]:
    """Find the options that a text starts with, or mentions without denying them."""
    clauses = [_stems(clause) for clause in _CLAUSE.split(text.lower().replace("_", " "))]
    for place, option in enumerate(options):
        pattern = _pattern(option)
        for stems in clauses[:1] if at_start else clauses:
            match = (pattern.match if at_start else pattern.search)(stems)
            # Before auxiliaries, a negation may be four words from the option: "is not shown to be
            # riding".
            if match and _NEGATIONS.isdisjoint(stems[: match.start()].split()[-4:]):
                yield place
                break


@lru_cache(maxsize=4096)
def _option(option: str) -> tuple[str, ...]:
    return _spelled(option.replace(ARTICLE.strip(), " "))


def _spelled(text: str) -> tuple[str, ...]:
    """Return the lower-case words of a text, without articles."""
    return tuple(
        word for word in _TOKEN.findall(text.lower().replace("_", " ")) if word not in _SKIPPED
    )


def _stems(text: str) -> str:
    return " ".join(map(_stem, _spelled(text)))


def _stem(word: str) -> str:
    """Remove the ending of a word: ``riding`` and ``ride`` give ``rid``."""
    if word in _NEGATIONS:
        return word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word.removesuffix(ending)
            break
    # "sitting" gives "sitt", which must match "sit"; but "ll" and "ss" belong to the stem.
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 2 and word.endswith("e"):
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 2 and word.endswith("y") else word


@lru_cache(maxsize=4096)
def _pattern(option: str) -> re.Pattern[str]:
    """Compile the pattern that finds an option in text reduced to stems."""
    verb, _, object_text = option.partition(ARTICLE)
    between = rf" (?:\S+ ){{0,{BETWEEN}}}"
    said = between.join(filter(None, (re.escape(_stems(part)) for part in (verb, object_text))))
    return re.compile(rf"(?<!\S){said}(?!\S)" if said else r"(?!)")

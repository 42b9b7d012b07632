r"""What a model picks in its reply: letters, option texts, nothing, or nothing that can be read.

Models are asked for letters alone, and write all sorts of things. What is read, in this order:

1. Reasoning in tags (``<think>``) is passed over; the last ``<answer>`` or ``\boxed{}`` is all
   that counts where there is one.
2. A reply, or its last line, of nothing but letters (``A, C``, ``(A) (C)``, ``AC``, ``A and C``),
   ``none of the above`` or ``all of the above``; numbers stand for letters where they stand alone.
3. Letters after words that announce an answer: the last of them.
4. ``none of the above`` and refusals in a sentence.
5. Letters in prose that are not said to be wrong, then texts of options (``riding the bicycle``).

The published scorer splits the reply at commas and takes parts that are exactly a letter, so that
``(A) (B)``, ``A and C`` and option texts are empty answers there. What is not read here is empty in
both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from diaghoi.choice import reply_patterns as words
from diaghoi.choice.option_texts import mentioned, same_text
from diaghoi.choice.questions import MOST_OPTIONS
from diaghoi.language.asking import strip_reasoning

How = Literal["letters", "text", "none", "refusal", "empty", "unreadable"]

# Beginning and end of a longer reply are read: what a runaway model repeats between is passed over.
BEGINNING, ENDING = 2_000, 18_000
# Ways of answering from which nothing is read: they count as empty, and are listed.
UNREAD = ("refusal", "empty", "unreadable")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a reply was taken for.

    Parameters
    ----------
    picked : tuple of int
        Places of the options that are picked, counted from 0, in ascending order.
    how : {"letters", "text", "none", "refusal", "empty", "unreadable"}
        What told them: letters (or numbers), texts of options, words for "none of them"; the others
        are answers that nothing can be read from, which count as empty.
    """

    picked: tuple[int, ...] = ()
    how: How

    @property
    def read(self) -> bool:
        """Whether the reply says what is picked, and be it nothing."""
        return self.how not in UNREAD


def read_reply(reply: str, options: Sequence[str]) -> Reading:
    """Read which options a reply picks.

    Parameters
    ----------
    reply : str
        Any text, as the model wrote it.
    options : sequence of str
        The options in the order shown, at most 26.

    Returns
    -------
    Reading
        Letters beyond the options are passed over.
    """
    plain = _shortened(unicodedata.normalize("NFKC", _shortened(reply)))
    text = words.COMMANDS.sub(" ", _concluding(plain.translate(words.PLAINER)))
    return next((found for found in _readings(text, options) if found), Reading(how="unreadable"))


def _shortened(text: str) -> str:
    if len(text) <= BEGINNING + ENDING:
        return text
    return f"{text[:BEGINNING]}\n{text[-ENDING:]}"


def _readings(text: str, options: Sequence[str]) -> Iterator[Reading | None]:
    """Give what each way of reading finds, the surest first."""
    count = min(len(options), MOST_OPTIONS)
    if not re.search(r"[^\W_]", text):
        signs = text.strip(" \t\r\n.,;:!-–—")
        yield Reading(how="none" if signs in words.NOTHING_SIGNS else "empty")
    if not words.MARKED.match(text):
        same = [place for place, option in enumerate(options) if same_text(text, option)]
        yield Reading(picked=tuple(same), how="text") if same else None
    if words.NOT_APPLICABLE.fullmatch(text):
        yield Reading(how="none")
    yield _bare(text, count, whole=True)
    lines = [line for line in text.splitlines() if line.strip()]
    yield _bare(lines[-1], count) if lines else None
    runs = list(_runs(text, options))
    announced = [run for run in runs if run.announced and not run.denied]
    yield _letters(announced[-1].places) if announced else None
    yield _bare(lines[0], count) if lines else None
    if not any(not run.denied for run in runs):
        yield Reading(how="none") if words.NONE.search(text) else None
    if words.ALL.search(text):
        yield _letters(range(count))
    yield Reading(how="refusal") if words.REFUSAL.search(text) else None
    yield _letters(place for run in runs if not run.denied for place in run.places)
    said = mentioned(text, options)
    yield Reading(picked=said, how="text") if said else None


def _letters(places: Iterator[int] | Sequence[int]) -> Reading | None:
    picked = tuple(sorted(set(places)))
    return Reading(picked=picked, how="letters") if picked else None


def _concluding(text: str) -> str:
    """Return the part of a reply that holds its answer."""
    text = strip_reasoning(text)
    tags = [match.end() for match in words.TAG.finditer(text)]
    if tags:
        inside = [re.split(words.TAG_END, text[start:], maxsplit=1)[0] for start in tags]
        return next((each for each in reversed(inside) if each.strip()), "")
    place = text.rfind("\\boxed")
    if place >= 0:
        return _braced(text[place + len("\\boxed") :])
    return text


def _braced(text: str) -> str:
    """Return what stands in the braces that a text starts with; all of it where there are none."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0 and letter == "}":
            return text[:place]
    return text


def _bare(text: str, count: int, *, whole: bool = False) -> Reading | None:
    """Read a text of nothing but letters and words around them; None for any other.

    Parameters
    ----------
    text : str
        A reply or a line of it.
    count : int
        How many options there are.
    whole : bool
        Whether it is all of the reply, so that numbers stand for options.
    """
    if words.VERDICT_SIGNS.search(text):
        return None
    text = words.ARTICLE.sub("", text)
    text = words.RANGE.sub(_spread, text)
    upper: list[int] = []
    lower: list[int] = []
    told: list[int] = []
    every = nothing = False
    for token in words.TOKEN.findall(text):
        small = token.lower()
        place = ord(small) - ord("a") if len(token) == 1 and small.isascii() else -1
        if token == "I" and count <= place:
            continue
        if 0 <= place < MOST_OPTIONS:
            (upper if token.isupper() else lower).append(place)
        elif token.isdecimal() and whole:
            told.append(int(token) - 1 if len(token) < 3 else count)
        elif small == "all":
            every = True
        elif small in words.NOTHING:
            nothing = True
        elif small not in words.AROUND and not (whole and small in words.VERDICTS):
            together = _together(token, count)
            if not together:
                return None
            upper += together
    # A small "a" beside capitals is the article.
    picked = {place for place in upper or lower or told if 0 <= place < count}
    if (every or nothing) and (upper or lower):
        return None if nothing else _all_but(text, picked, count)
    if every:
        return None if nothing else _letters(range(count))
    if nothing or told == [-1]:
        return Reading(how="none")
    if not picked:
        return Reading(how="unreadable") if upper or told else None
    return _letters(sorted(picked))


def _all_but(text: str, picked: set[int], count: int) -> Reading | None:
    but = re.search(r"\b(?:except|but)\b", text, re.IGNORECASE)
    return _letters([place for place in range(count) if not but or place not in picked])


def _together(token: str, count: int) -> list[int]:
    """Read letters that are written together, ``ABD``; none for a word."""
    if not (token.isascii() and token.isupper() and len(set(token)) == len(token)):
        return []
    places = [ord(letter) - ord("A") for letter in token]
    return places if max(places) < count else []


def _spread(match: re.Match[str]) -> str:
    first, last = ord(match[1]), ord(match[2])
    return " ".join(chr(letter) for letter in range(first, last + 1)) or match[0]


class _Run(NamedTuple):
    """Letters that stand together in prose, whether announced as the answer or said to be wrong."""

    places: tuple[int, ...]
    announced: bool
    denied: bool


def _runs(text: str, options: Sequence[str]) -> Iterator[_Run]:
    """Find letters of options in prose."""
    marks = [match for match in words.LETTER.finditer(text) if _is_letter(match, text, options)]
    groups: list[list[re.Match[str]]] = []
    for mark in marks:
        joined = groups and words.BETWEEN.fullmatch(text[groups[-1][-1].end() : mark.start()])
        if joined:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    past = 0
    for number, group in enumerate(groups):
        start, end = group[0].start(), group[-1].end()
        stop = groups[number + 1][0].start() if number + 1 < len(groups) else len(text)
        before = words.CLAUSE.split(text[max(0, start - 60) : start])[-1]
        nearest = words.CLAUSE_OR_COMMA.split(text[max(0, start - 60, past) : start])[-1]
        after = text[end : min(stop, end + 60)].lstrip(")]}.:\"' ")
        after = words.CLAUSE_OR_COMMA.split(after, maxsplit=1)[0]
        yield _Run(
            places=tuple(ord(mark[1]) - ord("A") for mark in group),
            announced=bool(words.ANNOUNCED.search(before)),
            denied=bool(words.DENIED_BEFORE.search(nearest) or words.DENIED_AFTER.match(after)),
        )
        past = end


def _is_letter(match: re.Match[str], text: str, options: Sequence[str]) -> bool:
    """Tell letters of options from the article "A", the pronoun "I" and letters of other things."""
    letter, after = match[1], text[match.end() : match.end() + 80]
    place = ord(letter) - ord("A")
    if place >= len(options):
        return False
    before = text[max(0, match.start() - 12) : match.start()]
    if words.OTHER_LETTERS.search(before):
        return False
    if letter not in "AI" or words.OPTION_BEFORE.search(before):
        return True
    following = words.WORD_AFTER.match(after)
    if following is None or following[1].lower() in words.AFTER_LETTER:
        return True
    return 0 in mentioned(after, [options[place]], at_start=True)

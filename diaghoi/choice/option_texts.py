"""Texts of options as people and models write them: ``ride a/an bicycle``, ``riding the bicycle``.

Verbs are compared by a crude stem: it only has to separate the few options of one question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from diaghoi.choice.classes import ARTICLE
from diaghoi.choice.reply_patterns import word_set

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CLAUSE = re.compile(r"[.;!?\n]|\bbut\b")
_SKIPPED = word_set("a an the his her their its this that some one person's")
_NEGATIONS = word_set(
    "not no never without isn't aren't wasn't doesn't don't neither nor cannot can't"
)
ENDINGS = ("ing", "ed", "es", "s")
# Words allowed between the verb and its object: adjectives, mostly.
BETWEEN = 2


def same_text(text: str, option: str) -> bool:
    """Whether a text is an option and nothing else, up to case, articles and underscores."""
    # Most replies are letters: a cheap test of length rules them out.
    return len(text) >= len(option) // 2 and _spelled(text) == _option(option)


def mentioned(text: str, options: Sequence[str], *, at_start: bool = False) -> tuple[int, ...]:
    """Find options whose text is mentioned and not denied.

    Parameters
    ----------
    text : str
        Prose written by a model.
    options : sequence of str
        Texts of the options, in the order shown.
    at_start : bool
        Whether only the beginning of the text counts.

    Returns
    -------
    tuple of int
        Positions of the options.
    """
    clauses = [_stems(clause) for clause in _CLAUSE.split(text.lower().replace("_", " "))]
    found = []
    for place, option in enumerate(options):
        pattern = _pattern(option)
        for stems in clauses[:1] if at_start else clauses:
            match = (pattern.match if at_start else pattern.search)(" ".join(stems))
            if match and not _denied(match):
                found.append(place)
                break
    return tuple(found)


def _denied(match: re.Match[str]) -> bool:
    # Four words reach back over an auxiliary: "is not shown to be riding".
    return not _NEGATIONS.isdisjoint(match.string[: match.start()].split()[-4:])


@lru_cache(maxsize=4096)
def _option(option: str) -> tuple[str, ...]:
    return _spelled(option.replace(ARTICLE.strip(), " "))


def _spelled(text: str) -> tuple[str, ...]:
    """Words of a text in lower case, without articles."""
    return tuple(
        word for word in _TOKEN.findall(text.lower().replace("_", " ")) if word not in _SKIPPED
    )


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _spelled(text)]


def _stem(word: str) -> str:
    """Cut off the ending of a word: ``riding`` and ``ride`` give ``rid``."""
    if word in _NEGATIONS:
        return word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word.removesuffix(ending)
            break
    # "sitting" gives "sitt", and has to match "sit"; "ll" and "ss" belong to the stem.
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 2 and word.endswith("e"):
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 2 and word.endswith("y") else word


@lru_cache(maxsize=4096)
def _pattern(option: str) -> re.Pattern[str]:
    """Compile the pattern that finds an option in a text of stems."""
    verb, _, object_text = option.partition(ARTICLE)
    parts = [" ".join(map(re.escape, _stems(part))) for part in (verb, object_text) if part.strip()]
    between = rf" (?:\S+ ){{0,{BETWEEN}}}"
    said = between.join(part for part in parts if part)
    return re.compile(rf"(?<!\S){said}(?!\S)" if said else r"(?!)")

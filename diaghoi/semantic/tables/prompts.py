"""The prompts of raters and the parsing of their replies: the 0 to 4 scale of SHOE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diaghoi.language.answers import read_numbered, strip_reasoning

Kind = Literal["verb", "object"]

HIGHEST = 4
VERSION = 1
"""To be increased with the wording, so that saved answers to another wording are not reused."""

_SCALE = (
    "0 = nothing in common, 1 = loosely related, 2 = somewhat similar, 3 = very similar, "
    "4 = interchangeable"
)
_TASK = {
    "verb": "Rate how similar two actions of a person are in meaning, each in the sense that its "
    "definition gives.",
    "object": "Rate how similar two things are in meaning, each in the sense that its definition "
    "gives.",
}
_REPLY = {
    "one": "Reply with the number alone, without any other word.",
    "many": "There are several numbered pairs. Reply with one line a pair: its number, a colon and "
    "the rating, such as 1: 3. Write nothing else.",
}
# "3", "3.0", "3/4" and "3 out of 4", but not "-3" or "34".
_RATING = r"([0-4])(?:\.0+)?(?:\s*(?:/|out of)\s*4)?"
_WORD = r"(?:the|similarity|score|rating|answer|is)"
_ALONE = re.compile(rf"(?:[\W_]*{_WORD}){{0,4}}[\W_]*(?<!-){_RATING}[\W_]*", re.IGNORECASE)
_LINE = re.compile(rf"\W*([0-9]{{1,4}})\s*[:.)]\s*{_RATING}\W*")


@dataclass(frozen=True, kw_only=True)
class Term:
    """A verb or object to rate.

    Parameters
    ----------
    name : str
        Its name in the table.
    gloss : str
        Its definition.
    synset : str
        Its sense in WordNet, empty where none is given.
    """

    name: str
    gloss: str
    synset: str = ""

    @property
    def shown(self) -> str:
        """Name and definition, as raters see them."""
        word = self.name.split(".")[0] if self.name == self.synset else self.name
        return f"{word.replace('_', ' ')}: {self.gloss}"


Pair = tuple[Term, Term]


def messages(kind: Kind, pairs: Sequence[Pair], *, again: bool = False) -> list[dict[str, str]]:
    """Write the messages that ask about some pairs.

    Parameters
    ----------
    kind : {"verb", "object"}
        Kind of the terms.
    pairs : sequence of (Term, Term)
        One or several pairs.
    again : bool
        Whether to say that the last reply could not be read.
    """
    one = len(pairs) == 1
    lines = [f"A = {a.shown}\nB = {b.shown}" for a, b in pairs]
    if not one:
        lines = [f"Pair {number}\n{line}" for number, line in enumerate(lines, 1)]
    if again:
        lines.append("Your last reply could not be read. " + _REPLY["one" if one else "many"])
    system = f"{_TASK[kind]} Scale: {_SCALE}. {_REPLY['one' if one else 'many']}"
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n\n".join(lines)},
    ]


def read_reply(reply: str, pairs: int) -> list[int | None]:
    """Parse the ratings in a reply.

    Parameters
    ----------
    reply : str
        Text of the reply; reasoning in tags is skipped.
    pairs : int
        Number of pairs asked about.

    Returns
    -------
    list of int or None
        A whole number from 0 to 4 for each pair; None where there is none, or two differ.
    """
    if pairs == 1:
        text = strip_reasoning(reply).strip()
        alone = _ALONE.fullmatch(text) or _LINE.fullmatch(text)
        return [int(alone.groups()[-1]) if alone else None]
    ratings = read_numbered(reply, _LINE, pairs)
    return [None if rating is None else int(rating) for rating in ratings]

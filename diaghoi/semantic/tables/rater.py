"""Similarity tables for which language models are the raters.

The procedure of SHOE (paper and supplement): the first rater rates all pairs, and all other raters
rate only the pairs that the first rater did not rate 0. A sample of the pairs rated 0 can show how
many similar pairs the first rater misses.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Literal

import numpy as np

from diaghoi.language.answers import AnswerStore, ask_until_read, read_numbered, strip_reasoning
from diaghoi.language.asking import LETTERS_PER_TOKEN, Client, ask_all
from diaghoi.semantic.tables.ratings import Ratings
from diaghoi.semantic.tables.words import Term

TOKENS_PER_RATING = 4


@dataclass(frozen=True, kw_only=True)
class RatingTask:
    """Pairs to rate, all of verbs or all of objects.

    Parameters
    ----------
    kind : {"verb", "object"}
        Kind of the terms.
    terms : tuple of Term
        Terms, each paired with every other term.
    candidates : tuple of Term
        Further terms, each paired with all of ``terms`` but not with each other.
    """

    kind: Kind
    terms: tuple[Term, ...]
    candidates: tuple[Term, ...] = ()

    def pairs(self, *, identical: bool = False) -> Iterator[Pair]:
        """Yield each pair once, but pairs of equal sense and definition only if ``identical``."""
        everything = self.terms + self.candidates
        for number, one in enumerate(self.terms):
            for other in everything[number + 1 :]:
                if identical or not same(one, other):
                    yield one, other


def same(one: Term, other: Term) -> bool:
    """Check whether two terms have the same sense and definition."""
    return bool(one.synset) and (one.synset, one.gloss) == (other.synset, other.gloss)


def fingerprint(kind: Kind, pair: Pair) -> str:
    """Identify a question by its wording, regardless of term order; 32 hexadecimal digits."""
    identity = json.dumps([VERSION, kind, *sorted(each.shown for each in pair)])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class RatingCost:
    """Maximum cost of asking a rater about the pairs without a saved answer.

    Parameters
    ----------
    rater : str
        The model.
    pairs, requests : int
        Number of pairs to rate and of requests to send.
    tokens_in, tokens_out : int
        Approximate number of tokens, without reasoning.
    """

    rater: str
    pairs: int
    requests: int
    tokens_in: int
    tokens_out: int

    def price(self, per_million: tuple[float, float]) -> float:
        """Return the price, given the prices of a million input and a million output tokens."""
        return (self.tokens_in * per_million[0] + self.tokens_out * per_million[1]) / 1e6


@dataclass(frozen=True, kw_only=True)
class ZeroSample:
    """Sample of the pairs that the first rater rated 0, to be rated by the other raters, too.

    Parameters
    ----------
    number : int
        Maximum number of pairs of each kind.
    seed : int
        Another seed draws other pairs. With the same seed, a larger sample contains all pairs of a
        smaller sample.
    """

    number: int = 0
    seed: int = 0

    def of(self, question: RatingTask, first: Mapping[str, int | None]) -> dict[str, Pair]:
        """Draw a sample, by fingerprint, of the pairs that the first rater rated 0."""
        if not self.number:
            return {}
        keyed = ((fingerprint(question.kind, pair), pair) for pair in question.pairs())
        zeros = {key: pair for key, pair in keyed if first.get(key) == 0}
        return {key: zeros[key] for key in nsmallest(self.number, zeros, key=self._place)}

    def _place(self, key: str) -> str:
        return hashlib.sha256(f"{self.seed} {key}".encode()).hexdigest()


def estimate(
    questions: Sequence[RatingTask],
    raters: Sequence[str],
    store: AnswerStore,
    *,
    batch: int,
    zeros: ZeroSample,
) -> list[RatingCost]:
    """Estimate costs; later raters skip only pairs that the first rater has already rated 0.

    Parameters
    ----------
    questions : sequence of RatingTask
        The pairs to rate.
    raters : sequence of str
        Models; the first model filters the pairs that later models rate.
    store : AnswerStore
        Saved answers.
    batch : int
        Pairs per request.
    zeros : ZeroSample
        Sample of pairs that later raters rate although the first rater rated them 0.
    """
    first, costs = store.answers(raters[0]), []
    checked = {key for question in questions for key in zeros.of(question, first)}
    for rater in raters:
        known, pairs, requests, letters = store.answers(rater), 0, 0, 0
        for question in questions:
            frame = sum(len(part["content"]) for part in messages(question.kind, _EMPTY * batch))
            asked = 0
            for pair in question.pairs():
                key = fingerprint(question.kind, pair)
                filtered = rater != raters[0] and first.get(key) == 0 and key not in checked
                if key in known or filtered:
                    continue
                asked += 1
                letters += sum(len(each.shown) for each in pair)
            pairs += asked
            requests += -(-asked // batch)
            letters += -(-asked // batch) * frame
        costs.append(
            RatingCost(
                rater=rater,
                pairs=pairs,
                requests=requests,
                tokens_in=round(letters / LETTERS_PER_TOKEN),
                tokens_out=TOKENS_PER_RATING * pairs,
            )
        )
    return costs


_EMPTY: list[Pair] = [(Term(name="", gloss=""), Term(name="", gloss=""))]


@dataclass(kw_only=True)
class Raters:
    """Runner that asks several raters and stores their answers.

    Parameters
    ----------
    clients : sequence of Client
        One client per rater; the first rater filters the pairs that later raters rate.
    store : AnswerStore
        Store of the answers.
    batch : int
        Pairs per request.
    workers : int
        Number of parallel requests.
    asks : int
        Maximum number of times to ask about a pair if replies are unreadable.
    zeros : ZeroSample
        Sample of pairs that later raters rate although the first rater rated them 0.
    progress : callable
        Called with a description and the number of pairs when a rater starts, and with None and the
        number of finished pairs during the run.
    """

    clients: Sequence[Client]
    store: AnswerStore
    batch: int = 1
    workers: int = 8
    asks: int = 3
    zeros: ZeroSample = field(default_factory=ZeroSample)
    progress: Callable[[str | None, int], Any] = field(default=lambda task, pairs: None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(client.endpoint.model for client in self.clients)

    def rate(self, question: RatingTask) -> RatingResult:
        """Ask all raters about the pairs that are not in the store.

        Raises
        ------
        InputError
            If a server does not reply or refuses; its earlier answers remain stored.
        """
        pairs = {fingerprint(question.kind, pair): pair for pair in question.pairs()}
        sample: dict[str, Pair] = {}
        asked: list[dict[str, Pair]] = []
        unanswered: list[tuple[str, str, str, str]] = []
        for number, client in enumerate(self.clients):
            rater = client.endpoint.model
            # SHOE's filter: later raters get only pairs that the first rater did not rate 0.
            if number == 1:
                first = self.store.answers(self.names[0])
                pairs = {key: pair for key, pair in pairs.items() if first.get(key) != 0}
                sample = self.zeros.of(question, first)
            asked.append(pairs | sample)
            for keys, why in self._ask(client, question.kind, asked[-1]):
                named = ([term.name for term in asked[-1][key]] for key in keys)
                unanswered += [(rater, one, other, why) for one, other in named]
        answers = [self.store.answers(rater) for rater in self.names]
        unread = [
            (rater, one.name, other.name)
            for rater, known, of in zip(self.names, answers, asked, strict=True)
            for key, (one, other) in of.items()
            if key in known and known[key] is None
        ]
        return RatingResult(
            question=question,
            raters=self.names,
            scores={key: tuple(known.get(key) for known in answers) for key in pairs},
            zeros={key: tuple(known.get(key) for known in answers) for key in sample},
            unread=tuple(unread),
            unanswered=tuple(unanswered),
        )

    def _ask(
        self, client: Client, kind: Kind, pairs: dict[str, Pair]
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Ask one rater; yield the pairs without any reply, with reasons."""
        known = self.store.answers(client.endpoint.model)
        unanswered = [key for key in pairs if key not in known]
        self.progress(f"asking {client.endpoint.model} about {kind}s", len(unanswered))

        def work(keys: tuple[str, ...]) -> None:
            ask_until_read(
                client,
                self.store,
                {key: pairs[key] for key in keys},
                names=lambda pair: (kind, pair[0].name, pair[1].name),
                word=lambda left, again: messages(kind, left, again=again),
                read=read_reply,
                asks=self.asks,
            )

        groups = [
            tuple(unanswered[n : n + self.batch]) for n in range(0, len(unanswered), self.batch)
        ]
        for outcome in ask_all(work, groups, client, workers=self.workers):
            self.progress(None, len(outcome.tag))
            if outcome.failure:
                yield outcome.tag, outcome.failure


@dataclass(frozen=True, kw_only=True)
class RatingResult:
    """Ratings of all raters.

    Parameters
    ----------
    question : RatingTask
        The rated pairs.
    raters : tuple of str
        The R models.
    scores : dict of str to tuple
        R scores from 0 to 4 of each pair that the first rater did not rule out, by fingerprint;
        None for a missing score.
    zeros : dict of str to tuple
        Scores, as in ``scores``, of the sampled pairs that the first rater rated 0; the table omits
        these pairs.
    unread : tuple of (rater, a, b)
        Pairs with unreadable replies.
    unanswered : tuple of (rater, a, b, why)
        Pairs without a reply; the next run asks about them again.
    """

    question: RatingTask
    raters: tuple[str, ...]
    scores: dict[str, tuple[int | None, ...]]
    zeros: dict[str, tuple[int | None, ...]]
    unread: tuple[tuple[str, str, str], ...]
    unanswered: tuple[tuple[str, str, str, str], ...]

    @property
    def zero_check(self) -> list[dict[str, Any]]:
        """Count the sampled pairs that each later rater rates, and the pairs rated above 0."""
        found: list[dict[str, Any]] = []
        for number, rater in enumerate(self.raters[1:] if self.zeros else (), 1):
            rated = [each for scores in self.zeros.values() if (each := scores[number]) is not None]
            above = sum(score > 0 for score in rated)
            share = above / len(rated) if rated else None
            found.append({"rater": rater, "pairs": len(rated), "above": above, "share": share})
        return found

    def ratings(self, name: str) -> Ratings:
        """Create a table that lists each term with itself, and all pairs with a similarity above 0.

        Parameters
        ----------
        name : str
            Name of the table.
        """
        terms = self.question.terms + self.question.candidates
        place = {term: number for number, term in enumerate(terms)}
        rows = {(number, number): (float(HIGHEST),) * len(self.raters) for number in place.values()}
        for pair in self.question.pairs(identical=True):
            if same(*pair):
                scores: tuple[int | None, ...] = (HIGHEST,) * len(self.raters)
            else:
                scores = self.scores.get(fingerprint(self.question.kind, pair), ())
            # None and 0 are both false: pairs that no rater rates above 0 are omitted.
            if any(scores):
                one, other = sorted(place[term] for term in pair)
                rows[one, other] = tuple(math.nan if s is None else float(s) for s in scores)
        first, second = np.array(list(rows), dtype=np.int64).reshape(-1, 2).T
        return Ratings(
            names=tuple(term.name for term in terms),
            first=first,
            second=second,
            scores=np.array(list(rows.values())).reshape(len(rows), len(self.raters)) / HIGHEST,
            raters=self.raters,
            scale=float(HIGHEST),
            stem=name,
            source=name,
        )


Kind = Literal["verb", "object"]

HIGHEST = 4
VERSION = 1
"""Version of the wording of questions; saved answers to another version are not reused.
"""

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


Pair = tuple[Term, Term]


def messages(kind: Kind, pairs: Sequence[Pair], *, again: bool = False) -> list[dict[str, str]]:
    """Write the messages that ask about the given pairs.

    Parameters
    ----------
    kind : {"verb", "object"}
        Kind of the terms.
    pairs : sequence of (Term, Term)
        One or several pairs.
    again : bool
        Whether to state that the last reply could not be read.
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
        Number of pairs in the question.

    Returns
    -------
    list of int or None
        An integer from 0 to 4 for each pair; None for a pair without a rating, or with two
        different ratings.
    """
    if pairs == 1:
        text = strip_reasoning(reply).strip()
        alone = _ALONE.fullmatch(text) or _LINE.fullmatch(text)
        return [int(alone.groups()[-1]) if alone else None]
    ratings = read_numbered(reply, _LINE, pairs)
    return [None if rating is None else int(rating) for rating in ratings]

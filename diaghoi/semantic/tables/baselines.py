"""Similarity without a rater, by the paths of WordNet: baselines, never SHOE.

As WordNet::Similarity and NLTK define them (Pedersen et al. 2004; Wu and Palmer 1994): verbs, which
have many roots in WordNet, are joined by one more above all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.lexicon import Lexicon
from diaghoi.semantic.tables.prompts import Term
from diaghoi.semantic.tables.similarity import Similarity

TITLES = {
    "path": "WordNet path similarity (not SHOE)",
    "wu-palmer": "WordNet Wu-Palmer similarity (not SHOE)",
}
ROOT = -1
"""Stands for the root above all verbs."""


def baseline(terms: Sequence[Term], method: str, lexicon: Lexicon) -> Similarity:
    """Compute the similarity of all terms.

    Parameters
    ----------
    terms : sequence of Term
        Each with a synset, all verbs or all nouns.
    method : {"path", "wu-palmer"}
        ``path`` is 1 / (1 + the shortest path through a common hypernym); ``wu-palmer`` is
        2 d / (d + a + d + b) with the depth d of the deepest common hypernym, counted in synsets
        on the longest way up, and the shortest paths a and b to it.
    lexicon : Lexicon
        The hypernyms.

    Returns
    -------
    Similarity
        Named after the method.

    Raises
    ------
    InputError
        For an unknown method, and a term without a synset.
    """
    if method not in TITLES:
        raise InputError(
            f"baseline '{method}': not known{close_matches(method, TITLES)}; give one of "
            f"{', '.join(TITLES)}"
        )
    lost = next((term.name for term in terms if lexicon.find(term.synset) is None), None)
    if lost is not None:
        raise InputError(
            f"'{lost}' has no synset in {lexicon.source}, so no baseline can be computed; add a "
            "column 'synset', or leave it out"
        )
    synsets = [lexicon.number(term.synset) for term in terms]
    above = [_distances(number, lexicon) for number in synsets]
    return Similarity(
        names=tuple(term.name for term in terms),
        values=_path(above) if method == "path" else _wu_palmer(above, lexicon),
        name=TITLES[method],
        source=f"{lexicon.source}; a baseline, not SHOE",
    )


def _distances(number: int, lexicon: Lexicon) -> dict[int, int]:
    """Shortest path from a synset up to each hypernym, itself included."""
    found, front = {number: 0}, [number]
    verb = lexicon.names[number].split(".")[-2] == "v"
    for steps in range(1, len(lexicon.names)):
        front = [each for below in front for each in lexicon.hypernyms[below]]
        front = [each for each in dict.fromkeys(front) if each not in found]
        if not front:
            break
        found |= dict.fromkeys(front, steps)
    if verb:
        tops = [steps for each, steps in found.items() if not lexicon.hypernyms[each]]
        found[ROOT] = 1 + min(tops, default=0)
    return found


def _members(above: Sequence[dict[int, int]]) -> dict[int, tuple[list[int], list[int]]]:
    """Terms below each hypernym, and how far."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for row, distances in enumerate(above):
        for number, steps in distances.items():
            rows, far = found.setdefault(number, ([], []))
            rows.append(row)
            far.append(steps)
    return found


def _path(above: Sequence[dict[int, int]]) -> FloatArray:
    shortest = np.full((len(above), len(above)), np.inf)
    for rows, far in _members(above).values():
        steps = np.array(far, dtype=np.float64)
        block = np.ix_(rows, rows)
        shortest[block] = np.minimum(shortest[block], steps[:, None] + steps[None, :])
    return _identical(1.0 / (1.0 + shortest), above)


def _wu_palmer(above: Sequence[dict[int, int]], lexicon: Lexicon) -> FloatArray:
    """Go through the hypernyms from the top down: the deepest one that two terms share stays."""
    values = np.zeros((len(above), len(above)))
    members = _members(above)
    least: dict[int, int] = {ROOT: -1}
    longest: dict[int, int] = {ROOT: 0}
    for number in members:
        _depth(number, lexicon, least, min)
        _depth(number, lexicon, longest, max)
    # Of equally deep ones the first by name counts, as in NLTK.
    order = sorted(members, key=lambda n: lexicon.names[n] if n != ROOT else "", reverse=True)
    for number in sorted(order, key=least.__getitem__):
        rows, far = members[number]
        steps = np.array(far, dtype=np.float64)
        depth = longest[number] + 1
        total = 2 * depth + steps[:, None] + steps[None, :]
        values[np.ix_(rows, rows)] = 2 * depth / total
    return _identical(values, above)


def _depth(
    number: int, lexicon: Lexicon, known: dict[int, int], choose: Callable[[list[int]], int]
) -> int:
    """Count the steps up to the top, on the shortest or the longest way."""
    if number not in known:
        known[number] = 0  # ends the way where a WordNet leads in a circle
        higher = [_depth(each, lexicon, known, choose) for each in lexicon.hypernyms[number]]
        known[number] = 1 + choose(higher) if higher else 0
    return known[number]


def _identical(values: FloatArray, above: Sequence[dict[int, int]]) -> FloatArray:
    """Make terms of the same synset identical, to the last bit."""
    synset = np.array([next(iter(each)) for each in above])
    values[synset[:, None] == synset[None, :]] = 1.0
    return values

"""Similarity without raters, based on WordNet paths: baselines, not SHOE.

The baselines are as in WordNet::Similarity and NLTK (Pedersen et al. 2004; Wu and Palmer 1994):
verbs, which have many roots in WordNet, get a common root above these roots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from diaghoi.data.arrays import FloatArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.lexicon import Lexicon
from diaghoi.semantic.tables.similarity import Similarity
from diaghoi.semantic.tables.words import Term

TITLES = {
    "path": "WordNet path similarity (not SHOE)",
    "wu-palmer": "WordNet Wu-Palmer similarity (not SHOE)",
}
ROOT = -1
"""Number of the root above all verbs."""


def baseline(terms: Sequence[Term], method: str, lexicon: Lexicon) -> Similarity:
    """Compute the similarity of all terms.

    Parameters
    ----------
    terms : sequence of Term
        Terms with synsets, all verbs or all nouns.
    method : {"path", "wu-palmer"}
        ``path`` is 1 / (1 + the shortest path through a common hypernym); ``wu-palmer`` is 2 d / (d
        + a + d + b). In the second formula, d is the depth of the deepest common hypernym, counted
        in synsets on the longest path up, and a and b are the shortest paths from the terms to that
        hypernym.
    lexicon : Lexicon
        The hypernyms.

    Returns
    -------
    Similarity
        Table named after the method.

    Raises
    ------
    InputError
        If the method is unknown, or a term has no synset.
    """
    if method not in TITLES:
        raise InputError(
            f"baseline '{method}': not known{close_matches(method, TITLES)}; give one of "
            f"{', '.join(TITLES)}"
        )
    unknown = next((term.name for term in terms if lexicon.find(term.synset) is None), None)
    if unknown is not None:
        raise InputError(
            f"'{unknown}' has no synset in {lexicon.source}, so no baseline can be computed; add "
            "a column 'synset', or leave out the term"
        )
    synsets = [lexicon.number(term.synset) for term in terms]
    above = [distances(number, lexicon) for number in synsets]
    return Similarity(
        names=tuple(term.name for term in terms),
        values=_path(above) if method == "path" else _wu_palmer(above, lexicon),
        name=TITLES[method],
        source=f"{lexicon.source}; a baseline, not SHOE",
    )


def distances(number: int, lexicon: Lexicon) -> dict[int, int]:
    """Return the shortest path from a synset to itself and to each hypernym."""
    found, frontier = {number: 0}, [number]
    verb = lexicon.names[number].split(".")[-2] == "v"
    for steps in range(1, len(lexicon.names)):
        frontier = [each for below in frontier for each in lexicon.hypernyms[below]]
        frontier = [each for each in dict.fromkeys(frontier) if each not in found]
        if not frontier:
            break
        found |= dict.fromkeys(frontier, steps)
    if verb:
        roots = [steps for each, steps in found.items() if not lexicon.hypernyms[each]]
        found[ROOT] = 1 + min(roots, default=0)
    return found


def _members(above: Sequence[dict[int, int]]) -> dict[int, tuple[list[int], list[int]]]:
    """List the terms below each hypernym, with their distances."""
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
    """Compute Wu-Palmer similarity: of the hypernyms that two terms share, the deepest counts."""
    values = np.zeros((len(above), len(above)))
    members = _members(above)
    shortest: dict[int, int] = {ROOT: -1}
    longest: dict[int, int] = {ROOT: 0}
    for number in members:
        _depth(number, lexicon, shortest, min)
        _depth(number, lexicon, longest, max)
    # As in NLTK, hypernyms are ordered by their shortest path to the root, but scored by their
    # longest path; among ties, the hypernym with the first name is visited last and overwrites the
    # others.
    order = sorted(members, key=lambda n: lexicon.names[n] if n != ROOT else "", reverse=True)
    for number in sorted(order, key=shortest.__getitem__):
        rows, far = members[number]
        steps = np.array(far, dtype=np.float64)
        depth = longest[number] + 1
        total = 2 * depth + steps[:, None] + steps[None, :]
        values[np.ix_(rows, rows)] = 2 * depth / total
    return _identical(values, above)


def _depth(
    number: int, lexicon: Lexicon, known: dict[int, int], choose: Callable[[list[int]], int]
) -> int:
    """Count the steps up to the root, on the shortest or the longest path."""
    if number not in known:
        known[number] = 0  # stops the recursion if hypernyms form a cycle
        higher = [_depth(each, lexicon, known, choose) for each in lexicon.hypernyms[number]]
        known[number] = 1 + choose(higher) if higher else 0
    return known[number]


def _identical(values: FloatArray, above: Sequence[dict[int, int]]) -> FloatArray:
    """Set the similarity of terms with the same synset to exactly 1."""
    synset = np.array([next(iter(each)) for each in above])
    values[synset[:, None] == synset[None, :]] = 1.0
    return values

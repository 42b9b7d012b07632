"""Detect predicted verbs that are not numbered or ordered as expected."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, expand, first_of_run, runs
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.matching import match
from diaghoi.exceptions import some_of

# Minimum number of found pairs that a statement requires.
ENOUGH = 20
# Verbs count as numbered differently if the best verb is annotated for less than the share SENSIBLE
# of the found pairs. Verbs also count as numbered differently if a shift by one multiplies the
# share of found pairs by more than SHIFTED, to more than AGREEING (or more than MOST if verbs seem
# to be in another order).
SENSIBLE, SHIFTED, AGREEING, MOST = 0.04, 2, 0.3, 0.5
# A verb counts as misnamed if it has at least PAIRS pairs, and at least the share CALLED of its
# pairs has the name of one other verb. Verbs are in another order if at least VERBS verbs are
# misnamed, each with a different name.
CALLED, PAIRS, VERBS = 0.8, 5, 3


def verb_doubts(annotations: Scenes, predictions: Scenes) -> list[tuple[str, bool]]:
    """Detect files in which the best verb of found pairs is hardly ever annotated.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.

    Returns
    -------
    list of (str, bool)
        At most one sentence, and whether the problem makes numbers meaningless.
    """
    if predictions.triplet_score is None or not len(predictions.triplet_pair):
        return []
    hits = match(annotations, predictions, annotations.vocabulary.protocol).hits
    order = np.lexsort((-predictions.scores, predictions.triplet_pair))
    pair = predictions.triplet_pair[order]
    first = first_of_run(pair)
    best = np.full(len(predictions.pair_human), -1, dtype=np.int64)
    best[pair[first]] = predictions.triplet_verb[order][first]
    score = np.full(len(best), -np.inf)
    score[pair[first]] = predictions.scores[order][first]
    predicted, annotated = hits.predicted, hits.annotated
    real = (best[predicted] >= 0) & (predictions.pair_object[predicted] >= 0)
    predicted, annotated = predicted[real], annotated[real]
    found = np.unique(predicted)
    if len(found) < ENOUGH:
        return []
    vocabulary = annotations.vocabulary
    verbs = len(vocabulary.verbs)
    wanted = annotations.triplet_pair.astype(np.int64) * verbs + annotations.triplet_verb

    def share(verb: IntArray) -> float:
        inside = (verb >= 0) & (verb < verbs)
        right = inside & np.isin(annotated * np.int64(verbs) + verb, wanted)
        return len(np.unique(predicted[right])) / len(found)

    verb, label = best[predicted], predictions.pair_label[predicted]
    own = share(verb)
    shifted = {("verbs", shift): share(verb + shift) for shift in (1, -1)}
    if not vocabulary.any_object:
        shifted |= {
            ("classes", shift): share(_next_class(verb, label, shift, vocabulary))
            for shift in (1, -1)
        }
    called, looked_at = _other_names(*_surest(predicted, annotated, score), best, annotations)
    what, shift = max(shifted, key=lambda each: shifted[each])
    # If a few verbs are permuted, many pairs may fit a shift by one verb just by chance.
    sure = MOST if len(called) >= VERBS else AGREEING
    if shifted[what, shift] > max(SHIFTED * own, sure):
        named = "HOI classes" if what == "classes" else what
        text = (
            f"the best verb is annotated in {100 * own:.1f} % of the pairs that were found, but "
            f"would be annotated in {100 * shifted[what, shift]:.1f} % if the numbers of {named} "
            f"were one {'higher' if shift > 0 else 'lower'}: they seem to be one too "
            f"{_repair_of(what, shift)}"
        )
        return [(text, True)]
    if len(called) >= VERBS:
        names = vocabulary.verbs
        text = (
            f"{len(called)} of {looked_at} verbs have the name of another verb: "
            + some_of([f"'{names[mine]}' is '{names[theirs]}'" for mine, theirs in called])
            + ": the file may list the verbs in another order"
        )
        return [(text, 2 * len(called) >= looked_at)]
    if own < SENSIBLE:
        text = (
            f"in only {100 * own:.1f} % of {len(found)} pairs that were found, the best verb "
            "is annotated: the verbs may be numbered differently"
        )
        return [(text, False)]
    return []


def _surest(
    predicted: IntArray, annotated: IntArray, score: FloatArray
) -> tuple[IntArray, IntArray]:
    """Keep only the most confident predicted pair for each annotated pair that is found.

    All predictions that find one annotated pair often have the same wrong verb, so they count as
    evidence from a single pair.
    """
    order = np.lexsort((-score[predicted], annotated))
    kept = order[first_of_run(annotated[order])]
    return predicted[kept], annotated[kept]


def _other_names(
    predicted: IntArray, annotated: IntArray, best: IntArray, truth: Scenes
) -> tuple[list[tuple[int, int]], int]:
    """Find verbs that are nearly always misnamed, and count the verbs examined.

    Parameters
    ----------
    predicted, annotated : (N,) int array
        Predicted pairs and the annotated pairs that they find.
    best : (P,) int array
        Best verb of each predicted pair.
    truth : Scenes
        The annotations.
    """
    verbs = len(truth.vocabulary.verbs)
    order = np.argsort(truth.triplet_pair, kind="stable")
    owner, place = expand(*runs(truth.triplet_pair[order], annotated))
    found = np.unique(predicted[owner] * np.int64(verbs) + truth.triplet_verb[order[place]])
    pair, verb = np.divmod(found, verbs)
    # If a pair has several annotated verbs, the intended verb is unknown.
    only = np.bincount(pair, minlength=len(best))[pair] == 1
    table = np.zeros((verbs, verbs), dtype=np.int64)
    np.add.at(table, (verb[only], best[pair[only]]), 1)
    pairs, name = table.sum(axis=1), table.argmax(axis=1)
    enough = pairs >= PAIRS
    another = (table.max(axis=1) >= CALLED * pairs) & (name != np.arange(verbs))
    called = np.flatnonzero(enough & another)
    # Verbs that get the same other name are ignored: a detector that always predicts one verb has
    # another problem.
    alone = np.bincount(name[called], minlength=verbs)[name[called]] == 1
    return [(int(mine), int(name[mine])) for mine in called[alone]], int(enough.sum())


def _repair_of(what: str, shift: int) -> str:
    """Advise how to correct numbers that are one too low (positive shift) or one too high."""
    if shift > 0:
        return (
            f"low: add 1 to each number, or give --read {what}=0 if the numbers were read as "
            "starting from 1"
        )
    return (
        f"high: give --read {what}=1, or subtract 1 from each number if the numbers were "
        "already read as starting from 1"
    )


def _next_class(verb: IntArray, label: IntArray, shift: int, vocabulary: Vocabulary) -> IntArray:
    """Return the verb of the preceding or following HOI class with the same object, or else -1."""
    hoi = vocabulary.class_of[label, verb]
    other = np.clip(hoi + shift, 0, len(vocabulary) - 1)
    same = (hoi >= 0) & (vocabulary.class_object[other] == label)
    return np.where(same, vocabulary.class_verb[other], -1)

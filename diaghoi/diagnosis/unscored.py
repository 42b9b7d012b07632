"""Bound the mAP of detectors without scores, such as language models."""

from __future__ import annotations

from dataclasses import replace

from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.groups import split_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.benchmark import settings
from diaghoi.evaluation.average_precision import Evaluated, class_scores
from diaghoi.evaluation.ledger import Benchmark, Ledger
from diaghoi.evaluation.listing import best_ranking, worst_ranking
from diaghoi.evaluation.means import Split, split_means


def as_one_rank(protocol: Protocol, predictions: SceneSource) -> Protocol:
    """Let all predictions of a class share one rank if predictions have no scores.

    Choices that depend on the rank are replaced: all predictions count, and each prediction claims
    the annotation that it overlaps most.
    """
    if predictions.ranked:
        return protocol
    return replace(protocol, ranking="as one", claim="best", top=None, top_of_class=None)


def bounds(
    vocabulary: Vocabulary,
    protocol: Protocol,
    ledger: Ledger,
    benchmark: Benchmark,
    known_objects: BoolArray,
) -> dict[str, dict[str, Split]]:
    """Compute the highest and lowest mAP over all possible scores of a detector's list.

    The parameters are those of the :class:`~diaghoi.diagnosis.diagnosis.Diagnosis` of a detector
    without scores.

    Returns
    -------
    dict
        ``protocol``, and the settings of the benchmark in which all images count: ``default``, or
        V-COCO's settings. Each setting has ``best`` and ``worst`` with the splits.
    """
    splits = split_classes(protocol, vocabulary)
    found = {"protocol": _both(ledger.evaluated, ledger.annotation_claims, protocol, splits)}
    for setting in settings(vocabulary, benchmark, protocol.groups, known_objects):
        if setting.name != "known_object":
            claims = benchmark.annotation_claims[:, benchmark.protocols.index(setting.protocol)]
            evaluated = setting.of(benchmark)
            found[setting.name] = _both(evaluated, claims, setting.protocol, setting.splits)
    return found


def _both(
    evaluated: Evaluated, claims: IntArray, protocol: Protocol, splits: dict[str, BoolArray]
) -> dict[str, Split]:
    protocol = replace(protocol, ranking="by score")
    classes = len(next(iter(splits.values())))
    rankings = {"best": best_ranking(evaluated), "worst": worst_ranking(evaluated, claims)}
    return {
        name: split_means(class_scores(ranked, classes, protocol), protocol, splits)[0]
        for name, ranked in rankings.items()
    }

"""The figures of each data set's own benchmark, which stand in every report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from diaghoi.examine import Evidence, examine
from diaghoi.ledger import ClassScores, Ledger
from diaghoi.means import split_means
from diaghoi.protocol import HICO_DET, V_COCO_1, V_COCO_2, Protocol
from diaghoi.scenes import Scenes
from diaghoi.vocabulary import Vocabulary

if TYPE_CHECKING:
    from diaghoi.diagnosis import Diagnosis

BENCHMARKS: dict[str, tuple[Protocol, ...]] = {
    "hico-det": (HICO_DET,),
    "v-coco": (V_COCO_1, V_COCO_2),
}
# Dense arrays are cut to this many triplets an image for the benchmark, whatever else is asked for.
CUSTOMARY_TOP = 100
# V-COCO is customarily reported without this role too: it has hardly any annotations.
UNCOMMON_ROLE = "point instr"


def official_ledgers(
    annotations: Scenes, predictions: Scenes, protocol: Protocol, evidence: Evidence
) -> dict[str, Ledger]:
    """Ledger of all HOI classes under each protocol of the benchmark.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    protocol : Protocol
        The protocol of ``evidence``, whose matching is used again where it is the same.
    evidence : Evidence
        What examining the images under ``protocol`` gave.
    """
    ledgers = {}
    for benchmark in BENCHMARKS[annotations.vocabulary.name]:
        if (predictions.top or 0) > CUSTOMARY_TOP:
            cut = replace(benchmark, top=CUSTOMARY_TOP)
            ledgers[benchmark.name] = examine(annotations, predictions, cut).ledger
        elif protocol.matches_like(benchmark):
            ledgers[benchmark.name] = evidence.everything
        else:
            ledgers[benchmark.name] = examine(annotations, predictions, benchmark).everything
    return ledgers


def official_figures(diagnosis: Diagnosis) -> dict[str, Any]:
    """Give the figures of the benchmark as plain values.

    Returns
    -------
    dict
        HICO-DET: ``default`` and ``known_object``, each with ``full``, ``rare``, ``non_rare``, the
        latter also with its ``source``. V-COCO: ``agent``, ``scenario_1`` and ``scenario_2``, each
        with ``ap`` and ``classes``, the scenarios also with ``ap_without_point``.
    """
    if diagnosis.vocabulary.agents is not None:
        return _v_coco(diagnosis, diagnosis.vocabulary.agents)
    return _hico_det(diagnosis)


def _hico_det(diagnosis: Diagnosis) -> dict[str, Any]:
    (ledger,) = diagnosis.official_ledgers.values()
    objects = diagnosis.vocabulary.class_object
    known = ledger.rows(diagnosis.known_objects[ledger.row_image, objects[ledger.row_class]])
    # Annotations only count as positives here, so uncounted ones need not be removed.
    known = replace(
        known,
        annotation_counts=diagnosis.known_objects[
            ledger.annotation_image, objects[ledger.annotation_class]
        ],
    )
    splits = HICO_DET.splits(diagnosis.vocabulary)
    default, known_object = (
        split_means(each.scores(HICO_DET.levels), HICO_DET, splits)[0] for each in (ledger, known)
    )
    return {
        "default": dict(default),
        "known_object": known_object | {"source": diagnosis.known_object_source},
    }


def _v_coco(diagnosis: Diagnosis, agents: npt.NDArray[np.bool_]) -> dict[str, Any]:
    vocabulary = diagnosis.vocabulary
    first, second = (
        ledger.scores(V_COCO_1.levels) for ledger in diagnosis.official_ledgers.values()
    )
    agent = _mean_and_classes(first, agents, vocabulary)
    agent["classes"] = {
        name.removesuffix(" agent"): score for name, score in agent["classes"].items()
    }
    figures: dict[str, Any] = {"agent": agent}
    common = ~agents & (np.array(vocabulary.verbs) != UNCOMMON_ROLE)
    for name, scores in (("scenario_1", first), ("scenario_2", second)):
        every = _mean_and_classes(scores, ~agents, vocabulary)
        without = _mean_and_classes(scores, common, vocabulary)["ap"]
        figures[name] = {
            "ap": every["ap"],
            "ap_without_point": without,
            "classes": every["classes"],
        }
    return figures


def _mean_and_classes(
    scores: ClassScores, members: npt.NDArray[np.bool_], vocabulary: Vocabulary
) -> dict[str, Any]:
    mean_ap, _ = split_means(scores, V_COCO_1, {"full": members})
    classes = {
        vocabulary.verbs[vocabulary.class_verb[hoi]]: None
        if np.isnan(scores.average_precision[hoi])
        else float(scores.average_precision[hoi])
        for hoi in np.flatnonzero(members).tolist()
    }
    return {"ap": mean_ap["full"], "classes": classes}

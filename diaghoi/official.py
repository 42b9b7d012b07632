"""The figures of each data set's own benchmark, which stand in every report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from diaghoi.ledger import ClassScores
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


def benchmarks(predictions: Scenes) -> list[Protocol]:
    """List the protocols of the benchmark of a data set."""
    protocols = BENCHMARKS[predictions.vocabulary.name]
    top = None if predictions.top is None else CUSTOMARY_TOP
    return [replace(each, top=top) if each.pairing == "triplet" else each for each in protocols]


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
    benchmark = diagnosis.benchmark
    (protocol,) = benchmark.protocols
    objects = diagnosis.vocabulary.class_object
    known = diagnosis.known_objects
    splits = replace(protocol, groups=diagnosis.protocol.groups).splits(diagnosis.vocabulary)
    default, known_object = (
        split_means(scores, protocol, splits)[0]
        for scores in (
            benchmark.scores(protocol),
            benchmark.scores(
                protocol,
                rows=known[benchmark.row_image, objects[benchmark.row_class]],
                annotations=known[benchmark.annotation_image, objects[benchmark.annotation_class]],
            ),
        )
    )
    return {
        "default": dict(default),
        "known_object": known_object | {"source": diagnosis.known_object_source},
    }


def _v_coco(diagnosis: Diagnosis, agents: npt.NDArray[np.bool_]) -> dict[str, Any]:
    vocabulary = diagnosis.vocabulary
    first, second = map(diagnosis.benchmark.scores, diagnosis.benchmark.protocols)
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

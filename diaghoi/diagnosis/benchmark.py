"""Compute the numbers of the benchmark of a data set, which every report contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.groups import split_classes
from diaghoi.data.protocol import HICO_DET, Group, Protocol
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.average_precision import ClassScores, Evaluated
from diaghoi.evaluation.ledger import Benchmark
from diaghoi.evaluation.means import split_means

# The benchmark always cuts dense arrays to this many triplets per image.
CUSTOMARY_TOP = 100
# AP on V-COCO is also reported without the role `point instr`, which has hardly any annotations.
UNCOMMON_ROLE = "point instr"


def benchmarks(predictions: SceneSource) -> list[Protocol]:
    """List the protocols of the data set's benchmark."""
    return as_customary(predictions.vocabulary.benchmarks, predictions)


def as_customary(protocols: Sequence[Protocol], predictions: SceneSource) -> list[Protocol]:
    """Set the customary number of triplets per image in the given protocols."""
    top = None if predictions.top is None else CUSTOMARY_TOP
    return [replace(each, top=top) if each.pairing == "triplet" else each for each in protocols]


class KnownObjects(NamedTuple):
    """Which images count for the classes of each object in the setting Known Object.

    Parameters
    ----------
    images : (N, objects) bool array
        Whether each image is labelled with each object category.
    source : str
        Source of the labels: "image labels" or "box annotations".
    """

    images: BoolArray
    source: str


def official_figures(
    vocabulary: Vocabulary, benchmark: Benchmark, groups: tuple[Group, ...], known: KnownObjects
) -> dict[str, Any]:
    """Return the numbers of the benchmark as plain values.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    benchmark : Benchmark
        All predictions and annotated triplets.
    groups : tuple of Group
        Groups of classes to report in addition to the benchmark's groups.
    known : KnownObjects
        The objects of each image, for the setting Known Object.

    Returns
    -------
    dict
        HICO-DET: ``default`` and ``known_object``, each with ``full``, ``rare``, ``non_rare``;
        ``known_object`` also has its ``source``. SWIG-HOI: only ``default``, also with
        ``zero_shot``. Empty for data sets without a benchmark of their own. V-COCO: ``agent``,
        ``scenario_1`` and ``scenario_2``, each with ``ap`` and ``classes``, the scenarios also with
        ``ap_without_point``.
    """
    figures: dict[str, Any] = {}
    for setting in settings(vocabulary, benchmark, groups, known.images):
        scores = setting.scores(benchmark)
        means: dict[str, Any] = dict(split_means(scores, setting.protocol, setting.splits)[0])
        if setting.name == "known_object":
            means["source"] = known.source
        if vocabulary.agents is not None:
            means["classes"] = _by_class(scores, setting.splits["ap"], vocabulary)
        figures[setting.name] = means
    return figures


def official_classes(
    vocabulary: Vocabulary, benchmark: Benchmark, groups: tuple[Group, ...]
) -> dict[str, int]:
    """Count the annotated classes, over which the official Default mAP is averaged.

    Parameters
    ----------
    vocabulary, benchmark, groups
        As for :func:`official_figures`.

    Returns
    -------
    dict
        Number of classes of each split; empty if the data set has no official Default mAP.
    """
    if vocabulary.agents is not None or not vocabulary.benchmarks:
        return {}
    annotated = np.unique(benchmark.annotation_class)
    splits = default_setting(vocabulary, benchmark.protocols[0], groups).splits
    return {name: int(members[annotated].sum()) for name, members in splits.items()}


def headlines(official: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the official numbers that papers print first.

    Parameters
    ----------
    official : mapping
        As from :func:`official_figures`.

    Returns
    -------
    list of dict
        ``metric``, ``setting`` and ``value``, which is a fraction: the mAP over all classes of
        HICO-DET or SWIG-HOI, or the role AP over all roles in each scenario of V-COCO. The list is
        empty for data sets without a benchmark.
    """
    if "default" in official:
        value = official["default"]["full"]
        return [{"metric": "mAP", "setting": "Default, Full", "value": value}]
    return [
        {
            "metric": "role AP",
            "setting": f"{key.replace('_', ' ')}, {len(official[key]['classes'])} roles",
            "value": official[key]["ap"],
        }
        for key in ("scenario_1", "scenario_2")
        if key in official
    ]


class BenchmarkSetting(NamedTuple):
    """One setting of a benchmark.

    Parameters
    ----------
    name : str
        Key of the setting in the results.
    of : callable
        Function that selects the counted predictions and annotations.
    protocol : Protocol
        Protocol that defines average precision.
    splits : dict of (C,) bool array
        The classes of each mean.
    """

    name: str
    of: Callable[[Benchmark], Evaluated]
    protocol: Protocol
    splits: dict[str, BoolArray]

    def scores(self, benchmark: Benchmark) -> ClassScores:
        """Average precision of each class."""
        return benchmark.scored(self.of, self.protocol)


def settings(
    vocabulary: Vocabulary, benchmark: Benchmark, groups: tuple[Group, ...], known: BoolArray
) -> Iterator[BenchmarkSetting]:
    """List the settings of the data set's benchmark."""
    agents = vocabulary.agents
    if agents is not None:
        common = ~agents & (np.array(vocabulary.verbs) != UNCOMMON_ROLE)
        roles = {"ap": ~agents, "ap_without_point": common}
        first, second = benchmark.protocols
        yield BenchmarkSetting("agent", partial(_all, first), first, {"ap": agents})
        yield BenchmarkSetting("scenario_1", partial(_all, first), first, roles)
        yield BenchmarkSetting("scenario_2", partial(_all, second), second, roles)
        return
    for protocol in benchmark.protocols[: len(vocabulary.benchmarks)]:
        default = default_setting(vocabulary, protocol, groups)
        yield default
        if protocol.name == HICO_DET.name:
            shown = partial(_known, protocol, known, vocabulary.class_object)
            yield default._replace(name="known_object", of=shown)


def default_setting(
    vocabulary: Vocabulary, protocol: Protocol, groups: tuple[Group, ...]
) -> BenchmarkSetting:
    """Create the setting in which all predictions and annotations count."""
    splits = split_classes(replace(protocol, groups=groups), vocabulary)
    return BenchmarkSetting("default", partial(_all, protocol), protocol, splits)


def _all(protocol: Protocol, benchmark: Benchmark) -> Evaluated:
    return benchmark.evaluated(protocol)


def _known(
    protocol: Protocol, known: BoolArray, object_of_class: IntArray, benchmark: Benchmark
) -> Evaluated:
    """Keep only the images that show the object of each class (Known Object)."""
    return benchmark.evaluated(
        protocol,
        rows=known[benchmark.row_image, object_of_class[benchmark.row_class]],
        annotations=known[benchmark.annotation_image, object_of_class[benchmark.annotation_class]],
    )


def _by_class(scores: ClassScores, members: BoolArray, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the average precision of each class by name; agents are named after their action."""
    ap = scores.average_precision
    return {
        vocabulary.verbs[vocabulary.class_verb[hoi]].removesuffix(" agent"): None
        if np.isnan(ap[hoi])
        else float(ap[hoi])
        for hoi in np.flatnonzero(members).tolist()
    }

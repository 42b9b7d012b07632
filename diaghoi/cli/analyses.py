"""What ``--also`` adds to a diagnosis, and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import floor
from pathlib import Path
from typing import Any, cast, get_args

from diaghoi.cli import options
from diaghoi.cli.options import Key, keyed, number, option, options_class
from diaghoi.cli.progress import Progress
from diaghoi.cli.reading import InputFiles, Inputs
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.slices import RESAMPLES, Slices, slices
from diaghoi.data.attributes import Own, read_tags
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis import rosetta
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.variants import (
    Variant,
    check_overlap,
    check_threshold,
    thresholds_pairs,
    variant_figures,
    variants_of,
)
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats import read_annotations
from diaghoi.formats.hico_det.image_labels import ImageLabels
from diaghoi.statistics.bootstrap import Method, bootstrap, check_settings
from diaghoi.statistics.significance import Difference, corrected, level_of

ATTRIBUTES = "attributes"
# Stands for a number of images or resamples that is large enough for any interval.
MANY = 1000
LEAST_RESAMPLES = 100
CONFUSIONS = 5  # the most costly ones of verbs, and of objects


def _sliced_by(value: str) -> str:
    if value != ATTRIBUTES and not value.lower().endswith(".csv"):
        raise ValueError(f"give '{ATTRIBUTES}' or a .csv file with a tag per image")
    return value


def _flag(help: str) -> Key:
    return Key(help, alone=True, metavar="")


OF_MODELS = {
    "pair-nms": Key("the run with non-maximum suppression of pairs", number, metavar="IOU"),
    "detection-threshold": Key("the run without boxes of lower scores", number, metavar="SCORE"),
    "shortcuts": Key(
        "mAP that the object's category alone gives on the detector's pairs; verbs are counted in "
        "TRAIN [the annotations, without the image]",
        Path,
        alone=True,
        metavar="TRAIN",
    ),
    "slices": Key(
        "numbers in parts of the annotations: by number, size, overlap and so on of people and "
        "objects, or by the tags of images in a CSV file",
        _sliced_by,
        alone=ATTRIBUTES,
        metavar="FILE.csv",
    ),
}
"""Analyses that compare models, too."""
ALSO = {
    "attribution": _flag("the loss of mAP divided among the errors (Shapley values)"),
    "causes": _flag("false positives by patterns that incomplete annotations show"),
    "calibration": _flag("how well scores are calibrated"),
    "operating-points": _flag("precision, recall, F1 and errors over the score threshold"),
    "score-threshold": Key(
        "precision, recall and F1 of predictions from a score on", number, metavar="SCORE"
    ),
    "rosetta": _flag("the mAP that evaluators of other code bases print (HICO-DET)"),
    **OF_MODELS,
}
"""Keys of ``--also`` of a report."""
EXPLAIN = {
    "explain": _flag(
        "the difference to the first model, split into what true and false positives changed, and "
        "the annotated triplets that only one finds"
    ),
    **OF_MODELS,
}
"""Keys of ``--also`` of a comparison."""
NEED_BOXES = (
    *("pair-nms", "detection-threshold", "causes", "operating-points", "shortcuts", "slices"),
)
NEED_RANKS = (
    *("pair-nms", "score-threshold", "calibration", "rosetta", "operating-points", "shortcuts"),
)


class Analyses:
    """The analyses that ``--also`` asks for.

    Parameters
    ----------
    given : sequence of str or None
        The values of the option.
    keys : mapping
        The analyses that there are.

    Raises
    ------
    InputError
        For an unknown one, and values that one cannot have.
    """

    def __init__(self, given: Sequence[str] | None, keys: Mapping[str, Key]) -> None:
        self.values = keyed("--also", given or (), keys)
        for name in ("score-threshold", "shortcuts"):
            if len(self.values.get(name, ())) > 1:
                raise InputError(f"--also {name}: is given twice; give one value")
        for iou in self.values.get("pair-nms", ()):
            check_overlap("--also pair-nms", iou)
        for name in ("detection-threshold", "score-threshold"):
            for score in self.values.get(name, ()):
                check_threshold(f"--also {name}", score)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __bool__(self) -> bool:
        return bool(self.values)

    @property
    def files(self) -> list[Path]:
        """The files that analyses read beside those of the detector."""
        return [*self._training, *self._tag_files]

    @property
    def _training(self) -> list[Path]:
        return [path for path in self.values.get("shortcuts", ()) if isinstance(path, Path)]

    @property
    def _tag_files(self) -> list[Path]:
        return [Path(name) for name in self.values.get("slices", ()) if name != ATTRIBUTES]

    @property
    def of_boxes(self) -> list[str]:
        """The analyses among them that need the boxes of all images, as typed."""
        return [f"--also {name}" for name in NEED_BOXES if name in self]

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """Runs once more with fewer pairs, by name."""
        return variants_of(
            nms=self.values.get("pair-nms", ()),
            thresholds=self.values.get("detection-threshold", ()),
        )

    @cached_property
    def tags(self) -> dict[str, Own]:
        """The tags of images in all files.

        Raises
        ------
        InputError
            For a file that is no table of tags, and columns of one name in two files.
        """
        tags: dict[str, Own] = {}
        for file in self._tag_files:
            for attribute, tag in read_tags(file).items():
                if attribute in tags:
                    raise InputError(f"{file}: '{attribute}' is also a column of another file")
                tags[attribute] = tag
        return tags

    def check_ranked(self, predictions: SceneSource, top: int | None = None) -> None:
        """Refuse what asks for the best predictions of a detector that does not rank them.

        Raises
        ------
        InputError
            With the option.
        """
        if predictions.ranked or not predictions.scored:
            return
        asked = [f"--also {name}" for name in NEED_RANKS if name in self]
        if top is not None:
            asked.insert(0, f"--protocol top={top}")
        if asked:
            raise InputError(
                f"{asked[0]}: the detector gives no scores, so that none of its predictions is "
                "better than another; leave it out"
            )

    def training(self, vocabulary: Vocabulary, bar: Progress) -> Scenes | None:
        """Read what priors of verbs are counted from; None for the annotations of the diagnosis."""
        if not self._training:
            return None
        bar.start("reading the annotations of the prior")
        return read_annotations(self._training[0], dataset=vocabulary)

    def add_to_model(
        self,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        scenes: tuple[SceneSource, SceneSource],
        training: Scenes | None,
        bar: Progress,
        image_labels: ImageLabels | None = None,
    ) -> None:
        """Add variants of a run and shortcuts to its result.

        Parameters
        ----------
        result : dict
            Of the diagnosis.
        diagnosis : Diagnosis
            Of the run.
        scenes : tuple of sources of scenes
            Its annotations and predictions.
        training : Scenes or None
            As from :meth:`training`.
        bar : Progress
            Shows what is done.
        image_labels : ImageLabels, optional
            For Known Object.
        """
        notes = list(result["notes"])
        if self.variants:
            annotations, predictions = (source.load() for source in scenes)
            thresholds = variants_of(thresholds=self.values.get("detection-threshold", ()))
            outcomes: dict[str, Any] = {}
            for name, variant in self.variants.items():
                bar.start(name)
                varied = diagnose(
                    annotations, variant(predictions), diagnosis.protocol, image_labels=image_labels
                )
                outcomes[name] = variant_figures(diagnosis, varied)
                if name in thresholds:
                    outcomes[name]["of_pair_scores"] = thresholds_pairs(predictions)
                notes += outcomes[name]["notes"]
            result["variants"] = outcomes
        if "shortcuts" in self:
            bar.start("predicting verbs by the object")
            priors = diagnosis.shortcuts(training)
            result["shortcuts"] = priors.to_dict()
            notes += priors.notes
        result["notes"] = notes

    def slices(
        self,
        diagnoses: Sequence[Diagnosis],
        annotations: SceneSource,
        sure: IntervalOptions | SignificanceOptions,
        bar: Progress,
    ) -> Slices | None:
        """Slice detectors, where that is asked for."""
        if "slices" not in self:
            return None
        bar.start("slices")
        resamples = sure.bootstrap if isinstance(sure, IntervalOptions) else None
        return slices(
            *diagnoses,
            annotations=annotations.load(),
            own=self.tags,
            attributes=ATTRIBUTES in self.values["slices"],
            resamples=RESAMPLES if resamples is None else resamples,
            seed=sure.seed,
            confidence=sure.confidence,
            deltas=resamples is not None,
            source=", ".join(map(str, self._tag_files)),
        )


def _check_resamples(resamples: int | None) -> int | None:
    """Refuse so few resamples that the ends of intervals are chance."""
    if resamples is not None and resamples < LEAST_RESAMPLES:
        raise InputError(
            f"--bootstrap {resamples}: too few for intervals; give at least {LEAST_RESAMPLES} "
            "resamples, usually 1000"
        )
    return resamples


@options_class
class IntervalOptions:
    """How sure the numbers of a detector are."""

    bootstrap: int | None = option(
        None,
        panel=options.SURE,
        callback=_check_resamples,
        max=options.MOST_RESAMPLES,
        metavar="N",
        help="Compute confidence intervals from N resamples of the images.",
    )
    confidence: options.Confidence = 0.95
    interval: str = option(
        "centred",
        panel=options.SURE,
        rare=True,
        help="Type of the intervals: centred, percentile or bca.",
    )
    seed: options.Seed = 0

    def check(self) -> None:
        """Refuse invalid settings before anything is read.

        Raises
        ------
        InputError
            With the option.
        """
        methods = get_args(Method)
        if self.interval not in methods:
            raise InputError(
                f"--interval {self.interval}: not known{close_matches(self.interval, methods)}; "
                f"give one of {', '.join(methods)}"
            )
        # The number of images is only known after reading.
        check_settings(MANY, MANY if self.bootstrap is None else self.bootstrap, self.confidence)

    def add(self, result: dict[str, Any], diagnosis: Diagnosis, bar: Progress) -> None:
        """Add intervals to a result, where they are asked for."""
        if self.bootstrap is None:
            return
        bar.start_slow("computing intervals", self.bootstrap)
        result |= bootstrap(
            diagnosis,
            self.bootstrap,
            seed=self.seed,
            confidence=self.confidence,
            method=cast(Method, self.interval),
            progress=bar.advance,
        ).to_dict()


@options_class
class SignificanceOptions:
    """Whether models are tested against the first, and how."""

    significance: bool = option(
        False, panel=options.SURE, help="Test each model against the first."
    )
    resamples: options.Resamples = 1000
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments of functions that test."""
        return {name: value for name, value in vars(self).items() if name != "significance"}

    def check(self, models: int) -> None:
        """Refuse tests of fewer than two models or resamples.

        Raises
        ------
        InputError
            With the option.
        """
        if not self.significance:
            return
        if models < 2:
            raise InputError(
                "--significance: compares models, but only one is given; give two or more"
            )
        if self.resamples < 2:
            raise InputError(
                f"--resamples {self.resamples}: give at least two resamples, usually 1000"
            )


def with_tests(
    comparison: Comparison,
    tested: Iterator[list[Difference]],
    tests: SignificanceOptions,
    bar: Progress,
) -> Comparison:
    """Test each model against the first, correct for all comparisons, and add the differences.

    Parameters
    ----------
    comparison : Comparison
        The models side by side.
    tested : iterator of list of Difference
        Tests each model but the first as it is asked for, as
        :func:`diaghoi.statistics.significance.compare_each` does.
    tests : SignificanceOptions
        Settings of the tests.
    bar : Progress
        Shows which model is tested.
    """
    found: list[Difference] = []
    for model in comparison.models[1:]:
        # The resamples of the images, and as many exchanges of the models.
        bar.start_slow(f"testing {model.label}", tests.resamples, twice=True)
        found += next(tested)
    differences = corrected(found, tests.confidence)
    level = level_of(tests.confidence)
    comparison = comparison.with_differences(differences, level)
    # The smallest p-value is 1 / (1 + resamples).
    needed = floor(len(differences) / level + 1e-6)
    if tests.resamples < needed:
        few = (
            f"{tests.resamples:,} exchanges are too few to tell models apart: corrected for "
            f"{len(differences)} comparisons, no p-value can be below {level:g}, however large the "
            f"difference; give --resamples {needed} or more"
        )
        comparison = replace(comparison, notes=(few, *comparison.notes))
    return comparison


@options_class
class AnalysisOptions:
    """Analyses beyond the diagnosis of a detector."""

    also: list[str] | None = options.also(ALSO)
    sure: IntervalOptions

    @property
    def analyses(self) -> Analyses:
        """What is asked for."""
        return Analyses(self.also, ALSO)

    def check(self, reading: InputFiles) -> None:
        """Refuse invalid settings before anything is read.

        Raises
        ------
        InputError
            With the option, its value and the valid values.
        """
        self.sure.check()
        _ = self.analyses.tags
        if reading.dataset is not None:
            self.families(reading.vocabulary)

    def families(self, vocabulary: Vocabulary) -> tuple[Protocol, ...]:
        """List the protocols whose mAP is wanted beside those of the diagnosis.

        Raises
        ------
        InputError
            For a data set that the code bases with evaluators of their own do not evaluate.
        """
        if "rosetta" not in self.analyses:
            return ()
        if vocabulary.name != "hico-det":
            raise InputError(
                "--also rosetta: compares the evaluators that code bases have for HICO-DET; these "
                f"are data of {vocabulary.name}, so leave it out"
            )
        return tuple(rosetta.FAMILIES.values())

    def add(
        self,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        read: Inputs,
        image_labels: ImageLabels | None,
        bar: Progress,
    ) -> Slices | None:
        """Run the analyses, and add their outcomes to the keys of the JSON result.

        Returns
        -------
        Slices or None
            The slices, whose images a page shows.
        """
        analyses = self.analyses
        training = analyses.training(diagnosis.vocabulary, bar)
        sources = read.annotations, read.predictions
        analyses.add_to_model(result, diagnosis, sources, training, bar, image_labels)
        if "score-threshold" in analyses:
            (threshold,) = analyses.values["score-threshold"]
            detections = result["detections"] = diagnosis.detections(threshold)
            if (best := diagnosis.best_threshold) is not None:
                detections["best"] = {"threshold": best} | diagnosis.detections(best)["full"]
        if "operating-points" in analyses:
            bar.start("operating points")
            result["operating_points"] = diagnosis.operating_points().to_dict()
        if "rosetta" in analyses:
            bar.start("other evaluators")
            result["rosetta"] = rosetta.figures(diagnosis)
        if "attribution" in analyses:
            bar.start("attributing")
            from diaghoi.statistics.attribution import attributions

            parts: dict[str, Any] = {
                split: None if part is None else part.to_dict()
                for split, part in attributions(diagnosis, diagnosis.splits).items()
            }
            result["attribution"] = (parts.pop("full") or {}) | parts
        if "causes" in analyses:
            bar.start("looking for causes")
            result |= _causes(diagnosis, read)
        if "calibration" in analyses:
            from diaghoi.statistics.calibration import measure_calibration

            bar.start("calibration")
            scores = measure_calibration(diagnosis)
            result["calibration"] = scores.to_dict()
            result["notes"] += [scores.note] if scores.note else []
        sliced = analyses.slices([diagnosis], read.annotations, self.sure, bar)
        if sliced is not None:
            result["slices"] = sliced.to_dict()
            result["notes"] += sliced.notes
        self.sure.add(result, diagnosis, bar)
        return sliced


def _causes(diagnosis: Diagnosis, read: Inputs) -> dict[str, Any]:
    from diaghoi.cases.causes import annotation_causes
    from diaghoi.cases.own_pairs import paired_with_itself
    from diaghoi.cases.twins import missed_twins
    from diaghoi.semantic.confusions import word_confusions

    vocabulary = diagnosis.vocabulary
    words = {"verbs": ("action", vocabulary.verbs)}
    if diagnosis.protocol.categories_count:
        words["objects"] = ("object_box", vocabulary.objects)
    confusions = {
        kind: [
            {
                "predicted": names[confusion.predicted],
                "annotated": names[confusion.annotated],
                "count": confusion.count,
                "not_found": confusion.not_found,
                "delta_map": confusion.delta_map,
            }
            for confusion in word_confusions(diagnosis, *read.scenes, cast(Any, error))[:CONFUSIONS]
        ]
        for kind, (error, names) in words.items()
    }
    return {
        "annotation_causes": annotation_causes(diagnosis, *read.scenes).to_dict(),
        "missed_twins": missed_twins(diagnosis, *read.scenes),
        "paired_with_itself": paired_with_itself(diagnosis, *read.scenes),
        "confusions": confusions,
    }

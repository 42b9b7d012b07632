"""Run the analyses of ``--also``, and compute intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import floor
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from diaghoi.cases.similarities import Similarities
from diaghoi.cli import options
from diaghoi.cli.options import Key, checked, flag, fraction, keyed, number, option, options_class
from diaghoi.cli.progress import Progress
from diaghoi.cli.reading import Inputs
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.slices import RESAMPLES, Slices, slices
from diaghoi.comparison.study import MADE, sources_named
from diaghoi.data.attributes import Own, read_tags
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis import rosetta
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.variants import (
    Variant,
    thresholds_pairs,
    variant_figures,
    variants_of,
)
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations
from diaghoi.formats.hico_mat import ImageLabels
from diaghoi.statistics.bootstrap import Method, bootstrap
from diaghoi.statistics.significance import Difference, corrected, level_of

ATTRIBUTES = "attributes"
LEAST_RESAMPLES = 100
CONFUSIONS = 5  # how many confusions of verbs, and how many of objects, a result lists


def _sliced_by(value: str) -> str:
    if value != ATTRIBUTES and not value.lower().endswith(".csv"):
        raise ValueError(f"give '{ATTRIBUTES}' or a .csv file with a tag per image")
    return value


OF_MODELS = {
    "pair-nms": Key(
        "the run with non-maximum suppression of pairs", fraction, metavar="IOU", several=True
    ),
    "detection-threshold": Key(
        "the run without boxes that score below a threshold", number, metavar="SCORE", several=True
    ),
    "shortcuts": Key(
        "mAP of guessing verbs from the object category of the detector's pairs; verbs are "
        "counted in TRAIN [the annotations of the other images]",
        Path,
        alone=True,
        metavar="TRAIN",
    ),
    "slices": Key(
        "numbers for parts of the annotations: by count, size or overlap of people and objects, "
        "or by image tags in a CSV file",
        _sliced_by,
        alone=ATTRIBUTES,
        metavar="FILE.csv",
        several=True,
    ),
}
"""Analyses that both ``report`` and ``compare`` accept."""
ALSO = {
    "attribution": flag("the loss of mAP divided among the errors (Shapley values)"),
    "causes": flag("false positives in patterns that are typical of incomplete annotations"),
    "calibration": flag("calibration of the scores"),
    "operating-points": flag("precision, recall, F1 and errors over the score threshold"),
    "score-threshold": Key(
        "precision, recall and F1 of predictions with at least a given score",
        number,
        metavar="SCORE",
    ),
    "semantic": Key(
        "share of the loss from errors near in meaning, according to two similarity tables or "
        "WordNet [ratings of this package]",
        partial(sources_named, "tables"),
        alone=(MADE[0], MADE[0]),
        metavar="FILE,FILE|wordnet",
    ),
    "rosetta": flag("the mAP that evaluators of other code bases print (HICO-DET)"),
    **OF_MODELS,
}
"""Keys that ``--also`` accepts in ``report``."""
EXPLAIN = {
    "explain": flag(
        "the difference from the first model, split into true and false positives, and the "
        "annotated triplets that only one model finds"
    ),
    **OF_MODELS,
}
"""Keys that ``--also`` accepts in ``compare``."""
NEED_BOXES = {*OF_MODELS, "causes", "operating-points", "semantic"}
NEED_RANKS = (
    *("pair-nms", "score-threshold", "calibration", "rosetta", "operating-points", "shortcuts"),
    "semantic",
)


@options_class
class ModelAnalyses:
    """Analyses that ``--also`` adds to each model of a comparison."""

    also: list[str] | None = options.also(EXPLAIN)

    keys: ClassVar[dict[str, Key]] = EXPLAIN

    @cached_property
    def values(self) -> dict[str, Any]:
        """The requested analyses by name, with their values."""
        return keyed("--also", self.also or (), self.keys)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    @property
    def files(self) -> list[Path]:
        """Files that analyses read in addition to the detector's files."""
        tables = (each for each in self.values.get("semantic", ()) if isinstance(each, Path))
        return [*filter(None, [self._training]), *self._tag_files, *tables]

    @property
    def _training(self) -> Path | None:
        given = self.values.get("shortcuts")
        return given if isinstance(given, Path) else None

    @property
    def _tag_files(self) -> list[Path]:
        return [Path(name) for name in self.values.get("slices", ()) if name != ATTRIBUTES]

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """Requested runs with fewer pairs, by name."""
        return variants_of(
            nms=self.values.get("pair-nms", ()),
            thresholds=self.values.get("detection-threshold", ()),
        )

    @cached_property
    def tags(self) -> dict[str, Own]:
        """Image tags from all tag files.

        Raises
        ------
        InputError
            If a file is not a table of tags, or two files have a column with the same name.
        """
        tags: dict[str, Own] = {}
        for file in self._tag_files:
            for attribute, tag in read_tags(file).items():
                if attribute in tags:
                    raise InputError(f"{file}: '{attribute}' is also a column of another file")
                tags[attribute] = tag
        return tags

    def check_ranked(self, predictions: SceneSource, top: int | None = None) -> None:
        """Reject analyses of the best predictions if the detector does not rank its predictions.

        Raises
        ------
        InputError
            If an option needs ranked predictions; the message names the option.
        """
        if predictions.ranked or not predictions.scored:
            return
        asked = [] if top is None else [f"--protocol top={top}"]
        asked += [f"--also {name}" for name in NEED_RANKS if name in self]
        for words in asked:
            raise InputError(
                f"{words}: the detector gives no scores, so none of its predictions ranks above "
                "another; leave the option out"
            )

    def training(self, vocabulary: Vocabulary, bar: Progress) -> Scenes | None:
        """Read the annotations for the verb priors; None means the evaluated annotations."""
        if self._training is None:
            return None
        bar.start("reading the annotations of the prior")
        return read_annotations(self._training, dataset=vocabulary)

    def add_to_model(
        self,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        scenes: tuple[SceneSource, SceneSource],
        training: Scenes | None,
        bar: Progress,
        image_labels: ImageLabels | None = None,
    ) -> None:
        """Add the variants of a run, and the comparison with verb priors, to the result of the run.

        Parameters
        ----------
        result : dict
            Result of the diagnosis.
        diagnosis : Diagnosis
            Diagnosis of the run.
        scenes : tuple of sources of scenes
            Annotations and predictions of the detector.
        training : Scenes or None
            As from :meth:`training`.
        bar : Progress
            Display of the progress.
        image_labels : ImageLabels, optional
            Image labels for Known Object.
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
            bar.start("predicting verbs from objects")
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
        """Evaluate the detectors in slices if requested."""
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


def _enough(resamples: int) -> int:
    if resamples < LEAST_RESAMPLES:
        raise ValueError(
            f"too few for intervals; give at least {LEAST_RESAMPLES} resamples, usually 1000"
        )
    return resamples


@options_class
class IntervalOptions:
    """Options for confidence intervals of a detector's numbers."""

    bootstrap: int | None = option(
        None,
        panel=options.SURE,
        callback=checked(_enough),
        max=options.MOST_RESAMPLES,
        metavar="N",
        help="Compute confidence intervals from N resamples of the images.",
    )
    confidence: options.Confidence = 0.95
    interval: str = option(
        "centred",
        panel=options.SURE,
        rare=True,
        among=get_args(Method),
        help="Type of the intervals: centred, percentile or bca.",
    )
    seed: options.Seed = 0

    def add(self, result: dict[str, Any], diagnosis: Diagnosis, bar: Progress) -> None:
        """Add intervals to a result if requested."""
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
    """Options for testing each model against the first model."""

    significance: bool = option(
        False, panel=options.SURE, help="Test each model against the first."
    )
    resamples: options.Resamples = 1000
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for the functions that run the tests."""
        return {name: value for name, value in vars(self).items() if name != "significance"}

    def check(self, models: int) -> None:
        """Refuse tests of a single model."""
        if self.significance and models < 2:
            raise InputError(
                "--significance: compares models, and only one is given; give two or more"
            )


def with_tests(
    comparison: Comparison,
    tested: Iterator[list[Difference]],
    tests: SignificanceOptions,
    bar: Progress,
) -> Comparison:
    """Add the tests of each model against the first, corrected for their number, to a comparison.

    Parameters
    ----------
    comparison : Comparison
        The compared models.
    tested : iterator of list of Difference
        Differences of each model except the first, each computed only when it is needed, as from
        :func:`diaghoi.statistics.significance.compare_each`.
    tests : SignificanceOptions
        Settings of the tests.
    bar : Progress
        Display that shows the model being tested.
    """
    found: list[Difference] = []
    for model in comparison.models[1:]:
        # The tests draw as many exchanges of the models as resamples of the images.
        bar.start_slow(f"testing {model.label}", tests.resamples, twice=True)
        found += next(tested)
    differences = corrected(found, tests.confidence)
    level = level_of(tests.confidence)
    comparison = comparison.with_differences(differences, level)
    # The smallest p-value is 1 / (1 + resamples).
    needed = floor(len(differences) / level + 1e-6)
    if tests.resamples < needed:
        few = (
            f"{tests.resamples:,} exchanges are too few to distinguish models: after correction "
            f"for {len(differences)} comparisons, no p-value can be below {level:g}, however "
            "large the "
            f"difference; give --resamples {needed} or more"
        )
        comparison = replace(comparison, notes=(few, *comparison.notes))
    return comparison


@options_class
class Analyses(ModelAnalyses):
    """Options for analyses beyond the diagnosis of a detector."""

    also: list[str] | None = options.also(ALSO)
    sure: IntervalOptions

    keys: ClassVar[dict[str, Key]] = ALSO

    @property
    def of_boxes(self) -> list[str]:
        """The requested analyses that need the boxes of all images, as the user typed them."""
        return [f"--also {name}" for name in self.values if name in NEED_BOXES]

    def families(self, vocabulary: Vocabulary) -> tuple[Protocol, ...]:
        """List the additional protocols whose mAP is requested.

        Raises
        ------
        InputError
            If no code base has its own evaluator for the data set.
        """
        if "rosetta" not in self:
            return ()
        if vocabulary.name != "hico-det":
            raise InputError(
                "--also rosetta: compares evaluators of HICO-DET, but the data belong to "
                f"{vocabulary.name}; leave the option out"
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
        """Run the analyses, and add their results as keys of the JSON.

        Returns
        -------
        Slices or None
            Slices to show on a page.
        """
        training = self.training(diagnosis.vocabulary, bar)
        sources = read.annotations, read.predictions
        self.add_to_model(result, diagnosis, sources, training, bar, image_labels)
        if "score-threshold" in self:
            threshold = self.values["score-threshold"]
            detections = result["detections"] = diagnosis.detections(threshold)
            if (best := diagnosis.best_threshold) is not None:
                detections["best"] = {"threshold": best} | diagnosis.detections(best)["full"]
        if "operating-points" in self:
            bar.start("operating points")
            result["operating_points"] = diagnosis.operating_points().to_dict()
        if "rosetta" in self:
            bar.start("other evaluators")
            result["rosetta"] = rosetta.figures(diagnosis)
        if "attribution" in self:
            bar.start("attributing")
            from diaghoi.statistics.attribution import attributions

            parts: dict[str, Any] = {
                split: None if part is None else part.to_dict()
                for split, part in attributions(diagnosis, diagnosis.splits).items()
            }
            result["attribution"] = (parts.pop("full") or {}) | parts
        if "causes" in self:
            bar.start("looking for causes")
            result |= _causes(diagnosis, read)
        if "calibration" in self:
            from diaghoi.statistics.calibration import measure_calibration

            bar.start("calibration")
            scores = measure_calibration(diagnosis)
            result["calibration"] = scores.to_dict()
            result["notes"] += [scores.note] if scores.note else []
        sliced = self.slices([diagnosis], read.annotations, self.sure, bar)
        if sliced is not None:
            result["slices"] = sliced.to_dict()
            result["notes"] += sliced.notes
        self.sure.add(result, diagnosis, bar)
        return sliced

    def meaning(
        self, result: dict[str, Any], diagnosis: Diagnosis, read: Inputs, bar: Progress
    ) -> Similarities | None:
        """Add the similarity of errors to the result if requested; return similarities."""
        if "semantic" not in self:
            return None
        from diaghoi.semantic import evaluate
        from diaghoi.semantic.diagnosis import semantic_diagnosis
        from diaghoi.semantic.tables.senses import read_tables

        bar.start("comparing the meaning of errors", total=len(diagnosis.names))
        more: Any = {"protocol": diagnosis.protocol, "label": diagnosis.label}
        more |= {"progress": bar.advance, **read_tables(self.values["semantic"])}
        evaluated = evaluate(*read.scenes, **more)
        found = semantic_diagnosis(evaluated)
        result["semantic"] = evaluated.to_dict() | {"diagnosis": found.to_dict()}
        result["notes"] = [*dict.fromkeys([*result["notes"], *evaluated.notes])]
        return found.similarities()


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
            vars(each) | {key: names[getattr(each, key)] for key in ("predicted", "annotated")}
            for each in word_confusions(diagnosis, *read.scenes, cast(Any, error))[:CONFUSIONS]
        ]
        for kind, (error, names) in words.items()
    }
    return {
        "annotation_causes": annotation_causes(diagnosis, *read.scenes).to_dict(),
        "missed_twins": missed_twins(diagnosis, *read.scenes),
        "paired_with_itself": paired_with_itself(diagnosis, *read.scenes),
        "confusions": confusions,
    }

"""Optional analyses that ``diaghoi report`` adds to a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

from diaghoi.cli.priors import PriorOptions
from diaghoi.cli.progress import Progress
from diaghoi.cli.reading import InputFiles, Inputs
from diaghoi.cli.slices import SliceOptions
from diaghoi.cli.variants import VariantOptions, check_ranked
from diaghoi.comparison.slices import Slices
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis import rosetta
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.variants import check_threshold
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.hico_det.image_labels import ImageLabels
from diaghoi.statistics.bootstrap import Method, bootstrap, check_settings

# Placeholder for a number of images or resamples that is large enough for any interval.
MANY = 1000
CONFUSIONS = 5  # the most costly ones of verbs, and of objects


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Analyses beyond the diagnosis.

    Parameters
    ----------
    variants : VariantOptions
        Variants of the run.
    resamples : int or None
        Resamples of the bootstrap; None for no intervals.
    confidence, interval, seed
        Of the bootstrap.
    score_threshold : float or None
        Score from which on predictions count in precision, recall and F1.
    attribution, causes, calibration, rosetta, operating_points : bool
        Whether each is asked for.
    priors : PriorOptions
        Whether and how the detector is held against priors.
    slices : SliceOptions or None
        What to slice by.
    """

    variants: VariantOptions
    resamples: int | None
    confidence: float
    interval: str
    seed: int
    score_threshold: float | None
    attribution: bool
    causes: bool
    calibration: bool
    rosetta: bool
    operating_points: bool
    priors: PriorOptions
    slices: SliceOptions | None = None

    @property
    def of_boxes(self) -> dict[str, bool]:
        """By option, whether an analysis that needs the boxes of all images is asked for."""
        return {
            "--pair-nms": bool(self.variants.pair_nms),
            "--detection-threshold": bool(self.variants.thresholds),
            "--causes": self.causes,
            "--operating-points": self.operating_points,
            "--shortcuts": self.priors.asked,
            "--slices": self.slices is not None,
        }

    def check(self, reading: InputFiles) -> None:
        """Refuse invalid settings before anything is read.

        Parameters
        ----------
        reading : InputFiles
            What is read.

        Raises
        ------
        InputError
            With the option, its value and the valid values.
        """
        methods = get_args(Method)
        if self.interval not in methods:
            raise InputError(
                f"--interval {self.interval}: not known{close_matches(self.interval, methods)}; "
                f"give one of {', '.join(methods)}"
            )
        # The number of images is only known after reading.
        check_settings(MANY, MANY if self.resamples is None else self.resamples, self.confidence)
        if reading.dataset is not None:
            self.families(reading.vocabulary)
        self.variants.check()
        self.priors.check()
        if self.score_threshold is not None:
            check_threshold("--score-threshold", self.score_threshold)
        if self.slices is not None:
            self.slices.check()

    def check_ranked(self, predictions: SceneSource, top: int | None) -> None:
        """Refuse what asks for the best predictions of a detector that does not rank them.

        Raises
        ------
        InputError
            With the option.
        """
        asked = {
            "--top": top is not None,
            "--pair-nms": bool(self.variants.pair_nms),
            "--score-threshold": self.score_threshold is not None,
            "--calibration": self.calibration,
            "--rosetta": self.rosetta,
            "--operating-points": self.operating_points,
            "--shortcuts": self.priors.asked,
        }
        check_ranked(predictions, asked)

    def families(self, vocabulary: Vocabulary) -> tuple[Protocol, ...]:
        """List the protocols whose mAP is wanted beside those of the diagnosis.

        Raises
        ------
        InputError
            For a data set that the code bases with evaluators of their own do not evaluate.
        """
        if not self.rosetta:
            return ()
        if vocabulary.name != "hico-det":
            raise InputError(
                "--rosetta: compares the evaluators that code bases have for HICO-DET; these are "
                f"data of {vocabulary.name}, so leave it out"
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
        if self.variants.asked:
            self.variants.add(result, diagnosis, read.scenes, bar, image_labels)
        if self.score_threshold is not None:
            result["detections"] = self._detections(diagnosis, self.score_threshold)
        if self.operating_points:
            bar.start("operating points")
            result["operating_points"] = diagnosis.operating_points().to_dict()
        if self.priors.asked:
            given = self.priors.read(diagnosis.vocabulary, bar)
            self.priors.add(result, diagnosis, given, bar)
        if self.rosetta:
            bar.start("other evaluators")
            result["rosetta"] = rosetta.figures(diagnosis)
        if self.attribution:
            from diaghoi.statistics.attribution import attributions

            bar.start("attributing")
            found = attributions(diagnosis, diagnosis.splits)
            figures = {
                split: None if each is None else each.to_dict() for split, each in found.items()
            }
            result["attribution"] = (figures.pop("full") or {}) | figures
        if self.causes:
            from diaghoi.cases.causes import annotation_causes
            from diaghoi.cases.own_pairs import paired_with_itself
            from diaghoi.cases.twins import missed_twins

            bar.start("looking for causes")
            result["annotation_causes"] = annotation_causes(diagnosis, *read.scenes).to_dict()
            result["missed_twins"] = missed_twins(diagnosis, *read.scenes)
            result["paired_with_itself"] = paired_with_itself(diagnosis, *read.scenes)
            result["confusions"] = _confusions(diagnosis, read)
        if self.calibration:
            from diaghoi.statistics.calibration import measure_calibration

            bar.start("calibration")
            scores = measure_calibration(diagnosis)
            result["calibration"] = scores.to_dict()
            result["notes"] += [scores.note] if scores.note else []
        sliced = None
        if self.slices is not None:
            sliced = self.slices.of([diagnosis], read.annotations.load(), bar)
            result["slices"] = sliced.to_dict()
            result["notes"] += sliced.notes
        if self.resamples is not None:
            bar.start_slow("computing intervals", self.resamples)
            result |= bootstrap(
                diagnosis,
                self.resamples,
                seed=self.seed,
                confidence=self.confidence,
                method=cast(Method, self.interval),
                progress=bar.advance,
            ).to_dict()
        return sliced

    def _detections(self, diagnosis: Diagnosis, threshold: float) -> dict[str, Any]:
        found, best = diagnosis.detections(threshold), diagnosis.best_threshold
        if best is not None:
            found["best"] = {"threshold": best} | diagnosis.detections(best)["full"]
        return found


def _confusions(diagnosis: Diagnosis, read: Inputs) -> dict[str, list[dict[str, Any]]]:
    """Name wrong verbs where others are annotated, and objects where categories count."""
    from diaghoi.semantic.confusions import Error, word_confusions

    vocabulary = diagnosis.vocabulary
    asked: list[tuple[str, Error, tuple[str, ...]]] = [("verbs", "action", vocabulary.verbs)]
    if diagnosis.protocol.categories_count:
        asked.append(("objects", "object_box", vocabulary.objects))
    return {
        kind: [
            {
                "predicted": names[each.predicted],
                "annotated": names[each.annotated],
                "count": each.count,
                "not_found": each.not_found,
                "delta_map": each.delta_map,
            }
            for each in word_confusions(diagnosis, *read.scenes, error)[:CONFUSIONS]
        ]
        for kind, error, names in asked
    }

"""Numbers of a slice of a diagnosis, as functions of image weights.

An annotated triplet belongs to a slice individually, or because its image belongs to the slice. A
prediction belongs to the slices of the annotated triplet that it finds or is assigned to. An
unassigned prediction belongs to the slices of its image: slices that contain the image, or any
annotated triplet in it. A false positive in an image with triplets in several slices therefore
counts in each of these slices. A false positive in an image without triplets counts in no slice of
triplets. If classes define a slice, all predictions of these classes belong to it, so rare classes
have the same numbers as in a report.

Oracles repair predictions individually, so a slice of images or pairs can be taken before or after
the repair; a slice of classes must be taken after the repair. In this module, a ledger is repaired
once and then sliced many times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, expand, less, marked, ratio, ratios
from diaghoi.data.attributes import Slice
from diaghoi.data.groups import counted_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import Evaluated, class_scores
from diaghoi.evaluation.ledger import Ledger, counts_only_found, up_to_last_true
from diaghoi.evaluation.means import split_means
from diaghoi.evaluation.weighted_ap import ImageCounts
from diaghoi.exceptions import InputError
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.statistics.weighted_figures import Figures, MeanPrecisions, carriers_of, prepared

MAP, RECALL, F1 = "map", "pair_recall", "f1"
DELTAS = {f"delta_map.{name}": name for name in ERRORS}
FIGURES = (MAP, *DELTAS, RECALL, F1)
"""The numbers of a slice, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """A slice of a diagnosis.

    Parameters
    ----------
    annotations : (A,) bool array
        Mask of the annotated triplets of the ledger.
    images : (N,) bool array
        Mask of the images in the slice, or of the images that contain its annotated triplets;
        unassigned predictions in these images also belong to the slice.
    classes : (C,) bool array or None
        Mask of the classes whose predictions belong to the slice in all images; None if membership
        depends on the images.
    """

    annotations: BoolArray
    images: BoolArray
    classes: BoolArray | None = None

    def rows(self, hoi: IntArray, image: IntArray, annotation: IntArray) -> IntArray:
        """Select predictions by class, image and annotated triplet, -1 for none."""
        if self.classes is not None:
            return np.flatnonzero(self.classes[hoi])
        inside = np.append(self.annotations, True)
        # Most slices are a small fraction of the images.
        rows = np.flatnonzero(self.images[image])
        return np.asarray(rows[inside[annotation[rows]]])


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceFigures:
    """A slice, prepared for weightings of N images.

    Parameters
    ----------
    means : MeanPrecisions
        Rankings of the predictions and annotated triplets.
    counts : dict of ImageCounts
        Counts per image for the requested numbers. For pair recall: annotated pairs, and annotated
        pairs that a listed pair localises. For F1: true positives and predictions above a score
        threshold, and annotated triplets.
    """

    means: MeanPrecisions
    counts: dict[str, ImageCounts]

    def figures(self, weights: IntArray) -> Figures:
        """Compute the numbers by name under each of B weightings; NaN if undefined.

        Parameters
        ----------
        weights : (N, B) int32 array
            Weight of each image.
        """
        means = self.means.figures(weights)
        paths = {MAP: "map.full"}
        paths |= {key: f"oracles.{name}.delta_map.full" for key, name in DELTAS.items()}
        found = {key: means[path] for key, path in paths.items() if path in means}
        if RECALL in self.counts:
            annotated, localised = self.counts[RECALL].under(weights)
            found[RECALL] = ratios(localised, annotated)
        if F1 in self.counts:
            true, predicted, asked = self.counts[F1].under(weights)
            found[F1] = ratios(2 * true, predicted + asked)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """The ranked rows of a ledger, repaired or not, and the annotated triplets of the ledger.

    Parameters
    ----------
    evaluated : Evaluated
        All rows and annotated triplets, with images numbered as in the annotations.
    row_annotation : (R,) int array
        Annotated triplet of each row, -1 for none.
    annotation_counts : (A,) bool array
        Mask of the annotated triplets that count.
    """

    evaluated: Evaluated
    row_annotation: IntArray
    annotation_counts: BoolArray

    def up_to_last_true(self) -> Ranking:
        """Return a copy without the rows past the last true positive of their class."""
        rows = up_to_last_true(self.evaluated.row_class, self.evaluated.row_true)
        return replace(
            self,
            evaluated=self.evaluated.reordered(rows),
            row_annotation=self.row_annotation[rows],
        )

    def cut(self, members: Members) -> Evaluated:
        """Return the rows and annotated triplets that belong to a slice."""
        rows = members.rows(self.evaluated.row_class, self.evaluated.row_image, self.row_annotation)
        asked = self.annotation_counts & members.annotations
        return Evaluated(
            self.evaluated.row_class[rows],
            self.evaluated.row_true[rows],
            self.evaluated.row_image[rows],
            self.evaluated.annotation_class[asked],
            self.evaluated.annotation_image[asked],
        )


def image_names(annotations: Scenes, diagnoses: Sequence[Diagnosis]) -> list[str]:
    """List all images, annotated images first; only annotated images if images have no names."""
    if not annotations.named:
        return [str(name) for name in annotations.names]
    names = [annotations.names.tolist(), *(each.names.tolist() for each in diagnoses)]
    return list(dict.fromkeys(chain(*names)))


class Sliced:
    """A diagnosis that can be sliced by its annotations.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    annotations : Scenes
        Annotations of the diagnosis.
    names : sequence of str
        All images (see :func:`image_names`), whose weights determine the numbers.

    Raises
    ------
    InputError
        If the annotations do not belong to the diagnosis.
    """

    def __init__(self, diagnosis: Diagnosis, annotations: Scenes, names: Sequence[str]) -> None:
        self.diagnosis = diagnosis
        self.annotations = annotations
        self.images = len(names)
        number = {name: place for place, name in enumerate(names)}
        named = [number.get(name, 0) for name in diagnosis.names.tolist()]
        # If the annotations name no images, images are matched by position.
        self._image = np.array(named) if annotations.named else np.arange(len(diagnosis.names))
        self._image = self._image.astype(np.int32)
        self.annotation_image = self._image[diagnosis.ledger.annotation_image]
        self.triplet = self._triplets()

    def _triplets(self) -> IntArray:
        """Find the number, in the annotations, of each annotated triplet of the ledger: (A,)."""
        given, ledger = self.annotations, self.diagnosis.ledger
        # Images without annotations come last and have no triplets.
        bounds = np.pad(given.bounds["triplet"], (0, self.images - len(given)), mode="edge")
        _, triplet = expand(bounds[self._image], np.diff(bounds)[self._image])
        counted = counted_classes(self.diagnosis.protocol, given.vocabulary)
        triplet = triplet[np.append(counted, False)[given.triplet_class[triplet]]]
        if not np.array_equal(given.triplet_class[triplet], ledger.annotation_class):
            raise InputError(
                f"{self.diagnosis.label or 'a detector'}: was diagnosed with other annotations "
                "than the slices; diagnose it on the same file"
            )
        return np.asarray(triplet)

    def members(self, some: Slice) -> Members:
        """Find the part of the ledger that belongs to a slice."""
        images = np.zeros(self.images, dtype=bool)
        if some.by == "image":
            images[: len(some.members)] = some.members
            return Members(annotations=images[self.annotation_image], images=images)
        annotations = some.triplets(self.annotations)[self.triplet]
        return Members(
            annotations=annotations,
            images=marked(self.annotation_image[annotations], self.images),
            classes=some.members if some.by == "class" else None,
        )

    def figures(self, members: Members, wanted: Sequence[str] = FIGURES) -> dict[str, float | None]:
        """Return the mAP of a slice and other requested numbers; None if undefined."""
        diagnosis, full = self.diagnosis, {"full": self.diagnosis.splits["full"]}
        means = {}
        for name in _rankings(wanted):
            ranked = self._ranking(name).cut(members)
            scores = class_scores(ranked, diagnosis.ledger.classes, self._protocol)
            means[name] = split_means(scores, self._protocol, full)[0]["full"]
        found = {MAP: means[""]}
        found |= {
            key: less(means[name], means[""]) for key, name in DELTAS.items() if key in wanted
        }
        if RECALL in wanted:
            annotated, localised = map(len, self._pairs(members))
            found[RECALL] = ratio(localised, annotated)
        if F1 in wanted:
            true, predicted, asked = map(len, self._detections(members))
            found[F1] = ratio(2 * true, predicted + asked)
        return found

    def prepared(self, members: Members, wanted: Sequence[str] = FIGURES) -> SliceFigures:
        """Prepare the mAP of a slice, and other requested numbers, for weightings of the images."""
        ranked = ((name, self._ranking(name).cut(members)) for name in _rankings(wanted))
        means = MeanPrecisions(
            rankings=prepared(ranked, self.diagnosis.ledger.classes, self.images),
            protocol=self._protocol,
            splits={"full": self.diagnosis.splits["full"]},
        )
        counted = {RECALL: self._pairs, F1: self._detections}
        counts = {key: self._per_image(of(members)) for key, of in counted.items() if key in wanted}
        return SliceFigures(means=means, counts=counts)

    def carriers(self, members: Members, wanted: Sequence[str] = FIGURES) -> dict[str, int]:
        """Count the carriers of each cost in a slice: see :func:`carriers_of`."""
        ledger, found = self.diagnosis.ledger, {}
        for key, name in DELTAS.items():
            if key in wanted:
                rows, triplets = self._repaired[name][1]
                mine = members.rows(
                    ledger.row_class[rows],
                    self._image[ledger.row_image[rows]],
                    ledger.row_annotation[rows],
                )
                found[key] = len(mine) + int(members.annotations[triplets].sum())
        return found

    def support(self, members: Members) -> dict[str, int]:
        """Count the images, annotated triplets and classes of a slice."""
        hoi = self.diagnosis.ledger.annotation_class[members.annotations]
        return {
            "images": int(members.images.sum()),
            "annotated": len(hoi),
            "classes": len(np.unique(hoi)),
        }

    @cached_property
    def threshold(self) -> float | None:
        """The score threshold with the best F1 over all images; None without scores."""
        return None if self.diagnosis.answers is not None else self.diagnosis.best_threshold

    @property
    def _protocol(self) -> Protocol:
        # The mean AP of a slice covers only classes that are annotated in the slice.
        return replace(self.diagnosis.protocol, class_without_annotation="left out")

    @cached_property
    def unrepaired(self) -> Ranking:
        """The ranking before any repair."""
        return self._ranked(self.diagnosis.ledger)

    @cached_property
    def _repaired(self) -> dict[str, tuple[Ranking, tuple[IntArray, IntArray]]]:
        """The ranking after each oracle, and the carriers of the error's cost."""
        ledger, found = self.diagnosis.ledger, {}
        for name in ERRORS:
            repaired = ORACLES[name](ledger, self.diagnosis.protocol)
            found[name] = self._ranked(repaired), carriers_of(ledger, repaired)
        return found

    def _ranking(self, name: str) -> Ranking:
        return self._repaired[name][0] if name else self.unrepaired

    def _ranked(self, ledger: Ledger) -> Ranking:
        """Rank a ledger, repaired or not, with images numbered as in the annotations."""
        evaluated, annotation = ledger.evaluated, ledger.row_annotation
        if self.diagnosis.protocol.ranking != "by score":
            order = np.lexsort((evaluated.row_true, evaluated.row_class))
            evaluated, annotation = evaluated.reordered(order), annotation[order]
        ranking = Ranking(
            evaluated=evaluated._replace(
                row_image=self._image[evaluated.row_image],
                annotation_class=self.diagnosis.ledger.annotation_class,
                annotation_image=self.annotation_image,
            ),
            row_annotation=annotation,
            annotation_counts=ledger.annotation_counts,
        )
        # Most rows lie past the last true positive of their class, in every slice, and change no
        # precision. Protocols that check whether a class has any rows keep all rows.
        few = counts_only_found(self.diagnosis.protocol)
        return ranking.up_to_last_true() if few else ranking

    def _pairs(self, members: Members) -> list[IntArray]:
        """Return the images of the annotated pairs, and of the localised pairs among them."""
        pair = self.annotations.triplet_pair[self.triplet]
        mine = np.flatnonzero(members.annotations & (self.annotations.pair_object[pair] >= 0))
        # A pair with several triplets counts once.
        mine = mine[np.unique(pair[mine], return_index=True)[1]]
        found = mine[self.diagnosis.ledger.annotation_pair_found[mine]]
        return [self.annotation_image[rows] for rows in (mine, found)]

    def _detections(self, members: Members) -> list[IntArray]:
        """Return the images of the true positives, predictions and annotated triplets for F1."""
        hoi, image, true, annotation = self._scored
        rows = members.rows(hoi, image, annotation)
        return [
            image[rows[true[rows]]],
            image[rows],
            self.annotation_image[members.annotations],
        ]

    @cached_property
    def _scored(self) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
        """Return class, image, correctness and annotated triplet of rows above the threshold."""
        ledger, least = self.diagnosis.ledger, self.threshold
        some = slice(None) if least is None else np.flatnonzero(ledger.row_score >= least)
        image = self._image[ledger.row_image[some]]
        return ledger.row_class[some], image, ledger.true[some], ledger.row_annotation[some]

    def _per_image(self, images: Sequence[IntArray]) -> ImageCounts:
        """Count the entries of several lists per image."""
        kind = np.repeat(np.arange(len(images)), [len(each) for each in images])
        return ImageCounts.of(kind, np.concatenate(images), (len(images), self.images))


def _rankings(wanted: Sequence[str]) -> list[str]:
    """List the rankings needed for the requested numbers."""
    return ["", *(name for key, name in DELTAS.items() if key in wanted)]

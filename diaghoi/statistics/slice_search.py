"""Search for slices where a detector is weakest, or loses or gains most against another.

Each annotated triplet has the precision at which it is found: the best precision of its class at
the rank of the true positive or at a later rank, or 0 if no prediction finds the triplet. The mean
over a class is the area under the precision-recall curve, so a difference in mAP can be attributed
to triplets, and summed over any set of them. The triplets of a slice are compared with all other
triplets: for one detector within their classes, since classes differ in difficulty; for two
detectors by the difference between the detectors.

The statistic of a slice is the difference between inside and outside, divided by its standard
error. Images are the independent units. The influence of an image is the influence of its annotated
triplets, plus the effect of its true and false positives on the precision at which other triplets
are found. Without a real difference, the influence of each image could equally have the opposite
sign. Random signs are therefore drawn, one per image and shared by all slices, and the largest
statistic of any slice is recorded each time. A slice stands out if its statistic exceeds nearly all
of these maxima. The maxima control the rate of false alarms over all slices, and because slices
overlap, the test is more powerful than Holm's correction (Westfall and Young, Resampling-Based
Multiple Testing, 1993).

Slices overlap, so a single weakness makes many of them stand out. The clearest slice is therefore
reported first, and the part that it explains is removed from all other slices (by least squares).
The report and the removal are repeated while any slice still stands out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratios
from diaghoi.data.arrays import slices as runs_of
from diaghoi.data.attributes import Slice
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import shown
from diaghoi.statistics.found_precision import FoundAt
from diaghoi.statistics.significance import shown_p

TOGETHER = 256  # slices processed together, which bounds the memory
LEAST_IMAGES, LEAST_TRIPLETS = 30, 50
SHOWN = 10  # maximum number of findings
NONE = 1e-9  # standard errors below this fraction are due to rounding


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A slice that stands out.

    Parameters
    ----------
    parts : tuple of (attribute, title, name)
        The one or two attributes that define the slice.
    labels : tuple of str
        The detector, or the first detector and the detector compared with it.
    images, annotated : int
        Number of images and of annotated triplets in the slice.
    values : tuple of float
        The mean precision at which triplets are found outside the slice and inside it; for two
        detectors, the second detector's mean precision minus the first's. For one detector, the
        value outside is the value inside minus ``difference``.
    difference : float
        Mean precision inside minus outside. For one detector, the advantage of triplets inside over
        triplets of the same class outside, averaged over classes with weights that depend on the
        numbers of triplets inside and outside.
    interval : tuple of float
        Bounds of the difference, valid for all slices at once.
    p : float
        p-value corrected for the number of slices, after removing the part that clearer findings
        explain.
    """

    parts: tuple[tuple[str, str, str], ...]
    labels: tuple[str, ...]
    images: int
    annotated: int
    values: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    p: float

    @property
    def title(self) -> str:
        """The slice in words."""
        return ", ".join(
            f"{title}: {name}" if title != name else name for _, title, name in self.parts
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python."""
        return {
            "parts": [
                {"attribute": attribute, "title": title, "name": name}
                for attribute, title, name in self.parts
            ],
            "title": self.title,
            "labels": list(self.labels),
            "images": self.images,
            "annotated": self.annotated,
            "values": list(self.values),
            "difference": self.difference,
            "interval": list(self.interval),
            "p": self.p,
        }


@dataclass(frozen=True, kw_only=True)
class Search:
    """Result of a search for slices.

    Parameters
    ----------
    tried : int
        Number of slices examined, summed over all comparisons.
    findings : tuple of Finding
        Slices that stand out, clearest first, each after removing the part that earlier slices
        explain.
    """

    tried: int
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        """The result in one sentence, with the clearest finding."""
        tried = f"{self.tried:,} slices of one or two attributes"
        if not self.findings:
            return f"none of {tried} stands out"
        first = self.findings[0]
        if len(first.labels) == 1:
            name = first.labels[0] or "the detector"
            less = shown(abs(first.difference), "percent")
            what = (
                f"{name} finds the triplets of the slice at a mean precision of "
                f"{shown(first.values[1], 'percent')} %, {less} points below other triplets of the "
                "same classes"
            )
        else:
            elsewhere, here = (shown(each, "points") for each in first.values)
            what = (
                f"{first.labels[1]} against {first.labels[0]}, points of mean precision: {here}, "
                f"elsewhere {elsewhere}"
            )
        number = len(self.findings)
        return (
            f"{number} of {tried} {'stands' if number == 1 else 'stand'} out, most clearly "
            f"{first.title}; {what} ({shown_p(first.p)}, corrected)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python."""
        return {"tried": self.tried, "findings": [each.to_dict() for each in self.findings]}


def search(
    detectors: Sequence[FoundAt],
    annotations: Scenes,
    images: int,
    cuts: Sequence[Slice],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    least: tuple[int, int] = (LEAST_IMAGES, LEAST_TRIPLETS),
) -> Search:
    """Search for slices, and for combinations of two attributes, that stand out.

    Parameters
    ----------
    detectors : sequence of FoundAt
        One detector, to find its weakest slices; or several, to find where each other detector
        loses or gains against the first.
    annotations : Scenes
        Annotations with T triplets.
    images : int
        Number of images N, including images without annotations.
    cuts : sequence of Slice
        Slices to search.
    resamples, seed : int
        Number of draws of signs, and the seed of their generator.
    confidence : float
        A slice stands out if its corrected p is below one minus the confidence.
    least : tuple of int
        Minimum number of images and of annotated triplets in a slice.
    """
    singles = _members(cuts, annotations, detectors[0].counted)
    tried = _supported(cuts, singles, annotations.triplet_image, least)
    contrasts = (
        [_within_classes(detectors[0], annotations)]
        if len(detectors) == 1
        else [_between(detectors[0], other) for other in detectors[1:]]
    )
    signs = _signs(images, resamples, seed)
    image = _of_images(annotations.triplet_image, images)
    most = np.zeros(resamples)
    statistic = np.zeros((len(contrasts), len(tried)))
    for some in runs_of(len(tried), TOGETHER):
        members = _stacked(singles, tried[some])
        for place, contrast in enumerate(contrasts):
            total, influence, _ = contrast.measured(members, image)
            error = np.sqrt((influence**2).sum(axis=0))
            statistic[place, some] = contrast.sided(ratios(total, error * (error > NONE)))
            # A slice that consists of whole groups has nothing outside it for comparison.
            known = error > NONE
            drawn = signs @ (influence[:, known] / error[known]).astype(np.float32)
            if drawn.size:
                most = np.maximum(
                    most, (np.abs(drawn) if contrast.two_sided else drawn).max(axis=1)
                )
    reach = float(np.quantile(most, confidence))
    findings: list[tuple[float, Finding]] = []
    for place, contrast in enumerate(contrasts):
        order = np.argsort(-np.nan_to_num(statistic[place], nan=-np.inf), kind="stable")
        clear = order[np.nan_to_num(statistic[place][order]) > reach]
        found = [tried[number] for number in clear[:TOGETHER].tolist()]
        for chosen in _chosen(contrast, found, singles, image, reach):
            p = float((1 + (most >= chosen.statistic).sum()) / (1 + resamples))
            parts = [cuts[part] for part in chosen.parts]
            members = _both(singles, chosen.parts)
            finding = _finding(contrast, chosen, parts, members, annotations, reach, p)
            findings.append((chosen.statistic, finding))
    findings.sort(key=lambda each: -each[0])
    return Search(
        tried=int((~np.isnan(statistic)).sum()),
        findings=tuple(finding for _, finding in findings[:SHOWN]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Contrast:
    """Values of annotated triplets to compare inside and outside slices.

    Parameters
    ----------
    labels : tuple of str
        The detectors.
    two_sided : bool
        Whether higher values count as findings, in addition to lower values.
    values : (T,) float64 array
        The values.
    group : (T,) int array
        Group of each triplet, within which triplets are compared; -1 if a triplet does not count.
    detectors : tuple of (int, FoundAt)
        Detectors, each with the sign, 1 or -1, with which its precisions enter the values.
    """

    labels: tuple[str, ...]
    two_sided: bool
    values: FloatArray
    group: IntArray
    detectors: tuple[tuple[int, FoundAt], ...]

    @cached_property
    def _groups(self) -> tuple[IntArray, Any, IntArray]:
        """The triplets that count, an operator that sums over each group, and the group sizes."""
        from scipy.sparse import csr_array

        counted = np.flatnonzero(self.group >= 0)
        size = np.bincount(self.group[counted])
        entries = np.ones(len(counted)), (self.group[counted], counted)
        return counted, csr_array(entries, shape=(len(size), len(self.group))), size

    @cached_property
    def _residual(self) -> FloatArray:
        """Return values minus group means, (T,), scaled to the spread about the true means."""
        counted, sums, size = self._groups
        group = self.group[counted]
        mean = ratios(sums @ self.values, size, undefined=0.0)
        # The spread about a group's mean is too small, because each value is part of the mean.
        spread = np.sqrt(ratios(size, size - 1, undefined=0.0))
        residual = np.zeros(len(self.values))
        residual[counted] = (self.values[counted] - mean[group]) * spread[group]
        return residual

    def measured(self, members: BoolArray, image: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compare triplets inside and outside each of S slices.

        Returns
        -------
        total, influence, weights : (S,), (N, S) and (T, S) float64 array
            Sums of the weighted values, the contribution of each image, and the weights: 1 inside
            and 0 outside the slice, minus the share of the triplet's group inside the slice.
        """
        counted, sums, size = self._groups
        inside = members.astype(np.float64)
        share = ratios(sums @ inside, size[:, None], undefined=0.0)
        weights = np.zeros(members.shape)
        weights[counted] = inside[counted] - share[self.group[counted]]
        influence = image @ (weights * self._residual[:, None])
        for sign, detector in self.detectors:
            influence += sign * detector.of_others(weights)
        return self.values @ weights, influence, weights

    def sided(self, statistic: FloatArray) -> FloatArray:
        """Return absolute statistics if two-sided, else negated: larger values stand out."""
        return np.abs(statistic) if self.two_sided else -statistic


def _within_classes(detector: FoundAt, annotations: Scenes) -> _Contrast:
    return _Contrast(
        labels=(detector.label,),
        two_sided=False,
        values=detector.precision,
        group=np.where(detector.counted, annotations.triplet_class, -1),
        detectors=((1, detector),),
    )


def _between(first: FoundAt, second: FoundAt) -> _Contrast:
    return _Contrast(
        labels=(first.label, second.label),
        two_sided=True,
        values=second.precision - first.precision,
        group=np.where(first.counted, 0, -1),
        detectors=((-1, first), (1, second)),
    )


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """A slice with its statistic, its difference, and the standard error of the difference."""

    parts: tuple[int, ...]
    statistic: float
    difference: float
    error: float


def _chosen(
    contrast: _Contrast,
    found: Sequence[tuple[int, ...]],
    singles: Sequence[BoolArray],
    image: Any,
    reach: float,
) -> Iterator[_Chosen]:
    """Choose slices one by one, each the clearest after removing what earlier slices explain."""
    if not found:
        return
    total, influence, weights = contrast.measured(_stacked(singles, found), image)
    gram = weights.T @ weights
    plain = np.sqrt((influence**2).sum(axis=0))
    size = _stacked(singles, found).sum(axis=0)

    def given(those: list[int]) -> FloatArray:
        """Return the statistics after removing what the given slices explain."""
        if not those:
            return contrast.sided(total / plain)
        share = np.linalg.lstsq(gram[np.ix_(those, those)], gram[those], rcond=None)[0]
        error = np.sqrt(((influence - influence[:, those] @ share) ** 2).sum(axis=0))
        left = total - total[those] @ share
        # A slice that earlier slices explain completely has only rounding error.
        return contrast.sided(ratios(left, np.where(error > NONE * plain, error, 0), undefined=0.0))

    those: list[int] = []
    while len(those) < SHOWN:
        statistic = given(those)
        best = int(np.argmax(statistic))
        if statistic[best] <= reach:
            return
        # A slice of two attributes must still stand out after removing the effect of the slice of
        # either attribute.
        for simple in np.argsort(-statistic).tolist():
            if set(found[simple]) < set(found[best]) and given([*those, simple])[best] <= reach:
                best = simple
                break
        if statistic[best] <= reach:
            return
        # Of two complementary slices, which have the same statistic, the smaller slice is reported.
        alike = np.flatnonzero(np.isclose(statistic, statistic[best], rtol=1e-6))
        best = int(alike[np.argmin(size[alike])])
        those.append(best)
        spread = gram[best, best]
        yield _Chosen(
            parts=found[best],
            statistic=float(statistic[best]),
            difference=float(total[best] / spread),
            error=float(plain[best] / spread),
        )


def _of_images(image: IntArray, images: int) -> Any:
    """Return an (N, T) sparse array that sums over the triplets of each image."""
    from scipy.sparse import csr_array

    place = np.arange(len(image))
    return csr_array((np.ones(len(image)), (image, place)), shape=(images, len(image)))


def _signs(images: int, resamples: int, seed: int) -> FloatArray:
    """Draw (B, N) random signs."""
    drawn = np.random.default_rng([seed, 2]).integers(0, 2, (resamples, images), dtype=np.int8)
    return np.asarray(2 * drawn - 1, dtype=np.float32)


def _members(cuts: Sequence[Slice], annotations: Scenes, counted: BoolArray) -> list[BoolArray]:
    """Return masks, (T,), of the counted annotated triplets in each slice."""
    return [counted & each.triplets(annotations) for each in cuts]


def _both(singles: Sequence[BoolArray], parts: Sequence[int]) -> BoolArray:
    """Return a mask, (T,), of the triplets in a slice of one or two attributes."""
    return np.asarray(np.logical_and.reduce([singles[part] for part in parts]))


def _stacked(singles: Sequence[BoolArray], some: Sequence[tuple[int, ...]]) -> BoolArray:
    """Return the members of the given slices as a mask, (T, S)."""
    columns = [_both(singles, parts) for parts in some]
    return np.stack(columns, axis=1) if columns else np.zeros((len(singles[0]), 0), dtype=bool)


def _supported(
    cuts: Sequence[Slice],
    singles: Sequence[BoolArray],
    image: IntArray,
    least: tuple[int, int],
) -> list[tuple[int, ...]]:
    """List the slices of one or two attributes that are large enough and distinct."""
    large = [part for part, members in enumerate(singles) if _enough(members, image, least)]
    tried: list[tuple[int, ...]] = [(part,) for part in large]
    for one, other in combinations(large, 2):
        if cuts[one].attribute == cuts[other].attribute:
            continue
        members = singles[one] & singles[other]
        number = members.sum()
        # A slice of two attributes must differ from the slices of each attribute alone.
        if number in (singles[one].sum(), singles[other].sum()):
            continue
        if _enough(members, image, least):
            tried.append((one, other))
    return tried


def _enough(members: BoolArray, image: IntArray, least: tuple[int, int]) -> bool:
    if members.sum() < least[1]:
        return False
    return len(np.unique(image[members])) >= least[0]


def _finding(
    contrast: _Contrast,
    chosen: _Chosen,
    parts: Sequence[Slice],
    members: BoolArray,
    annotations: Scenes,
    reach: float,
    p: float,
) -> Finding:
    here = float(contrast.values[members].mean())
    wide = chosen.error * reach
    return Finding(
        parts=tuple((each.attribute, each.title, each.name) for each in parts),
        labels=contrast.labels,
        images=len(np.unique(annotations.triplet_image[members])),
        annotated=int(members.sum()),
        values=(here - chosen.difference, here),
        difference=chosen.difference,
        interval=(chosen.difference - wide, chosen.difference + wide),
        p=p,
    )

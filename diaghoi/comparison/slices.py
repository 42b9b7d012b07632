"""Comparison of detectors in slices of the annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, less
from diaghoi.data.attributes import FEW, Own, Slice, attribute_slices, tag_slices
from diaghoi.data.memory import threads
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import data_frame
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, close_matches
from diaghoi.statistics.bootstrap import (
    centred_bounds,
    check_settings,
    draws,
    groups_left_out,
    resampled,
    too_few,
)
from diaghoi.statistics.found_precision import FoundAt
from diaghoi.statistics.slice_figures import DELTAS, FIGURES, Sliced, image_names
from diaghoi.statistics.slice_search import Search
from diaghoi.statistics.slice_search import search as search_slices
from diaghoi.statistics.weighted_figures import Figures

Values = Mapping[str, float | None]
Bounds = Mapping[str, tuple[float, float] | None]
RESAMPLES = 100
GROUPS = 50
"""Number of groups of images that the jackknife leaves out, one at a time, for the intervals of a
slice; fewer than for all images, because there are many slices.
"""
LEAST = 10
"""Minimum number of images for which a slice has intervals."""
DESCRIBED = ("attribute", "title", "name", "by", "images", "annotated", "classes")
"""Keys that describe a slice in tables and JSON."""


@dataclass(frozen=True, kw_only=True)
class ModelInSlice:
    """Numbers of a detector in a slice.

    Parameters
    ----------
    figures : mapping
        Numbers by name (:data:`diaghoi.statistics.slice_figures.FIGURES`), None if undefined.
    intervals : mapping
        Bounds of the numbers; empty without intervals, and for slices of fewer than :data:`LEAST`
        images. None for a cost that too few predictions or triplets in the slice carry
        (:data:`diaghoi.statistics.bootstrap.FEW`).
    difference, difference_intervals : mapping
        Differences from the first detector; empty for the first detector itself.
    """

    figures: Values
    intervals: Bounds
    difference: Values
    difference_intervals: Bounds

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python."""
        return {
            kind: {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
            for kind, values in vars(self).items()
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceResult:
    """Numbers of all detectors in one slice.

    Parameters
    ----------
    attribute, title, name, by : str
        As of :class:`diaghoi.data.attributes.Slice`.
    members : (N,) bool array
        Mask of the images in the slice; a slice of pairs or classes has the images that contain
        annotated triplets of the slice.
    images, annotated, classes : int
        Numbers of images, annotated triplets and HOI classes in the slice.
    models : tuple of ModelInSlice
        The detectors.
    """

    attribute: str
    title: str
    name: str
    by: str
    members: BoolArray
    images: int
    annotated: int
    classes: int
    models: tuple[ModelInSlice, ...]

    def to_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return all values as plain Python."""
        models = zip(labels, self.models, strict=True)
        return {key: getattr(self, key) for key in DESCRIBED} | {
            "models": [{"label": label, **model.to_dict()} for label, model in models]
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices:
    """Numbers of detectors in slices of the annotations.

    Parameters
    ----------
    labels : tuple of str
        The detectors.
    images : tuple of str
        Names of the N images.
    thresholds : tuple of (float or None)
        Score threshold of each detector with the best F1 over all images; F1 counts predictions
        with at least this score.
    everything : SliceResult
        Numbers over all images, for comparison.
    slices : tuple of SliceResult
        Slices in the order of the attributes.
    bootstrap : dict or None
        ``resamples``, ``seed`` and ``confidence`` of the intervals.
    search : Search or None
        The slices of one or two attributes that stand out, see
        :mod:`diaghoi.statistics.slice_search`; None without intervals.
    notes : tuple of str
        Notes for readers.
    rare_below : int or None
        Number of annotated triplets below which a class is rare; None if the data set defines its
        rare classes.
    """

    labels: tuple[str, ...]
    images: tuple[str, ...]
    thresholds: tuple[float | None, ...]
    everything: SliceResult
    slices: tuple[SliceResult, ...]
    bootstrap: Mapping[str, Any] | None
    search: Search | None
    notes: tuple[str, ...] = ()
    rare_below: int | None = None

    def __repr__(self) -> str:
        return f"<Slices of {', '.join(self.labels)}: {len(self.slices)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python, as stored under the key ``slices`` of results.

        Returns
        -------
        dict
            ``labels``, ``thresholds``, ``bootstrap`` (None without intervals), ``everything`` and
            ``slices``, each with ``attribute``, ``title``, ``name``, ``by``, ``images``,
            ``annotated``, ``classes`` and ``models``: for each ``label`` its ``figures`` (``map``,
            ``delta_map.<error>``, ``pair_recall`` and ``f1``, fractions), their ``intervals``, and
            ``difference`` and ``difference_intervals`` from the first; ``search``, with the number
            ``tried`` and ``findings`` (:class:`diaghoi.statistics.slice_search.Finding`), None
            without intervals; ``notes``, and ``rare_below``.
        """
        return {
            "labels": list(self.labels),
            "thresholds": list(self.thresholds),
            "bootstrap": None if self.bootstrap is None else dict(self.bootstrap),
            "everything": self.everything.to_dict(self.labels),
            "slices": [each.to_dict(self.labels) for each in self.slices],
            "search": None if self.search is None else self.search.to_dict(),
            "notes": list(self.notes),
            "rare_below": self.rare_below,
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per slice and detector.

        Returns
        -------
        pandas.DataFrame
            With ``attribute``, ``title``, ``name``, ``by``, ``images``, ``annotated``, ``classes``,
            ``model``, each number with its ``_low`` and ``_high`` bound if there are intervals, and
            the same for the difference from the first detector, prefixed with ``difference_``.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        rows = []
        for each in (self.everything, *self.slices):
            found = each.to_dict(self.labels)
            for model in found.pop("models"):
                row = found | {"model": model["label"]}
                row |= _columns(model, "figures", "intervals", "")
                row |= _columns(model, "difference", "difference_intervals", "difference_")
                rows.append(row)
        return data_frame(rows)


def slices(
    *diagnoses: Diagnosis,
    annotations: Scenes | None = None,
    own: Mapping[str, Own] | None = None,
    attributes: bool = True,
    resamples: int | None = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
    deltas: bool = False,
    figures: Sequence[str] = FIGURES,
    search: bool = True,
    source: str = "own",
    progress: Callable[[int], Any] | None = None,
) -> Slices:
    """Evaluate detectors in slices of the annotations.

    Parameters
    ----------
    *diagnoses : Diagnosis
        Diagnoses on the same annotations under one protocol.
    annotations : Scenes, optional
        The annotations; by default, the annotations of the first diagnosis.
    own : mapping, optional
        Your own slices: attribute names with the tags of each image, as a mapping or a function of
        the image name. A function may instead return True for an image that belongs to the slice,
        and False for any other.
    attributes : bool
        Whether to also use the attributes of the annotations
        (:data:`diaghoi.data.attributes.ATTRIBUTES`).
    resamples : int or None
        Resamples of the paired bootstrap over images; None for no intervals, and no search.
    seed, confidence
        Seed of the bootstrap, and confidence level of the intervals.
    deltas : bool
        Whether to also compute intervals of each error's ΔmAP; the computation then takes eight
        times as long.
    figures : sequence of str
        Numbers of :data:`diaghoi.statistics.slice_figures.FIGURES` to compute in addition to mAP.
        With mAP alone, the computation takes an eighth of the time.
    search : bool
        Whether to search for slices that stand out.
    source : str
        Source of your own slices, for messages.
    progress : callable, optional
        Called with the number of slices finished since the last call. All images together count as
        one more slice, and every slice is counted once for each detector.

    Returns
    -------
    Slices

    Raises
    ------
    InputError
        If there is no detector, the annotations differ or are unknown, or tags cannot be used.
    """
    annotations = _checked(diagnoses, annotations)
    mine, notes = tag_slices(annotations.names, own or {}, source)
    cuts = [*mine, *(attribute_slices(annotations) if attributes else [])]
    names = image_names(annotations, diagnoses)
    if resamples is not None:
        check_settings(len(names), resamples, confidence)
    whole = Slice(
        attribute="",
        title="",
        name="All",
        by="image",
        members=np.ones(len(names), dtype=bool),
    )
    if unknown := [each for each in figures if each not in FIGURES]:
        raise InputError(
            f"figure '{unknown[0]}': not a number of slices{close_matches(unknown[0], FIGURES)}; "
            f"give some of {', '.join(FIGURES)}"
        )
    weights = None if resamples is None else _Weights.of(names, diagnoses[0], resamples, seed)
    sure = figures if deltas else [each for each in figures if each not in DELTAS]
    runs: list[list[_Run]] = []
    thresholds, found_at = [], []
    for diagnosis in diagnoses:
        # Detectors are processed one at a time, because the rankings after each repair take much
        # memory.
        sliced = Sliced(diagnosis, annotations, names)
        thresholds.append(sliced.threshold)
        run = partial(_run, sliced, weights=weights, figures=figures, sure=sure)
        found = []
        with threads() as pool:
            for each in pool.map(run, (whole, *cuts)):
                found.append(each)
                if progress is not None:
                    progress(1)
        runs.append(found)
        if resamples is not None and search:
            found_at.append(FoundAt.of(sliced))
        del sliced
    results = [
        _result(each, [run[place] for run in runs], confidence)
        for place, each in enumerate((whole, *cuts))
    ]
    searched = None
    if found_at:
        searched = search_slices(
            found_at, annotations, len(names), cuts, seed=seed, confidence=confidence
        )
        notes.append(f"slices: {searched.sentence}")
    return Slices(
        labels=tuple(each.label or f"model {n}" for n, each in enumerate(diagnoses, 1)),
        images=tuple(names),
        thresholds=tuple(thresholds),
        everything=results[0],
        # A slice of the annotations may contain nothing that the protocol counts.
        slices=tuple(each for each in results[1:] if each.annotated),
        bootstrap=None
        if resamples is None
        else {"resamples": resamples, "seed": seed, "confidence": confidence},
        search=searched,
        notes=tuple(notes),
        rare_below=FEW if annotations.vocabulary.rare is None else None,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Run:
    """Numbers of a detector in a slice, also in resamples and with some images left out."""

    images: BoolArray
    support: Mapping[str, int]
    figures: Values
    drawn: Figures
    left_out: Figures
    few: Set[str]


def _checked(diagnoses: Sequence[Diagnosis], annotations: Scenes | None) -> Scenes:
    if not diagnoses:
        raise InputError("no detector is given; give at least one diagnosis")
    if any(each.protocol != diagnoses[0].protocol for each in diagnoses):
        raise InputError("the detectors were diagnosed under different protocols; use one protocol")
    if annotations is not None:
        return annotations
    given = [part[0].load() for part in diagnoses[0].scenes]
    if not given:
        raise InputError("the diagnosis has no annotations; give annotations=...")
    return given[0] if len(given) == 1 else Scenes.concatenate(given)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weights:
    """Image weights of draws with replacement, and of samples with some images left out.

    The same images are drawn for each slice and detector, so results are paired. The draws are
    those of :func:`diaghoi.statistics.bootstrap.bootstrap` for the first detector, so the slice of
    all images has the same intervals as the bootstrap.
    """

    drawn: Sequence[IntArray]
    left_out: Sequence[IntArray]
    left_out_of_all: Sequence[IntArray]

    @classmethod
    def of(cls, names: list[str], first: Diagnosis, resamples: int, seed: int) -> _Weights:
        number = {name: place for place, name in enumerate(first.names.tolist())}
        place = np.arange(len(names))
        if len(number) == len(names) and number.keys() == set(names):
            place = np.array([number[name] for name in names])
        return cls(
            drawn=[each[place] for each in draws(len(names), resamples, seed)],
            left_out=list(groups_left_out(len(names), GROUPS)),
            left_out_of_all=[each[place] for each in groups_left_out(len(names))],
        )


def _run(
    sliced: Sliced,
    some: Slice,
    weights: _Weights | None,
    figures: Sequence[str],
    sure: Sequence[str],
) -> _Run:
    """Compute the numbers of a slice, and some of them also under image weights."""
    members = sliced.members(some)
    drawn: Figures = {}
    left_out: Figures = {}
    few: Set[str] = frozenset()
    support = sliced.support(members)
    if weights is not None and support["annotated"] and support["images"] >= LEAST:
        prepared = sliced.prepared(members, sure)
        drawn = resampled(prepared.figures, weights.drawn)
        few = too_few(sliced.carriers(members, sure)).keys()
        # A slice of classes can coincide with a split, such as rare; the mean must then have the
        # interval of the split.
        of_images = some.attribute and some.by != "class"
        left_out = resampled(
            prepared.figures, weights.left_out if of_images else weights.left_out_of_all
        )
    return _Run(
        images=members.images,
        support=support,
        figures=sliced.figures(members, figures),
        drawn=drawn,
        left_out=left_out,
        few=few,
    )


def _result(some: Slice, runs: Sequence[_Run], confidence: float) -> SliceResult:
    first = runs[0]
    return SliceResult(
        attribute=some.attribute,
        title=some.title,
        name=some.name,
        by=some.by,
        members=first.images,
        **first.support,
        models=tuple(_model(run, None if run is first else first, confidence) for run in runs),
    )


def _model(run: _Run, first: _Run | None, confidence: float) -> ModelInSlice:
    difference: Values = {}
    away: Bounds = {}
    if first is not None:
        difference = {name: less(run.figures[name], first.figures[name]) for name in first.figures}
        drawn, left_out = (
            {name: one[name] - other[name] for name in one}
            for one, other in ((run.drawn, first.drawn), (run.left_out, first.left_out))
        )
        away = _bounds(difference, drawn, left_out, run.few | first.few, confidence)
    return ModelInSlice(
        figures=run.figures,
        intervals=_bounds(run.figures, run.drawn, run.left_out, run.few, confidence),
        difference=difference,
        difference_intervals=away,
    )


def _bounds(
    values: Values, drawn: Figures, left_out: Figures, few: Set[str], confidence: float
) -> Bounds:
    """Centre the intervals; see :mod:`diaghoi.statistics.bootstrap`."""
    return {
        name: None
        if (value := values[name]) is None or name in few
        else centred_bounds(each, value, left_out[name], confidence)
        for name, each in drawn.items()
    }


def _columns(model: Mapping[str, Any], values: str, bounds: str, start: str) -> dict[str, Any]:
    columns = {f"{start}{name}": value for name, value in model[values].items()}
    for name, each in model[bounds].items():
        low, high = each or (None, None)
        columns |= {f"{start}{name}_low": low, f"{start}{name}_high": high}
    return columns

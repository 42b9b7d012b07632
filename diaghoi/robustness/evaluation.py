"""Evaluate a robustness study: :func:`evaluate_study` and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from diaghoi._version import __version__
from diaghoi.comparison.comparable import check_comparable, number_of_images, shared_signature
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.results import Result, notes_of, text
from diaghoi.engines.engine import Engine
from diaghoi.exceptions import some_of
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS
from diaghoi.robustness.profile import DEFAULTS, SOFT, Profile, check_metric, metric_title
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy, Run
from diaghoi.robustness.sweep import Outcomes, Place, sweep
from diaghoi.robustness.tables import SCALE, robustness_tables, sentences

TESTS = (
    "p-values are corrected within each corruption (Holm), not for the number of corruptions: of "
    "20 corruptions without effect, one is expected to show p < 0.05 by chance"
)
# Settings that all intervals of a study share.
INTERVALS = ("resamples", "seed", "confidence", "method")


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Scores of detectors on corrupted pictures, with notes.

    Parameters
    ----------
    metric : str
        Path of the metric in a report's JSON.
    profiles : tuple of Profile
        One profile per detector, in the order of the study.
    missing, failed : tuple of (Run, str)
        Runs whose file is missing, with the file, and runs whose file is unusable, with the reason.
    caveats, gaps, notes : tuple of str
        Reasons why numbers are not comparable; missing files, and numbers that are undefined
        because of missing files; further notes.
    """

    metric: str
    profiles: tuple[Profile, ...]
    missing: tuple[tuple[Run, str], ...]
    failed: tuple[tuple[Run, str], ...]
    caveats: tuple[str, ...]
    gaps: tuple[str, ...]
    notes: tuple[str, ...]

    def comparison(self, *, errors: bool = False, overview: bool = False) -> Comparison:
        """Lay out the tables of :func:`diaghoi.robustness.tables.robustness_tables`."""
        results = _labelled(self.profiles)
        return Comparison(
            dataset=text(results[0], "dataset"),
            protocol=text(results[0], "protocol", "name"),
            signature=shared_signature(results),
            images=number_of_images(results),
            models=tuple(profile.model for profile in self.profiles),
            tables=robustness_tables(self.profiles, self.metric, errors=errors, overview=overview),
            caveats=self.caveats,
            notes=(*self.gaps, *self.notes),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values: the JSON of ``diaghoi robustness --json``.

        Returns
        -------
        dict
            ``diaghoi`` (version), ``dataset``, ``protocol`` and ``images`` as of a comparison;
            ``metric``, ``metric_title`` (in words) and ``scale`` (definition of CRI);
            ``bootstrap``, the settings of the intervals, if there are any; ``measure`` and
            ``similarity`` of soft mAP and mF1, as in a semantic evaluation; ``corruptions`` and
            ``severities`` of the study, and in ``scope`` whether the study covers all conditions of
            the paper (``complete``), with corruptions and severities in words; ``models``, each
            with

            - ``label``, ``stage``, ``venue``, ``backbone``, ``detector`` and ``classifier``;
            - ``clean``: score on clean pictures;
            - ``indices``: ``mri``, ``cri`` and the number of ``conditions``, for ``all``, and by
              name in ``groups``, ``corruptions`` and ``severities``;
            - ``drops``: by corruption, the share of the clean score that the corruption costs;
            - ``growth``: by error and corruption, the mean increase of ΔmAP;
            - ``cells``: for each condition, clean pictures first, score, mAP, ΔmAP and share of
              each error, and ``intervals`` and ``tests`` if available;
            - ``sentences``: a sentence for each corruption, by its name;

            ``missing`` and ``failed`` files, ``tables`` as in a comparison, ``caveats`` and
            ``notes``. Scores, MRI, ΔmAP and shares are fractions.
        """
        compared = self.comparison(errors=True).to_dict()
        first, result = self.profiles[0], _labelled(self.profiles)[0]
        made = {key: result[key] for key in ("measure", "similarity") if self.metric in SOFT}
        if "bootstrap" in result:
            made["bootstrap"] = {key: result["bootstrap"][key] for key in INTERVALS}
        scope = first.scope._asdict()
        del scope["title"]
        return {
            "diaghoi": __version__,
            **{key: compared[key] for key in ("dataset", "protocol", "images")},
            "metric": self.metric,
            "metric_title": metric_title(self.metric, result),
            **made,
            "scale": SCALE,
            "corruptions": [
                {
                    "name": name,
                    "label": CORRUPTIONS[name].label,
                    "abbreviation": CORRUPTIONS[name].abbreviation,
                    "group": GROUPS[CORRUPTIONS[name].group].label,
                }
                for name in first.corruptions
            ],
            "severities": list(first.severities),
            "scope": scope,
            "models": [
                {**profile.to_dict(), "sentences": sentences(profile)} for profile in self.profiles
            ],
            "missing": [run.to_dict() | {"file": file} for run, file in self.missing],
            "failed": [run.to_dict() | {"error": why} for run, why in self.failed],
            **{key: compared[key] for key in ("tables", "caveats", "notes")},
        }


def evaluate_study(
    study: RobustnessStudy, engine: Engine, *, metric: str | None = None, **choices: Any
) -> Robustness:
    """Diagnose all runs of a study and measure how robust its detectors are.

    Parameters
    ----------
    study : RobustnessStudy
        Study with annotations.
    engine : Engine
        Engine that runs the tasks.
    metric : str, optional
        Path of any score in the JSON of the report. The default is the score of the RoHOI paper:
        the official mAP on HICO-DET, and role AP of scenario 2 on V-COCO.
    **choices
        Choices of :func:`diaghoi.robustness.sweep.sweep`.

    Raises
    ------
    InputError
        If the annotations or the metric are unusable, or no prediction file is usable.
    """
    check = None if metric is None else partial(check_metric, metric)
    outcomes = sweep(study, engine, check=check, **choices)
    first = next(iter(outcomes.results.values()))
    chosen = metric or DEFAULTS.get(text(first, "dataset"), "map.full")
    profiles = tuple(
        Profile(
            model=model,
            metric=chosen,
            corruptions=study.corruptions,
            severities=study.severities,
            results=_of(outcomes.results, model.label),
            tests=_of(outcomes.tests, model.label),
        )
        for model in study.models
    )
    results = _labelled(profiles)
    return Robustness(
        metric=chosen,
        profiles=profiles,
        missing=outcomes.missing,
        failed=outcomes.failed,
        caveats=check_comparable(results),
        gaps=_gaps(study, outcomes),
        notes=(
            *outcomes.notes,
            "mAP, ΔmAP and shares of errors follow protocol " + text(first, "protocol", "name"),
            *((TESTS,) if outcomes.tests else ()),
            *_notes(results),
        ),
    )


def _of(outcomes: Mapping[Place, Any], label: str) -> dict[Condition, Any]:
    return {condition: value for (owner, condition), value in outcomes.items() if owner == label}


def _labelled(profiles: Sequence[Profile]) -> list[Result]:
    """List the results of all runs, labelled with detector and condition."""
    return [
        {**result, "label": f"{profile.model.label}, {condition.title}"}
        for profile in profiles
        for condition, result in profile.results.items()
    ]


def _gaps(study: RobustnessStudy, outcomes: Outcomes) -> tuple[str, ...]:
    """List missing files and failed runs."""
    gaps = []
    for model in study.models:
        missing = [(run, file) for run, file in outcomes.missing if run.label == model.label]
        if missing:
            titles = [run.condition.title for run, _ in missing]
            gaps.append(
                f"{model.label}: {len(missing)} of {len(study.conditions)} files are missing: "
                f"{some_of(titles)}; the first is {missing[0][1]}"
            )
        if (model.label, CLEAN) not in outcomes.results:
            gaps.append(
                f"{model.label}: CRI, drops and the growth of errors are undefined without "
                "predictions on clean pictures"
            )
    return (*gaps, *(f"{run.title}: left out: {why}" for run, why in outcomes.failed))


def _notes(results: Sequence[Result]) -> list[str]:
    """Collect the notes on all runs; each note says how many runs it concerns."""
    runs: dict[str, list[Any]] = {}
    for result in results:
        for note in dict.fromkeys(notes_of(result)):
            runs.setdefault(note, []).append(result["label"])
    return [
        note
        if len(of) == len(results)
        else f"{note} ({len(of)} of {len(results)} runs, {of[0]} for instance)"
        for note, of in runs.items()
    ]

"""Write figures with pictures for papers: typical errors, outcomes of models, corruptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from diaghoi.cases.outcomes import shared_outcomes
from diaghoi.cases.typical import typical_cases
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.pictures import Pictures, read_picture
from diaghoi.plots.figures.picture_panels import corruption_panel, error_panel, outcome_panel
from diaghoi.plots.labels import caption, model_names
from diaghoi.plots.style import SINGLE_COLUMN, paper, save
from diaghoi.report.case_pictures import FoundPictures
from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES, corrupt, find, generator

Model = tuple[Diagnosis, Scenes, Scenes]
"""A diagnosis with its annotations and predictions."""


def write_typical(
    path: Path,
    model: Model,
    errors: Sequence[str],
    pictures: Pictures,
    *,
    hoi: int | None = None,
    images: Sequence[str] = (),
    repairs: bool = False,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
) -> list[str]:
    """Write a figure with a typical case of each error.

    Parameters
    ----------
    path : pathlib.Path
        A ``.pdf``, ``.svg`` or ``.png`` file.
    model : (Diagnosis, Scenes, Scenes)
        A diagnosis with its annotations and predictions.
    errors, hoi
        As for :func:`diaghoi.cases.typical.typical_cases`.
    pictures : Pictures
        Pictures of the images.
    images : sequence of str
        Restrict cases to these images; by default, to images that have a picture.
    repairs, width, columns
        As in :func:`diaghoi.plots.figures.picture_panels.error_panel`.

    Returns
    -------
    list of str
        Notes on errors without a case, and on the pictures.

    Raises
    ------
    InputError
        If no error has a case, or the file cannot be written.
    """
    names, notes = _shown(model[0], images, pictures)
    cases = typical_cases(*model, errors, hoi=hoi, images=names)
    shown = [case.error for case in cases]
    lacking = f"no case of {some_of([name for name in errors if name not in shown])}"
    if not cases:
        raise InputError(f"{model[2].source or model[0].label}: {lacking} on the requested images")
    found = FoundPictures(pictures)
    drawn = [found.read(case.image, case.size).image for case in cases]
    with paper():
        figure = error_panel(cases, drawn, width=width, columns=columns, repairs=repairs)
        save(figure, path, caption=f"Errors of {_subjects([model])}")
    return [*notes, *([lacking] if len(shown) < len(errors) else []), *found.notes]


def write_outcomes(
    path: Path,
    models: Sequence[Model],
    pictures: Pictures,
    *,
    images: Sequence[str] = (),
    top: int = 2,
    threshold: float | None = None,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
) -> list[str]:
    """Write a figure with the right, false and missed pairs of models on the same pictures.

    Parameters
    ----------
    path, pictures
        As in :func:`write_typical`.
    models : sequence of (Diagnosis, Scenes, Scenes)
        Models evaluated on the same images.
    images : sequence of str
        The images to show; by default, ``top`` images that have a picture.
    top, threshold
        As in :func:`diaghoi.cases.outcomes.shared_outcomes`.
    width, columns
        As in :func:`diaghoi.plots.figures.picture_panels.outcome_panel`.

    Returns
    -------
    list of str
        Notes on the score thresholds of the shown predictions, and on the pictures.

    Raises
    ------
    InputError
        If the models have different images, or the file cannot be written.
    """
    names, notes = _shown(models[0][0], images, pictures)
    chosen = None if images else top
    least, outcomes = shared_outcomes(models, names, threshold=threshold, top=chosen)
    labels = model_names(diagnosis.label for diagnosis, *_ in models)
    found = FoundPictures(pictures)
    drawn = [found.read(each.image, each.size).image for each in outcomes[0]]
    scores = (f"{score:.3g} ({label})" for score, label in zip(least, labels, strict=True))
    note = f"predictions from a score of {', '.join(scores)}"
    shown = ", ".join(each.image for each in outcomes[0])
    with paper():
        by_label = dict(zip(labels, outcomes, strict=True))
        figure = outcome_panel(by_label, drawn, width=width, columns=columns)
        save(figure, path, caption=f"{_subjects(models)} Images: {shown}; {note}.")
    return [note, *notes, *found.notes]


def write_corrupted(
    path: Path,
    picture: Path,
    corruptions: Sequence[str] = tuple(CORRUPTIONS),
    severities: Sequence[int] = SEVERITIES,
    *,
    seed: int = 0,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Write a figure of a picture under the corruptions of ``diaghoi robustness corrupt``.

    Parameters
    ----------
    path
        As in :func:`write_typical`.
    picture : pathlib.Path
        A JPEG or PNG file.
    corruptions, severities, seed
        As in :func:`diaghoi.robustness.corrupt.corrupt_folder`.
    width, columns
        As in :func:`diaghoi.plots.figures.picture_panels.corruption_panel`.
    progress : callable, optional
        Called with the number of corruptions done since the last call.

    Returns
    -------
    list of str
        Empty: there are no notes.

    Raises
    ------
    InputError
        If the picture cannot be read, a corruption is unknown, or OpenCV is missing.
    """
    try:
        clean = read_picture(picture).image
    except InputError as error:
        raise InputError(f"{picture}: {error}") from None
    if clean.ndim == 2:
        clean = np.repeat(clean[..., None], 3, axis=2)
    corrupted = {}
    for each in find(corruptions):
        corrupted[each.label] = [
            corrupt(clean, each.name, level, rng=generator(seed, picture.name, each.name))
            for level in severities
        ]
        if progress is not None:
            progress(1)
    levels = f"{'severity' if len(severities) == 1 else 'severities'} "
    levels += ", ".join(map(str, severities))
    with paper():
        figure = corruption_panel(corrupted, severities, width=width, columns=columns)
        save(figure, path, caption=f"{picture.name} under {', '.join(corrupted)}; {levels}.")
    return []


def _shown(
    diagnosis: Diagnosis, images: Sequence[str], pictures: Pictures
) -> tuple[list[str], list[str]]:
    """Return the images to show (as requested, or all with a picture), and notes on them."""
    if images:
        return list(dict.fromkeys(images)), []
    names = diagnosis.names.tolist()
    there = [name for name in names if pictures.find(name) is not None]
    if not there or len(there) == len(names):
        return names, []
    note = f"{len(there):,} of {len(names):,} images have a picture in {pictures.folder}"
    return there, [f"{note}; chosen from these"]


def _subjects(models: Sequence[Model]) -> str:
    """Name models for a caption without their full results, for which all oracles would run."""
    return caption(
        [
            {"label": diagnosis.label, "dataset": diagnosis.vocabulary.name}
            | {"protocol": {key: getattr(diagnosis.protocol, key) for key in ("name", "signature")}}
            for diagnosis, *_ in models
        ]
    )

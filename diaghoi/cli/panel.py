"""``diaghoi panel``: pictures in rows and columns, for a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.gallery import Error, error_names
from diaghoi.cli.options import (
    FORMATS,
    argument,
    option,
    options_class,
    sparing,
    with_options,
    without,
)
from diaghoi.cli.present import noting_letters, print_notes, print_written, width_of
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import OF_PREDICTIONS, ReadingOptions
from diaghoi.cli.robustness import Names, Severity, corruptions_named, severities_of
from diaghoi.cli.usage import HintingCommand
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.exceptions import InputError, close_matches, some_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from diaghoi.cases.outcomes import ImageOutcomes
    from diaghoi.data.scenes import Scenes
    from diaghoi.diagnosis.diagnosis import Diagnosis
    from diaghoi.formats.pictures.folder import Pictures

MOST = 6  # models: more rows fit no page

Out = Annotated[Path, typer.Option(help="The figure: a .pdf, .svg or .png file.", readable=False)]
ImageNames = Annotated[
    list[str] | None,
    typer.Option("--image", metavar="NAME", help="Only this image; repeatable [all]."),
]
Columns = Annotated[
    int | None, typer.Option(min=1, max=10, help="Pictures in a row [as many as are legible].")
]

panel = typer.Typer(no_args_is_help=True, help="Lay out pictures of cases for a paper.")


@panel.callback()
def _group() -> None:
    """Figures of pictures in rows and columns, in the width of a column."""


@options_class
class ErrorPanelOptions:
    """Which errors are drawn."""

    predictions: options.Predictions
    images: options.Images
    out: Out
    annotations: options.Annotations = None
    error: Error = None
    image: ImageNames = None
    repairs: bool = option(
        False, help="Show beside each picture what the oracle makes of the error."
    )
    columns: Columns = None
    column: options.Column = "single"
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "top", "image_id")
    protocol: options.ProtocolName = None
    quiet: options.Quiet = False


@panel.command(cls=HintingCommand)
@sparing
@with_options
def errors(choices: ErrorPanelOptions) -> None:
    """Draw a typical case of each error, of the class that has it most often.

    Of that class it is the prediction with the highest score. With --image, cases are those of
    these images.
    """
    from diaghoi import plots
    from diaghoi.cases.typical import typical_cases
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.plots.figures.error_panel import error_panel
    from diaghoi.report.case_pictures import FoundPictures

    predictions, out, protocol = choices.predictions, choices.out, choices.protocol
    files = choices.reading.files(predictions, choices.annotations, choices.pairs)
    wanted = error_names(choices.error, [])
    protocol_named(protocol or files.vocabulary.protocol)
    _check_figure(out, files.inputs)
    outputs.check_inputs(files.inputs)
    pictures = Pictures(choices.images)
    with progress(choices.quiet) as bar:
        read = files.read(bar, lambda inputs: _check_figure(out, inputs))
        bar.start("matching", total=len(read.annotations))
        label = predictions.stem
        diagnosed = diagnosing.diagnose(*read.scenes, protocol, label=label, progress=bar.advance)
        shown, notes = _chosen_images(choices.image, diagnosed.names.tolist(), pictures)
        cases = typical_cases(diagnosed, *read.scenes, wanted, images=shown)
    lacking = [name for name in wanted if name not in {case.error for case in cases}]
    if not cases:
        raise InputError(f"{predictions}: no case of {some_of(lacking)} on the images asked for")
    if lacking:
        notes.append(f"no case of {some_of(lacking)}")
    found = FoundPictures(pictures)
    drawn = [found.read(case.image, case.size).image for case in cases]
    width, columns = width_of(choices.column), choices.columns or 0
    _write_figure(
        out,
        lambda: error_panel(cases, drawn, width=width, columns=columns, repairs=choices.repairs),
        caption=f"Errors of {plots.caption([_subject_of(diagnosed)])}",
        notes=[*read.notes, *diagnosed.reading_notes, *notes, *found.notes],
        quiet=choices.quiet,
    )


@options_class
class ModelPanelOptions:
    """Which models are drawn, on which images."""

    predictions: list[Path] = argument(help="Prediction files of one or more models.")
    images: options.Images
    out: Out
    annotations: options.Annotations = None
    image: ImageNames = None
    top: int = option(2, min=1, max=30, help="Images, where none is named.")
    threshold: float | None = option(
        None, help="Least score of predictions [the one of best F1, for each model]."
    )
    columns: Columns = None
    column: options.Column = "single"
    reading: ReadingOptions = without(ReadingOptions, *OF_PREDICTIONS)
    protocol: options.ProtocolName = None
    quiet: options.Quiet = False

    def __post_init__(self) -> None:
        if self.threshold is not None and isnan(self.threshold):
            raise InputError("--threshold nan: give a number")
        if len(self.predictions) > MOST:
            raise InputError(
                f"{len(self.predictions)} models: at most {MOST} fit a figure; give fewer"
            )


@panel.command(cls=HintingCommand)
@sparing
@with_options
def models(choices: ModelPanelOptions) -> None:
    """Draw right, false and missed pairs of detectors on the same pictures.

    Without --image, several models are shown where the first and the last differ most, in turn
    where the last and where the first finds more; one model is shown where it is right, wrong and
    misses something, with few pairs.
    """
    from diaghoi import plots
    from diaghoi.cases.outcomes import image_outcomes, outcome_counts, telling
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.plots.figures.outcome_panel import outcome_panel
    from diaghoi.plots.labels import model_names
    from diaghoi.report.case_pictures import FoundPictures

    files = [choices.reading.files(path, choices.annotations) for path in choices.predictions]
    out, image, threshold, protocol = (
        choices.out,
        choices.image,
        choices.threshold,
        choices.protocol,
    )
    inputs = [path for each in files for path in each.inputs]
    protocol_named(protocol or files[0].vocabulary.protocol)
    _check_figure(out, inputs)
    outputs.check_inputs(inputs)
    pictures = Pictures(choices.images)
    notes: list[str] = []
    read: list[tuple[Diagnosis, Scenes, Scenes]] = []
    with progress(choices.quiet) as bar:
        for each in files:
            found = each.read(bar, lambda inputs: _check_figure(out, inputs))
            bar.start("matching", total=len(found.annotations))
            truth, predicted = found.scenes
            diagnosed = diagnosing.diagnose(
                truth, predicted, protocol, label=each.predictions.stem, progress=bar.advance
            )
            read.append((diagnosed, truth, predicted))
            notes += [*found.notes, *diagnosed.reading_notes]
    for diagnosed, *_ in read[1:]:
        if set(diagnosed.names.tolist()) != set(read[0][0].names.tolist()):
            raise InputError(
                f"{diagnosed.label}: has other images than {read[0][0].label}; give models on the "
                "same annotations"
            )
    thresholds = [_least(each) if threshold is None else threshold for each, *_ in read]
    names = read[0][0].names.tolist()
    shown, chosen_notes = _chosen_images(image, names, pictures)
    if not image:
        counts = [
            dict(zip(each.names.tolist(), outcome_counts(each, least).tolist(), strict=True))
            for (each, *_), least in zip(read, thresholds, strict=True)
        ]
        shown = telling([[each[name] for name in shown] for each in counts], shown, choices.top)
    labels = model_names(each.label for each, *_ in read)
    outcomes: dict[str, list[ImageOutcomes]] = {
        label: image_outcomes(*each, shown, least)
        for label, each, least in zip(labels, read, thresholds, strict=True)
    }
    collected = FoundPictures(pictures)
    drawn = [collected.read(each.image, each.size).image for each in outcomes[labels[0]]]
    width = width_of(choices.column)
    at = ", ".join(f"{each:.3g} ({name})" for each, name in zip(thresholds, labels, strict=True))
    notes.append(f"predictions from a score of {at}")
    _write_figure(
        out,
        lambda: outcome_panel(outcomes, drawn, width=width, columns=choices.columns or 0),
        caption=f"{plots.caption([_subject_of(each) for each, *_ in read])} Images: "
        f"{', '.join(shown)}; predictions from a score of {at}.",
        notes=list(dict.fromkeys([*notes, *chosen_notes, *collected.notes])),
        quiet=choices.quiet,
    )


def _least(diagnosed: Diagnosis) -> float:
    """Return the score of best F1; all predictions count where none is right."""
    best = diagnosed.best_threshold
    return -inf if best is None else best


@options_class
class CorruptionPanelOptions:
    """Which picture is drawn, under what."""

    picture: Path = argument(help="The picture.")
    out: Out
    corruption: Names = None
    severity: Severity = None
    columns: Columns = None
    column: options.Column = "single"
    seed: options.Seed = 0
    quiet: options.Quiet = False


@panel.command()
@with_options
def corruptions(choices: CorruptionPanelOptions) -> None:
    """Draw one picture under the corruptions of RoHOI.

    Several severities have a column each. With one severity, the corruptions follow each other.
    """
    from diaghoi.formats.pictures.files import read_picture
    from diaghoi.plots.figures.corruption_panel import corruption_panel
    from diaghoi.robustness.corruptions.apply import corrupt, generator

    picture, out = choices.picture, choices.out
    chosen = corruptions_named(choices.corruption)
    levels = severities_of(choices.severity)
    _check_figure(out, [picture])
    outputs.check_inputs([picture])
    try:
        clean = read_picture(picture).image
    except InputError as error:
        raise InputError(f"{picture}: {error}") from None
    if clean.ndim == 2:
        clean = np.repeat(clean[..., None], 3, axis=2)
    corrupted = {}
    with progress(choices.quiet) as bar:
        bar.start("corrupting", total=len(chosen))
        for each in chosen:
            corrupted[each.label] = [
                corrupt(
                    clean, each.name, level, rng=generator(choices.seed, picture.name, each.name)
                )
                for level in levels
            ]
            bar.advance(1)
    words = "severity" if len(levels) == 1 else "severities"
    width, columns = width_of(choices.column), choices.columns or 0
    _write_figure(
        out,
        lambda: corruption_panel(corrupted, levels, width=width, columns=columns),
        caption=f"{picture.name} under {', '.join(corrupted)}; {words} "
        f"{', '.join(map(str, levels))}.",
        notes=[],
        quiet=choices.quiet,
    )


def _check_figure(out: Path, inputs: Iterable[Path | None]) -> None:
    """Check that a figure can be written.

    Raises
    ------
    InputError
        For another ending, or a path that cannot be written or is an input.
    """
    if out.suffix.lower().lstrip(".") not in FORMATS:
        raise InputError(
            f"--out {out}: the name must end in {', '.join(f'.{each}' for each in FORMATS)}"
        )
    outputs.check_outputs([out], inputs)


def _chosen_images(
    given: Sequence[str] | None, names: Sequence[str], pictures: Pictures
) -> tuple[list[str], list[str]]:
    """Choose the images that a panel can show: those given, or those that have a picture.

    Raises
    ------
    InputError
        For a name that no image has.
    """
    known = set(names)
    for name in given or ():
        if name not in known:
            raise InputError(
                f"--image '{name}': no such image in annotations or predictions"
                f"{close_matches(name, names)}"
            )
    if given:
        return list(dict.fromkeys(given)), []
    found = [name for name in names if pictures.find(name) is not None]
    if not found or len(found) == len(names):
        return list(names), []
    note = f"{len(found):,} of {len(names):,} images have a picture in {pictures.folder}"
    return found, [f"{note}; chosen among these"]


def _subject_of(diagnosis: Diagnosis) -> dict[str, object]:
    """Return what a caption needs of a diagnosis; its whole result would take all oracles."""
    protocol = diagnosis.protocol
    return {
        "label": diagnosis.label,
        "dataset": diagnosis.vocabulary.name,
        "protocol": {"name": protocol.name, "signature": protocol.signature},
    }


def _write_figure(
    out: Path, draw: Callable[[], Figure], caption: str, notes: Sequence[str], quiet: bool
) -> None:
    """Draw and write a figure, and print the notes.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from diaghoi.plots.style import paper, save

    def write() -> list[str]:
        with paper():
            save(draw(), out, caption=caption)
        return []

    letters = noting_letters(write)
    if not quiet:
        print_written([out])
        print_notes([*notes, *letters])

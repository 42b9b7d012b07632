"""``diaghoi figures cases``: cases drawn on their pictures, individually or side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cases.cases import ERRORS, PER_IMAGE
from diaghoi.cases.similarities import COMPARED, KINDS
from diaghoi.cli import options, outputs
from diaghoi.cli.figures import class_of
from diaghoi.cli.options import argument, named, option, options_class, with_options, without
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import DetectorOptions, check_choice
from diaghoi.cli.similarity import SimilarityOptions
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import check_readable
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError, close_matches, number_of, printable
from diaghoi.formats.pictures import SUFFIXES, Pictures
from diaghoi.oracles import error_title

if TYPE_CHECKING:
    from diaghoi.report.case_figures import Model

MOST_MODELS, MOST_IMAGES = 6, 30  # more models or images do not fit in a figure
PAGE = ".html"
CASES, TYPICAL, OUTCOMES, CORRUPTED = (
    "a folder or a page of cases",
    "a figure of errors",
    "a figure of outcomes (of several files, or with --outcomes)",
    "a figure of a corrupted picture",
)
"""What is drawn."""
OF_PREDICTIONS = ("images", "annotations", "image")
OF_ERRORS = (*OF_PREDICTIONS, "pairs", "error", "hoi")
TAKEN = {
    CASES: (*OF_ERRORS, "most", "captions", "similarity", "kind"),
    TYPICAL: (*OF_ERRORS, "repairs", "across"),
    OUTCOMES: (*OF_PREDICTIONS, "most", "outcomes", "threshold", "across"),
    CORRUPTED: ("corruption", "severity", "seed", "across"),
}
"""Options that apply only to some outputs."""
CHOICE, LAYOUT, PICTURE = "Cases", "Figures", "Corrupted pictures"


@options_class
class CaseOptions:
    """Options for the cases and their outputs."""

    predictions: list[Path] = argument(
        metavar="PREDICTIONS...", help="Prediction files, or a picture to corrupt."
    )
    out: Path = option(
        panel=options.FILES,
        help="Where to write: a folder (one PNG per case), an .html page, or a .pdf, .svg or .png "
        "figure.",
    )
    images: Path | None = option(
        None, panel=options.READING, help="Folder with the pictures; required for predictions."
    )
    detector: DetectorOptions = without(
        DetectorOptions, "only_predicted_images", "zero_shot", "groups"
    )
    error: list[str] | None = option(
        None, panel=CHOICE, help=f"Error to show: {', '.join(ERRORS)}; repeatable [all]."
    )
    hoi: str | None = option(
        None, "--class", panel=CHOICE, help='Only cases of one class, such as "ride bicycle" [all].'
    )
    image: list[str] | None = option(
        None, metavar="NAME", panel=CHOICE, help="Only this image; repeatable [all]."
    )
    most: int | None = option(
        None,
        min=1,
        max=10_000,
        panel=CHOICE,
        help=f"Cases of each error, at most {PER_IMAGE} per image [24], or images in a figure of "
        "models [2].",
    )
    captions: bool = option(
        True,
        "--captions/--no-captions",
        panel=options.FILES,
        rare=True,
        help="Write a caption below each picture in the PNG files of a folder.",
    )
    repairs: bool = option(False, panel=LAYOUT, help="Show the oracle's repair next to each error.")
    outcomes: bool = option(
        False, panel=LAYOUT, help="Show right, false and missed pairs even for one model."
    )
    threshold: float | None = option(
        None, panel=LAYOUT, help="Minimum score of a pair [the score with the best F1]."
    )
    across: int | None = option(
        None, min=1, max=10, rare=True, help="Pictures per row [as many as are legible]."
    )
    column: options.Column = "single"
    corruption: list[str] | None = option(
        None, panel=PICTURE, help="Corruption: a name, abbreviation or group; repeatable [all]."
    )
    severity: list[str] | None = option(
        None,
        panel=PICTURE,
        help="Severity: 1 (mild) to 5, or 1-3; repeatable [1-5].",
    )
    seed: int = option(0, min=0, max=options.LARGEST_SEED, rare=True, help="Seed of corruptions.")
    kind: list[str] | None = option(
        None,
        panel=options.MEANING,
        help=f"Only errors of this similarity: {', '.join(KINDS)}; repeatable [all].",
    )
    tables: SimilarityOptions
    quiet: options.Quiet = False

    def __post_init__(self) -> None:
        shown, number = self.shown, len(self.predictions)
        for name in options.given(self):
            takers = [drawn for drawn, taken in TAKEN.items() if name in taken]
            if takers and shown not in takers:
                word = {"hoi": "class", "captions": "no-captions"}.get(name, name)
                raise InputError(
                    f"--{word.replace('_', '-')}: is for {' and '.join(takers)}, not for {shown}; "
                    "leave it out"
                )
        models = MOST_MODELS if shown == OUTCOMES else 1
        if number > models:
            raise InputError(f"{number} models: at most {models} for {shown}; give fewer")
        if shown == OUTCOMES and (self.most or 0) > MOST_IMAGES:
            raise InputError(f"--most {self.most}: at most {MOST_IMAGES} images fit a figure")
        if self.threshold is not None and isnan(self.threshold):
            raise InputError("--threshold nan: give a number")
        if shown != CORRUPTED and self.images is None:
            raise InputError(
                "--images: give the folder with the pictures; without them, 'diaghoi report "
                f"{self.predictions[0]} --out PAGE.html' shows the worst cases"
            )
        others = [name for name in self.errors if name not in COMPARED]
        if self.kinds and others:
            raise InputError(
                f"--kind: '{others[0]}' is not compared with annotations; only "
                f"{' and '.join(COMPARED)} are compared"
            )

    @property
    def suffix(self) -> str:
        """The suffix of the page or figure; empty for a folder."""
        return "" if self.out.is_dir() else self.out.suffix.lower()

    @property
    def shown(self) -> str:
        """What is drawn.

        Raises
        ------
        InputError
            If ``--out`` has an unsuitable suffix.
        """
        models = self.predictions
        endings: tuple[str, ...] = outputs.FIGURES
        corrupts = self.images is None and (self.corruption or self.severity)
        if corrupts or models[0].suffix.lower() in SUFFIXES:
            shown = CORRUPTED
        elif self.suffix in endings:
            shown = OUTCOMES if self.outcomes or len(models) > 1 else TYPICAL
        else:
            shown, endings = CASES, (*endings, PAGE, "")
        if self.suffix not in endings:
            raise InputError(
                f"--out {self.out}: the name must end in {', '.join(filter(None, endings))}"
                f"{', or be that of a folder' if shown == CASES else ''}"
            )
        return shown

    @property
    def errors(self) -> list[str]:
        """The requested errors; the default is all errors, or all with kinds if a kind is given."""
        if not self.error:
            return list(COMPARED if self.kind else ERRORS)
        known = (LABELS[0], *ERRORS)
        titles = {error_title(name).lower(): name for name in known}
        spelt = [name.strip() for each in self.error for name in each.split(",")]
        plain = [titles.get(name.lower(), name).replace("-", "_") for name in spelt]
        return named("--error", ",".join(plain), known)

    @property
    def kinds(self) -> list[str]:
        """The requested kinds of errors: near, plausible or wrong in meaning, or nothing there."""
        return named("--kind", ",".join(self.kind), KINDS) if self.kind else []

    def of_class(self, diagnosis: Diagnosis) -> int | None:
        """Find the requested class."""
        return None if self.hoi is None else class_of(self.hoi, diagnosis.vocabulary)

    @property
    def layout(self) -> dict[str, Any]:
        """Layout of the pictures in a figure."""
        return {"width": outputs.width_of(self.column), "columns": self.across or 0}

    def check(self, inputs: Sequence[Path | None]) -> None:
        """Reject unusable inputs and outputs before any work starts."""
        out, images = self.out, self.images
        if self.suffix:
            outputs.check_outputs([out], inputs)
        else:
            outputs.check_folder(out)
            if images is not None and os.path.realpath(out) == os.path.realpath(images):
                raise InputError(
                    f"{out}: is the folder with the input pictures; give another folder"
                )
        if self.suffix == PAGE:
            outputs.check_page()
        check_readable(inputs)


@with_options
def cases(choices: CaseOptions) -> None:
    """Draw cases of errors on their pictures.

    A folder or page shows the worst cases of each error. A figure shows a typical case of each
    error; of several models, right, false and missed pairs where the first and the last differ
    most; of a picture, the corruptions of RoHOI.
    """
    said = ""
    with progress(choices.quiet) as bar:
        if choices.images is None:
            notes = _write_corrupted(choices, bar)
        else:
            pictures = Pictures(choices.images)
            models, similarity, notes = _read(choices, bar)
            if choices.shown == CASES:
                said, remarks = _write_gallery(choices, models[0], similarity, pictures, bar)
            else:
                remarks = _write_figure(choices, models, pictures)
            notes += remarks
    if choices.quiet:
        return
    if said:
        typer.echo(f"{choices.out}: {said}")
    else:
        typer.echo(f"Wrote {printable(str(choices.out))}", err=True)
    outputs.print_notes(dict.fromkeys(notes))


def _read(
    choices: CaseOptions, bar: Progress
) -> tuple[list[Model], dict[str, Any] | None, list[str]]:
    """Read and diagnose the models; return the diagnoses, the similarity tables and notes."""
    detector, evaluation = choices.detector, choices.detector.evaluation
    evaluation.check(detector.named)
    if choices.hoi is not None:
        check_choice(partial(class_of, choices.hoi), detector.named)
    beside = choices.tables.files
    choices.check([*choices.predictions, *detector.files, *beside])
    wanted = choices.kinds or choices.tables.similarity is not None
    similarity = choices.tables.read(bar) if wanted else None
    models: list[Model] = []
    notes: list[str] = []
    for path in choices.predictions:
        read = detector.read(path, bar, lambda inputs: choices.check([*inputs, *beside]))
        bar.start("matching", total=len(read.annotations))
        protocol = evaluation.made(read.vocabulary)
        diagnosis = diagnose(*read.scenes, protocol, label=path.stem, progress=bar.advance)
        models.append((diagnosis, *read.scenes))
        notes += [*read.notes, *diagnosis.reading_notes]
        names = diagnosis.names.tolist()
        for name in set(choices.image or ()) - set(names):
            raise InputError(
                f"--image '{name}': no such image in annotations or predictions"
                f"{close_matches(name, names)}"
            )
    return models, similarity, notes


def _write_gallery(
    choices: CaseOptions,
    model: Model,
    similarity: dict[str, Any] | None,
    pictures: Pictures,
    bar: Progress,
) -> tuple[str, list[str]]:
    """Choose the cases and write them; return the number of cases for each error, and notes."""
    from diaghoi.report.gallery import gallery_of, write_folder, write_page

    diagnosis, *_ = model
    similarities, notes = None, []
    if similarity is not None:
        from diaghoi.semantic.diagnosis import semantic_diagnosis
        from diaghoi.semantic.run_evaluation import evaluate

        bar.start("comparing the meaning of errors", total=len(diagnosis.names))
        settings = similarity | {"protocol": diagnosis.protocol, "progress": bar.advance}
        evaluated = evaluate(*model[1:], **settings)
        similarities, notes = semantic_diagnosis(evaluated).similarities(), [*evaluated.notes]
    gallery = gallery_of(
        *model,
        choices.errors,
        hoi=choices.of_class(diagnosis),
        top=choices.most or 24,
        similarities=similarities,
        kinds=choices.kinds,
        images=choices.image or (),
    )
    bar.start("drawing", total=len(gallery.cases))
    write = write_page if choices.suffix else partial(write_folder, captions=choices.captions)
    notes += outputs.noting_letters(
        lambda: write(choices.out, gallery, pictures, progress=bar.advance)
    )
    counts = (f"{each.error} {len(each.cases)} of {each.total:,}" for each in gallery.sections)
    of_class = f" of '{gallery.hoi}'" if gallery.hoi else ""
    of_kind = f", {' or '.join(gallery.kinds)}" if gallery.kinds else ""
    return f"{number_of('case', len(gallery.cases))}{of_class}{of_kind}: {', '.join(counts)}", notes


def _write_figure(choices: CaseOptions, models: Sequence[Model], pictures: Pictures) -> list[str]:
    """Write a figure of errors or of outcomes, and return notes."""
    from diaghoi.report.case_figures import write_outcomes, write_typical

    more = {"images": choices.image or (), **choices.layout}
    if choices.shown == OUTCOMES:
        more |= {"top": choices.most or 2, "threshold": choices.threshold}
        draw = partial(write_outcomes, choices.out, models, pictures)
    else:
        more |= {"hoi": choices.of_class(models[0][0]), "repairs": choices.repairs}
        draw = partial(write_typical, choices.out, models[0], choices.errors, pictures)
    return outputs.noting_letters(partial(draw, **more))


def _write_corrupted(choices: CaseOptions, bar: Progress) -> list[str]:
    """Write a figure of a picture under corruptions."""
    from diaghoi.cli.robustness import corruptions_named, severities_of
    from diaghoi.report.case_figures import write_corrupted

    (picture,) = choices.predictions
    corruptions = [each.name for each in corruptions_named(choices.corruption)]
    chosen = corruptions, severities_of(choices.severity)
    choices.check([picture])
    bar.start("corrupting", total=len(corruptions))
    more = {"seed": choices.seed, "progress": bar.advance, **choices.layout}
    return outputs.noting_letters(partial(write_corrupted, choices.out, picture, *chosen, **more))

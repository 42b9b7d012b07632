"""``diaghoi gallery``: pictures of the worst cases of each error."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi import diagnosis
from diaghoi.cases import ERRORS, PER_IMAGE
from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.cli.report_files import PAGES
from diaghoi.errors import LABELS
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.groups import find_class
from diaghoi.meeting import sampled_warnings
from diaghoi.protocol import PROTOCOLS
from diaghoi.protocol import protocol as protocol_named
from diaghoi.vocabulary import Vocabulary, vocabulary

# Endings of files that are none of a folder.
OTHERS = (".pdf", ".png", ".jpg", ".jpeg", ".svg", ".json", ".csv", ".zip")

Images = Annotated[Path, typer.Option(help="Folder with the pictures.", readable=False)]
Out = Annotated[
    Path, typer.Option(help="A folder for one PNG a case, or one page FILE.html.", readable=False)
]
Error = Annotated[
    list[str] | None,
    typer.Option(help=f"Of {', '.join(ERRORS)}; give it again for more of them [all]."),
]
Hoi = Annotated[
    str | None, typer.Option("--class", help='Cases of one class, like "ride bicycle" [all].')
]
Top = Annotated[
    int,
    typer.Option(min=1, help=f"Cases of each error, worst first; {PER_IMAGE} of an image at most."),
]
Protocol = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(PROTOCOLS)} [that of the data set].")
]


def gallery(
    predictions: options.Predictions,
    images: Images,
    out: Out,
    annotations: options.Annotations = None,
    error: Error = None,
    hoi: Hoi = None,
    top: Top = 24,
    pairs: options.Pairs = None,
    dataset: options.Dataset = None,
    protocol: Protocol = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw the worst cases of each error over their pictures, with the error in words."""
    from diaghoi.report.gallery import gallery_of, write_folder
    from diaghoi.report.gallery_page import write_page
    from diaghoi.report.pictures import Pictures

    errors = _errors(error)
    inputs = [predictions, annotations, pairs, instances, ids]
    page = _check_out(out, inputs, images)
    pictures = Pictures(images)
    words = vocabulary(dataset or "hico-det")
    protocol_named(protocol or words.protocol)
    reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects}
    with progress(quiet) as shown:
        shown.start("reading predictions")
        found = read_predictions(
            predictions,
            pairs=pairs,
            dataset=words if dataset else None,
            image_id=image_id,
            **reading,
        )
        words = found.vocabulary
        wanted = None if hoi is None else _class(hoi, words)
        located = find_annotations(words) if annotations is None else in_folder(annotations, words)
        _check_out(out, [*inputs, located.path], images)
        shown.start("reading annotations")
        truth = read_annotations(located.path, dataset=words, instances=instances, ids=ids)
        suspicions = sampled_warnings(truth, found)
        shown.start("matching", total=len(truth))
        diagnosed = diagnosis.diagnose(
            truth, found, protocol, label=predictions.stem, progress=shown.advance
        )
        chosen = gallery_of(diagnosed, truth, found, errors, hoi=wanted, top=top)
        shown.start("drawing", total=len(chosen.cases))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            write = write_page if page else write_folder
            notes = write(out, chosen, pictures, progress=shown.advance)
    if quiet:
        return
    counts = (f"{each.error} {len(each.cases)} of {each.total:,}" for each in chosen.sections)
    of_class = f" of '{chosen.hoi}'" if chosen.hoi else ""
    typer.echo(f"{out}: {len(chosen.cases)} cases{of_class}: {', '.join(counts)}")
    if any("missing from font" in str(each.message) for each in caught):
        notes.append("the font has not all letters of the names; boxes stand for them")
    print_notes([*located.notes, *suspicions, *diagnosed.reading_notes, *notes])


def _errors(given: list[str] | None) -> list[str]:
    """Read the names of errors, also with hyphens, and several with commas between them.

    Raises
    ------
    InputError
        For an unknown one.
    """
    if not given:
        return list(ERRORS)
    names = [name.strip().replace("-", "_") for each in given for name in each.split(",")]
    known = (LABELS[0], *ERRORS)
    for name in names:
        if name not in known:
            raise InputError(
                f"--error '{name}': not known{close_matches(name, known)}; "
                f"give some of {', '.join(known)}"
            )
    return list(dict.fromkeys(names))


def _class(given: str, words: Vocabulary) -> int:
    """Find a class by its number from one or its name, also with hyphens between the words.

    Raises
    ------
    InputError
        Where there is no such class.
    """
    if given.isdecimal():
        return find_class("--class", int(given), words)
    plain = {name.replace("-", " "): name for name in words.class_named}
    return find_class("--class", plain.get(given.replace("-", " ").replace("_", " "), given), words)


def _check_out(out: Path, inputs: list[Path | None], images: Path) -> bool:
    """Refuse what could not be written, before the work begins; tell whether it is a page."""
    if out.suffix.lower() in PAGES:
        outputs.check_files([out], inputs)
        return True
    if out.suffix.lower() in OTHERS:
        raise InputError(f"{out}: neither a folder nor a page; give a folder or FILE.html")
    outputs.check_folder(out)
    if out.resolve() == images.resolve():
        raise InputError(f"{out}: holds the pictures that are read; give another folder")
    return False

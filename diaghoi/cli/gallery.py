"""``diaghoi gallery``: pictures of the worst cases of each error."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cases.cases import ERRORS, PER_IMAGE
from diaghoi.cases.similarities import COMPARED, KINDS
from diaghoi.cli import options, outputs
from diaghoi.cli.options import option, options_class, with_options, without
from diaghoi.cli.present import noting_letters, print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import Inputs, ReadingOptions, check_choice
from diaghoi.cli.report_files import PAGES
from diaghoi.cli.similarity import options as similar
from diaghoi.data.groups import find_class
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import error_title
from diaghoi.report.pages import check_installed

if TYPE_CHECKING:
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.report.gallery import Gallery

# Suffixes of files: a folder with such a name is almost certainly a mistake.
OTHERS = (".pdf", ".png", ".jpg", ".jpeg", ".svg", ".json", ".csv", ".zip")

Error = Annotated[
    list[str] | None, typer.Option(help=f"One of {', '.join(ERRORS)}; repeatable [all].")
]


@options_class
class GalleryOptions:
    """Which cases are drawn, and where to."""

    predictions: options.Predictions
    out: Path = option(help="A folder for one PNG per case, or a single page FILE.html.")
    images: Path | None = option(None, help="Folder with the pictures; needed.")
    annotations: options.Annotations = None
    error: Error = None
    hoi: str | None = option(None, "--class", help='Cases of one class, like "ride bicycle" [all].')
    top: int = option(
        24,
        min=1,
        max=10_000,
        help=f"Cases of each error, worst first; at most {PER_IMAGE} per image.",
    )
    verb_table: similar.MaybeVerbTable = None
    object_table: similar.MaybeObjectTable = None
    kind: list[str] | None = option(
        None,
        panel=options.MEANING,
        help=f"Only errors of this similarity: {', '.join(KINDS)}; repeatable [all].",
    )
    captions: bool = option(
        True,
        "--captions/--no-captions",
        help="Whether the PNG files of a folder have text below.",
    )
    combination: similar.CombinationOptions
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "top")
    protocol: options.ProtocolName = None
    quiet: options.Quiet = False


@with_options
def gallery(choices: GalleryOptions) -> None:
    """Draw the worst cases of each error on their pictures, with an explanation."""
    from diaghoi.formats.pictures.folder import Pictures

    out, images, hoi = choices.out, choices.images, choices.hoi
    if images is None:
        raise InputError(
            "--images: give the folder with the pictures; without them, 'diaghoi report --html "
            "PAGE.html' shows the worst cases"
        )
    tables = similar.tables_if_given(
        choices.verb_table, choices.object_table, choices.combination, choices.kind
    )
    files = choices.reading.files(choices.predictions, choices.annotations, choices.pairs)
    kinds = _names("--kind", choices.kind or [], KINDS)
    errors = error_names(choices.error, kinds)
    protocol_named(choices.protocol or files.vocabulary.protocol)
    if hoi is not None:
        check_choice(partial(_class, hoi), files.vocabulary if files.dataset else None)

    def check(inputs: list[Path | None]) -> None:
        _check_out(out, inputs if tables is None else [*inputs, *tables.inputs], images)

    check(files.inputs)
    outputs.check_inputs([*files.inputs, *([] if tables is None else tables.inputs)])
    pictures = Pictures(images)
    with progress(choices.quiet) as bar:
        similarity = None if tables is None else tables.read(bar)
        read = files.read(bar, check)
        chosen, notes = _choose(choices, read, errors, kinds, similarity, bar)
        bar.start("drawing", total=len(chosen.cases))
        notes += _draw(out, chosen, pictures, choices.captions, bar)
    if not choices.quiet:
        typer.echo(f"{out}: {_counts(chosen)}")
        print_notes(notes)


def _choose(
    choices: GalleryOptions,
    read: Inputs,
    errors: list[str],
    kinds: list[str],
    tables: dict[str, Any] | None,
    bar: Progress,
) -> tuple[Gallery, list[str]]:
    """Diagnose; return the cases, and notes about the input."""
    from diaghoi.report.gallery import gallery_of

    hoi = None if choices.hoi is None else _class(choices.hoi, read.vocabulary)
    bar.start("matching", total=len(read.annotations))
    label = choices.predictions.stem
    diagnosed = diagnosing.diagnose(
        *read.scenes, choices.protocol, label=label, progress=bar.advance
    )
    notes = [*read.notes, *diagnosed.reading_notes]
    similarities = None
    if tables is not None:
        from diaghoi.semantic.diagnosis import semantic_diagnosis
        from diaghoi.semantic.run_evaluation import evaluate

        bar.start("finding out what errors mean", total=len(read.annotations))
        evaluated = evaluate(
            *read.scenes, **tables, protocol=diagnosed.protocol, progress=bar.advance
        )
        similarities = semantic_diagnosis(evaluated).similarities()
        notes += evaluated.notes
    chosen = gallery_of(
        diagnosed,
        *read.scenes,
        errors,
        hoi=hoi,
        top=choices.top,
        similarities=similarities,
        kinds=kinds,
    )
    return chosen, list(dict.fromkeys(notes))


def _draw(
    out: Path, chosen: Gallery, pictures: Pictures, captions: bool, bar: Progress
) -> list[str]:
    """Write the gallery; return notes on pictures and letters."""
    from diaghoi.report.gallery import write_folder
    from diaghoi.report.gallery_page import write_page

    write = write_page if _is_page(out) else partial(write_folder, captions=captions)
    return noting_letters(lambda: write(out, chosen, pictures, progress=bar.advance))


def _counts(chosen: Gallery) -> str:
    """Summarise the number of cases of each error."""
    counts = (f"{each.error} {len(each.cases)} of {each.total:,}" for each in chosen.sections)
    of_class = f" of '{chosen.hoi}'" if chosen.hoi else ""
    of_kind = f", {' or '.join(chosen.kinds)}" if chosen.kinds else ""
    count = len(chosen.cases)
    return f"{count} case{'s' * (count != 1)}{of_class}{of_kind}: {', '.join(counts)}"


def error_names(given: list[str] | None, kinds: list[str]) -> list[str]:
    """Read the names of errors; by default all, or those that have kinds if kinds are given.

    Parameters
    ----------
    given : list of str or None
        From the command line: names or titles, also several with commas.
    kinds : list of str
        The kinds of errors by similarity that are asked for.

    Raises
    ------
    InputError
        For an unknown error, and one without kinds if kinds are given.
    """
    if not given:
        return list(COMPARED if kinds else ERRORS)
    known = (LABELS[0], *ERRORS)
    titles = {error_title(name).lower(): name for name in known}
    spelt = [name.strip() for each in given for name in each.split(",")]
    names = _names("--error", [titles.get(name.lower(), name) for name in spelt], known)
    for name in names if kinds else ():
        if name not in COMPARED:
            raise InputError(
                f"--kind: '{name}' is not compared with what is annotated; only "
                f"{' and '.join(COMPARED)} are"
            )
    return names


def _names(option: str, given: list[str], known: Collection[str]) -> list[str]:
    """Read names, separated by commas and possibly with hyphens.

    Raises
    ------
    InputError
        For an unknown one.
    """
    names = [name.strip().replace("-", "_") for each in given for name in each.split(",")]
    for name in names:
        if name not in known:
            raise InputError(
                f"{option} '{name}': not known{close_matches(name, known)}; "
                f"give some of {', '.join(known)}"
            )
    return list(dict.fromkeys(names))


def _class(given: str, vocabulary: Vocabulary) -> int:
    """Find a class by its number, counted from one, or its name, possibly with hyphens.

    Raises
    ------
    InputError
        If the class does not exist.
    """
    if given.isdecimal():
        return find_class("--class", int(given), vocabulary)
    plain = {name.replace("-", " "): name for name in vocabulary.class_named}
    return find_class(
        "--class", plain.get(given.replace("-", " ").replace("_", " "), given), vocabulary
    )


def _is_page(out: Path) -> bool:
    return out.suffix.lower() in PAGES


def _check_out(out: Path, inputs: list[Path | None], images: Path) -> None:
    """Check the output files before the work begins."""
    if _is_page(out):
        outputs.check_files([out], inputs)
        check_installed()
        return
    if out.suffix.lower() in OTHERS:
        raise InputError(f"{out}: is neither a folder nor a page; give a folder or FILE.html")
    outputs.check_folder(out)
    if os.path.realpath(out) == os.path.realpath(images):
        raise InputError(f"{out}: is the folder of the input pictures; give another folder")

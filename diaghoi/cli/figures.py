"""``diaghoi figures``: paper figures of a study of several detectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.options import FORMATS, named, option, options_class, with_options
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import ProtocolOptions, check_annotations, check_choice
from diaghoi.comparison.results import read_result, read_semantic
from diaghoi.comparison.study import Study, read_studies
from diaghoi.data.groups import find_class
from diaghoi.data.memory import cores, rarely_collected
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.pictures import Pictures

if TYPE_CHECKING:
    from diaghoi import plots
    from diaghoi.engines.engine import Engine

LARGE = 20_000_000  # bytes of predictions
ONE = "show one data set at a time; draw each study separately"


def _listed() -> str:
    """List the figures of a study, one per line."""
    from diaghoi import plots

    width = max(map(len, plots.FIGURES))
    return "\n".join(
        f"{name:{width}}  {kind.title}{' (default)' if kind.usual else ''}"
        for name, kind in plots.FIGURES.items()
    )


@options_class
class FigureOptions:
    """Options for the figures."""

    study: options.StudyFile
    out: options.Folder
    column: str = option("double", among=options.COLUMNS, help=options.COLUMN_HELP)
    format: str = option("pdf", help=f"One or more of {', '.join(FORMATS)}, separated by commas.")
    only: str | None = option(
        None,
        metavar="NAME,...",
        help="Only these figures, separated by commas; --only help lists them.",
        callback=options.explaining(_listed),
        is_eager=True,
    )
    every: bool = option(False, "--all", help="Draw all figures, not only the default figures.")
    images: Path | None = option(
        None, help="Folder with the pictures, for the typical cases in the figure 'sheet'."
    )
    hoi: str | None = option(
        None, "--class", help='Class for figures of one class, such as "ride bicycle".'
    )
    workers: options.Workers = None
    quiet: options.Quiet = False


@with_options
def figures(choices: FigureOptions) -> None:
    """Draw the figures of a study of several detectors, in the column width of a paper.

    'diaghoi figures cases' draws single cases on their pictures.
    """
    from diaghoi import plots
    from diaghoi.engines.engine import LocalEngine

    study, out, hoi = choices.study, choices.out, choices.hoi
    formats = named("--format", choices.format, FORMATS)
    studies = [replace(each, images=choices.images) for each in read_studies(study)]
    models = [model for each in studies for model in each.models]
    chosen = list(plots.FIGURES if choices.every else plots.USUAL)
    if choices.only is not None:
        chosen = named("--only", choices.only, plots.FIGURES)
    elif max(len(each.models) for each in studies) > plots.SHEET_MODELS:
        chosen.remove("sheet")
    # Results of the semantic evaluation have only one figure.
    usual = choices.only is None and not choices.every
    if usual and all(read_semantic(model.file) is not None for model in models):
        chosen = ["confusions"]
    if choices.images is not None:
        if "sheet" not in chosen:
            raise InputError(
                "--images: only the figure 'sheet' shows pictures, and the sheet is not drawn"
            )
        Pictures(choices.images)
    for each in studies:
        ProtocolOptions(protocol=each.protocol).check(each.vocabulary)
    notes: list[str] = []
    if len(studies) > 1:
        if hoi is not None:
            raise InputError(
                f"--class: {study} lists studies on several data sets; draw one of the studies"
            )
        single = [name for name in chosen if not plots.FIGURES[name].datasets]
        chosen = [name for name in chosen if name not in single]
        if not chosen:
            raise InputError(f"{study}: {some_of(single)}: {ONE}")
        notes += [f"{', '.join(single)}: not drawn: {ONE}"] if single else []
    files = {name: [out / f"{name}.{kind}" for kind in formats] for name in chosen}
    predictions = {path for model in models for path in (model.file, model.pairs) if path}
    beside = [path for each in studies for path in (each.annotations, each.instances, each.ids)]
    if out.suffix.lower() in outputs.FIGURES:
        raise InputError(f"--out {out}: give a folder, in which each figure becomes a file")
    outputs.check_folder(out)
    every = (*files.values(), _captions_in(out))
    written = [path for paths in every for path in paths] if out.exists() else []
    outputs.check_files(written, [study, *predictions, *beside])
    # Starting processes takes longer than diagnosing the models of a small study.
    size = sum(path.stat().st_size for path in predictions if path.is_file())
    processes = choices.workers or (cores() if size >= LARGE else 1)
    kinds = [plots.FIGURES[name] for name in chosen]
    with progress(choices.quiet) as bar, LocalEngine(processes) as engine:
        collections = [_collected(each, study, kinds, hoi, engine, bar) for each in studies]
        several = len(collections) > 1
        collection = plots.joined(collections, kinds) if several else collections[0]
        captions, remarks = _draw(collection, files, outputs.width_of(choices.column), engine, bar)
    notes += [*collection.notes, *remarks]
    if captions:
        _write_captions(out, captions, choices.column)
    if not choices.quiet:
        for name in captions:
            first, *others = files[name]
            paths = ", ".join([str(first), *(path.suffix for path in others)])
            typer.echo(f"{paths}: {captions[name].partition('. ')[0]}")
        outputs.print_notes(notes)
    if not captions:
        raise InputError(f"{study}: no figure could be drawn: {some_of(notes)}")


def _captions_in(folder: Path) -> tuple[Path, Path]:
    return folder / "captions.md", folder / "captions.tex"


def _write_captions(folder: Path, captions: Mapping[str, str], column: str) -> None:
    """Write the captions of figures as text and as LaTeX for a paper."""
    from diaghoi.report.latex import escaped

    kind = "figure*" if column == "double" else "figure"
    texts = {name: f"**{name}.** {text}" for name, text in captions.items()}
    floats = {
        name: f"\\begin{{{kind}}}\n  \\centering\n  \\includegraphics{_fitted(name)}{{{name}}}\n"
        f"  \\caption{{{escaped(text)}}}\n  \\label{{fig:{name}}}\n\\end{{{kind}}}"
        for name, text in captions.items()
    }
    marks = (r"\A\*\*(\w+)\.\*\*", r"\\label\{fig:(\w+)\}")
    for path, blocks, mark in zip(_captions_in(folder), (texts, floats), marks, strict=True):
        blocks = _drawn_before(path, mark) | blocks
        outputs.write_text(path, "\n\n".join(blocks.values()) + "\n")


def _drawn_before(path: Path, mark: str) -> dict[str, str]:
    """Read the captions in a file, by figure, of the figures that are still in its folder."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    named = ((re.search(mark, block), block) for block in text.strip("\n").split("\n\n"))
    found = {match[1]: block for match, block in named if match}
    return {name: found[name] for name in found if any(path.parent.glob(f"{name}.*"))}


def _fitted(name: str) -> str:
    """Scale a figure only if it takes a whole page, so that the caption fits."""
    from diaghoi import plots

    whole = plots.FIGURES[name].width is not None
    return r"[width=\linewidth,height=0.8\textheight,keepaspectratio]" if whole else ""


def class_of(name: str, vocabulary: Vocabulary) -> int:
    """Find the HOI class of ``--class``: a number, counted from one, or a name.

    Raises
    ------
    InputError
        If the class does not exist.
    """
    return find_class("--class", int(name) if name.isdecimal() else name, vocabulary)


def _collected(
    described: Study,
    study: Path,
    kinds: list[plots.FigureKind],
    hoi: str | None,
    engine: Engine,
    bar: Progress,
) -> plots.Collection:
    """Compute the data of all figures on one data set."""
    from diaghoi import plots

    locate = partial(_located, described.source or str(study))
    for model in described.models:
        if (read_result(model.file) or read_semantic(model.file)) is None:
            given, vocabulary = described.annotations, described.vocabulary
            check_annotations(given, vocabulary, model.file, locate)
            if hoi is not None:
                check_choice(partial(class_of, hoi), vocabulary)
            break
    return plots.collect(
        described,
        kinds,
        hoi=hoi,
        locate=locate,
        progress=lambda what: bar.start(f"diagnosing {what}"),
        engine=engine,
    )


def _located(study: str, vocabulary: Vocabulary) -> tuple[Path, list[str]]:
    """Find the annotations of the data set if the study does not name them."""
    try:
        located = find_annotations(vocabulary)
    except InputError:
        raise InputError(
            f"{study}: annotations: missing; add 'annotations = \"FILE\"' to the study"
        ) from None
    return located.path, located.notes


def _draw(
    collection: plots.Collection,
    files: Mapping[str, list[Path]],
    width: float,
    engine: Engine,
    bar: Progress,
) -> tuple[dict[str, str], list[str]]:
    """Draw and write the figures; return the captions of the figures that were drawn, and notes."""
    from diaghoi.engines.engine import Failure, Task

    notes, tasks = [], []
    for name, paths in files.items():
        models = collection.models[name]
        for reason, labels in collection.left_out[name].items():
            lacking = f"without {', '.join(labels)}" if models else "not drawn"
            notes.append(f"{name}: {lacking}: {reason}")
        if models:
            arguments = name, models, width, paths, collection.caption(name)
            tasks.append(Task(name, _drawn, arguments))
    bar.start("drawing", total=len(tasks))
    done: dict[str, tuple[str, list[str]]] = {}
    for name, outcome in engine.run(tasks):
        if isinstance(outcome, Failure):
            raise InputError(outcome.message)
        done[name] = outcome
        bar.advance(1)
    drawn = {name: done[name] for name in files if name in done}
    notes += [f"{name}: {note}" for name, (_, remarks) in drawn.items() for note in remarks]
    return {name: text for name, (text, _) in drawn.items() if text}, notes


def _drawn(
    name: str, models: Sequence[plots.ModelData], width: float, paths: Sequence[Path], about: str
) -> tuple[str, list[str]]:
    """Draw and write a figure; return its caption, empty if it could not be drawn, and notes."""
    from diaghoi import plots

    title = plots.FIGURES[name].title_of(models)
    said = [f"{title}.", about]

    def write() -> list[str]:
        figure = plots.figure_of(plots.FIGURES[name], models, width)
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path in paths:
            plots.save(figure, path, caption=f"{title}: {about}")
        said.extend(plots.notes_of(figure))
        return []

    try:
        with rarely_collected():
            notes = outputs.noting_letters(write)
    except plots.NotApplicable as reason:
        return "", [f"not drawn: {reason}"]
    return " ".join(said), notes

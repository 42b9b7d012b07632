"""``diaghoi figures``: the figures of a study of several detectors, for a paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.options import FORMATS, named, option, options_class, with_options
from diaghoi.cli.present import lacks_letters, print_notes, width_of
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import check_annotations, check_choice
from diaghoi.comparison.results import read_result, read_semantic
from diaghoi.comparison.study import Study, read_studies
from diaghoi.data.arrays.allocation import rarely_collected
from diaghoi.data.arrays.threads import cores
from diaghoi.data.groups import find_class
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, some_of

if TYPE_CHECKING:
    from diaghoi import plots
    from diaghoi.engines.engine import Engine

LARGE = 20_000_000  # bytes of predictions
ONE = "show one data set at a time; draw the study of each"


@options_class
class FigureOptions:
    """Which figures are drawn, and how."""

    study: options.StudyFile
    out: options.Folder
    column: options.Column = "double"
    format: str = option("pdf", help=f"One or more of {', '.join(FORMATS)}, separated by commas.")
    only: str | None = option(
        None, metavar="NAME,...", help="Only these figures, separated by commas [all]."
    )
    hoi: str | None = option(
        None, "--class", help='The class for figures of a single class, like "ride bicycle".'
    )
    workers: options.Workers = None
    quiet: options.Quiet = False


@with_options
def figures(choices: FigureOptions) -> None:
    """Draw the figures of a study of several detectors, in the column width of a paper."""
    from diaghoi import plots
    from diaghoi.engines.engine import LocalEngine

    study, out, only, hoi = choices.study, choices.out, choices.only, choices.hoi
    chosen = list(plots.FIGURES) if only is None else named("--only", only, plots.FIGURES)
    formats = named("--format", choices.format, FORMATS)
    studies = read_studies(study)
    if len(studies) > 1 and hoi is not None:
        raise InputError(f"--class: {study} lists studies on several data sets; draw one of them")
    for each in studies:
        if each.protocol is not None:
            protocol_named(each.protocol)
    notes: list[str] = []
    if len(studies) > 1:
        single = [name for name in chosen if not plots.FIGURES[name].datasets]
        chosen = [name for name in chosen if name not in single]
        if not chosen:
            raise InputError(f"{study}: {some_of(single)}: {ONE}")
        notes += [f"{', '.join(single)}: not drawn: {ONE}"] if single else []
    kinds = [plots.FIGURES[name] for name in chosen]
    files = {name: [out / f"{name}.{kind}" for kind in formats] for name in chosen}
    _check(files, out, study, studies)
    processes = _processes(studies, choices.workers)
    with progress(choices.quiet) as bar, LocalEngine(processes) as engine:
        collections = [_collected(each, study, kinds, hoi, engine, bar) for each in studies]
        several = len(collections) > 1
        collection = plots.joined(collections, kinds) if several else collections[0]
        notes += collection.notes
        written = _draw(collection, files, width_of(choices.column), notes, engine, bar)
    if not choices.quiet:
        for name, title in written.items():
            first, *others = files[name]
            paths = ", ".join([str(first), *(path.suffix for path in others)])
            typer.echo(f"{paths}: {title}")
        print_notes(notes)
    if not written:
        raise InputError(f"{study}: no figure could be drawn: {some_of(notes)}")


def _processes(studies: Sequence[Study], workers: int | None) -> int:
    """Return how many processes share the work; starting them takes longer than small studies."""
    if workers is not None:
        return workers
    files = {
        file for study in studies for model in study.models for file in (model.file, model.pairs)
    }
    size = sum(file.stat().st_size for file in files if file is not None and file.is_file())
    return cores() if size >= LARGE else 1


def _collected(
    described: Study,
    study: Path,
    kinds: list[plots.FigureKind],
    hoi: str | None,
    engine: Engine,
    bar: Progress,
) -> plots.Collection:
    """Compute the data of the figures of one data set."""
    from diaghoi import plots

    predicted = [
        model
        for model in described.models
        if (read_result(model.file) or read_semantic(model.file)) is None
    ]
    locate = partial(_located, described.source or str(study))
    if predicted:
        given, known = described.annotations, described.vocabulary
        check_annotations(given, known, predicted[0].file, locate)
        if hoi is not None:
            number = int(hoi) if hoi.isdecimal() else hoi
            check_choice(partial(find_class, "class", number), known)
    return plots.collect(
        described,
        kinds,
        hoi=hoi,
        locate=locate,
        progress=lambda what: bar.start(f"diagnosing {what}"),
        engine=engine,
    )


def _located(study: str, vocabulary: Vocabulary) -> tuple[Path, list[str]]:
    """Find the annotations of a data set where the study does not name them."""
    try:
        found = find_annotations(vocabulary)
    except InputError:
        raise InputError(
            f"{study}: annotations: missing; add 'annotations = \"FILE\"' to the study"
        ) from None
    return found.path, found.notes


def _check(
    files: dict[str, list[Path]], out: Path, study: Path, studies: tuple[Study, ...]
) -> None:
    """Check the output files before the work begins."""
    if out.suffix.lower().lstrip(".") in FORMATS:
        raise InputError(f"--out {out}: give a folder; the figures get names of their own in it")
    outputs.check_folder(out)
    inputs: list[Path | None] = [study]
    for described in studies:
        inputs += [described.annotations, described.instances, described.ids]
        for model in described.models:
            inputs += [model.file, model.pairs]
    written = [path for paths in files.values() for path in paths] if out.exists() else []
    outputs.check_files(written, inputs)


def _draw(
    collection: plots.Collection,
    files: dict[str, list[Path]],
    width: float,
    notes: list[str],
    engine: Engine,
    bar: Progress,
) -> dict[str, str]:
    """Draw and write the figures; return what those that could be drawn show, by name."""
    from diaghoi import plots
    from diaghoi.engines.engine import Failure, Task

    # Figures of one module import the same: two processes would both take their time for Seaborn.
    together: dict[str, list[tuple[Any, ...]]] = {}
    for name, paths in files.items():
        models = collection.models[name]
        for reason, labels in collection.left_out[name].items():
            lacking = f"without {', '.join(labels)}" if models else "not drawn"
            notes.append(f"{name}: {lacking}: {reason}")
        if models:
            arguments = (name, models, width, paths, collection.caption(models))
            together.setdefault(plots.FIGURES[name].draw.__module__, []).append(arguments)
    tasks = [Task(module, _drawn_together, (each,)) for module, each in together.items()]
    bar.start("drawing", total=sum(map(len, together.values())))
    done: dict[str, _Drawn] = {}
    for _, outcome in engine.run(tasks):
        if isinstance(outcome, Failure):
            raise InputError(outcome.message)
        done |= outcome
        bar.advance(len(outcome))
    drawn = {name: done[name] for name in files if name in done}
    notes += [f"{name}: not drawn: {each.reason}" for name, each in drawn.items() if each.reason]
    without_letters = [name for name, each in drawn.items() if each.lacks_letters]
    if without_letters:
        notes.append(
            f"{some_of(without_letters)}: the font has not all letters of the labels; boxes stand "
            "for them"
        )
    return {name: each.title for name, each in drawn.items() if not each.reason}


class _Drawn(NamedTuple):
    """What a figure shows, or why it could not be drawn."""

    title: str
    reason: str = ""
    lacks_letters: bool = False


def _drawn_together(figures: Sequence[tuple[Any, ...]]) -> dict[str, _Drawn]:
    """Draw and write some figures by name, as a worker does."""
    return {name: _drawn(name, *settings) for name, *settings in figures}


def _drawn(
    name: str, models: Sequence[plots.ModelData], width: float, paths: Sequence[Path], caption: str
) -> _Drawn:
    """Draw and write one figure."""
    from diaghoi import plots

    kind = plots.FIGURES[name]
    with rarely_collected(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            figure = plots.figure_of(kind, models, width)
        except plots.NotApplicable as reason:
            return _Drawn("", str(reason))
        title = kind.title_of(models)
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path in paths:
            plots.save(figure, path, caption=f"{title}: {caption}")
    return _Drawn(title, "", lacks_letters(caught))

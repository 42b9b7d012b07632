"""``diaghoi robustness``: detectors on corrupted pictures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.comparison_tables import Format, Out, table_format, written_tables
from diaghoi.cli.engines import EngineName, Scheduler, check_engine, started
from diaghoi.cli.figure_options import FORMATS, Column, named
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes, width_of
from diaghoi.cli.progress import Progress, progress
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.exceptions import InputError, number_of, some_of
from diaghoi.formats.containers.atomic import replacing
from diaghoi.formats.datasets import vocabulary as vocabulary_named
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.robustness.evaluation import Robustness
    from diaghoi.robustness.study import RobustnessStudy

Metric = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Any score of the report: map.full, pairs.recall, soft_map [official mAP, or role AP "
        "of scenario 2].",
    ),
]
Errors = Annotated[bool, typer.Option("--errors", help="Show how much each error grows.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Print all tables, and a sentence on each corruption."),
]
Figures = Annotated[
    Path | None, typer.Option(help="Draw the figures into this folder.", readable=False)
]
FigureFormat = Annotated[
    str,
    typer.Option(help=f"Of the figures: one or more of {', '.join(FORMATS)}, separated by commas."),
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--corruption",
        metavar="NAME",
        help="A corruption to show in the figures of single corruptions, by name, abbreviation or "
        "group; repeatable [all; by severity the three that cost most].",
    ),
]
Significance = Annotated[
    bool,
    typer.Option(
        "--significance",
        help="Test the highest severity of each corruption against the clean pictures.",
    ),
]
Block = Annotated[
    int | None,
    typer.Option(min=1, max=options.MOST_IMAGES, help="Images per unit of work [a whole run]."),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Cache finished runs in this folder, and reuse them.",
        readable=False,
    ),
]


def robustness(
    study: options.StudyFile,
    metric: Metric = None,
    format: Format = None,
    out: Out = None,
    json: options.Json = None,
    figures: Figures = None,
    column: Column = "double",
    figure_format: FigureFormat = "pdf",
    corruption: Shown = None,
    errors: Errors = False,
    verbose: Verbose = False,
    bootstrap: options.Bootstrap = None,
    significance: Significance = False,
    resamples: options.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    workers: options.Workers = None,
    block: Block = None,
    cache: Cache = None,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate detectors on corrupted pictures: MRI, CRI, and which errors grow."""
    from diaghoi.robustness.evaluation import evaluate_study
    from diaghoi.robustness.store import Store
    from diaghoi.robustness.study import read_robustness_study
    from diaghoi.robustness.work import Asked
    from diaghoi.statistics.bootstrap import check_settings

    kind = table_format(format, out)
    formats = named("--figure-format", figure_format, FORMATS)
    changed = {
        "--column": column != "double",
        "--figure-format": formats != ["pdf"],
        "--corruption": bool(corruption),
    }
    for option, given in changed.items():
        if given and figures is None:
            raise InputError(f"{option}: is for figures; add --figures FOLDER")
    check_engine(engine, scheduler)
    for number in (bootstrap, resamples if significance else None):
        if number is not None:
            # Images are counted when they are read.
            check_settings(2, number, confidence)
    described = read_robustness_study(study)
    if described.protocol is not None:
        protocol_named(described.protocol)
    shown = _shown(corruption or (), described)
    described, located = _located(described)
    _check_outputs(described, study, [out, json], [figures, cache])
    with progress(quiet) as bar, started(engine, scheduler, workers, bar) as chosen:
        found = evaluate_study(
            described,
            chosen,
            metric=metric,
            asked=Asked(resamples=bootstrap, confidence=confidence, seed=seed),
            exchanges=resamples if significance else None,
            block=block,
            store=Store(cache),
            start=lambda task, total: bar.start(task, total=total or None),
            advance=bar.advance,
        )
        found = replace(found, notes=(*located, *found.notes))
    if json not in (None, outputs.STDOUT):
        write_json(json, found.to_dict())
    if out not in (None, outputs.STDOUT):
        with replacing(out) as temporary:
            text = _text(found, kind, errors, verbose)
            temporary.write_bytes(text.encode("utf-8", errors="replace"))
    _show(found, kind, errors, out, json, quiet, verbose=verbose)
    if figures is not None:
        # Last, so that a failure to draw loses none of the results.
        with progress(quiet) as bar:
            drawn = _draw(found, figures, formats, width_of(column), shown, bar)
        if not quiet:
            print_notes(drawn)
    _check_failed(found)


def _check_failed(found: Robustness) -> None:
    """Report the files that could not be used, after everything else is written."""
    if found.failed:
        names = some_of(
            [why if run.file in why else f"{run.file}: {why}" for run, why in found.failed]
        )
        raise InputError(
            f"{number_of('file', len(found.failed))} could not be used: {names}; the numbers do "
            "not include them"
        )


def _shown(names: Sequence[str], study: RobustnessStudy) -> list[str]:
    """Find the corruptions to show in figures."""
    from diaghoi.robustness.corruptions.registry import find

    shown = [each.name for each in find(names)] if names else []
    others = [name for name in shown if name not in study.corruptions]
    if others:
        raise InputError(
            f"--corruption: the study does not have {some_of(others)}; give some of "
            f"{', '.join(study.corruptions)}"
        )
    return shown


def _located(study: RobustnessStudy) -> tuple[RobustnessStudy, list[str]]:
    """Find the annotations if the study does not name the file itself, and needs them."""
    from diaghoi.comparison.results import read_result

    files = (Path(run.file) for run in study.runs())
    first = next((file for file in files if file.is_file()), None)
    if study.annotations is None and first is not None and read_result(first) is not None:
        return study, []
    vocabulary = vocabulary_named(study.dataset or "hico-det")
    given = study.annotations
    found = find_annotations(vocabulary) if given is None else in_folder(given, vocabulary)
    return replace(study, annotations=found.path), found.notes


def _check_outputs(
    study: RobustnessStudy, file: Path, files: list[Path | None], folders: list[Path | None]
) -> None:
    """Check all files before the work begins."""
    inputs = [file, study.annotations, study.instances, study.ids, *(study.similarity or ())]
    outputs.check_files(files, inputs)
    for run in study.runs():  # those that cannot be read are reported in the end
        inputs += [Path(run.file), None if run.pairs is None else Path(run.pairs)]
    outputs.check_outputs(files, inputs)
    for folder in folders:
        outputs.check_folder(folder)


def _draw(
    found: Robustness,
    folder: Path,
    formats: Sequence[str],
    width: float,
    shown: Collection[str],
    bar: Progress,
) -> list[str]:
    """Draw all figures; return notes on those that cannot be drawn."""
    from diaghoi import plots
    from diaghoi.plots.robustness.figures import ROBUSTNESS_FIGURES, models_of

    result = found.to_dict()
    folder.mkdir(parents=True, exist_ok=True)
    notes = []
    for kind in ROBUSTNESS_FIGURES.values():
        bar.start(f"drawing {kind.name}")
        try:
            models = models_of(kind, result, shown)
            figure = plots.figure_of(kind, models, width)
        except plots.NotApplicable as reason:
            notes.append(f"{kind.name}: not drawn: {reason}")
            continue
        results = [{**result, "label": model["label"]} for model in result["models"]]
        score = f" ({models[0].score})" if models[0].score else ""
        caption = f"{kind.title}{score}: {plots.caption(results)}"
        for ending in formats:
            plots.save(figure, folder / f"{kind.name}.{ending}", caption=caption)
    return notes


def _text(found: Robustness, kind: str, errors: bool, verbose: bool) -> str:
    """Write all tables and notes in one of the formats, and the worst corruptions, or all."""
    if kind == "json":
        return to_json(found.to_dict()) + "\n"
    comparison = found.comparison(errors=errors)
    lines = (f"{label}: {line}" for label, line in _sentences(found, verbose))
    return written_tables(replace(comparison, notes=(*lines, *comparison.notes)), kind)


def _sentences(found: Robustness, every: bool) -> list[tuple[str, str]]:
    """Say, by label, what all corruptions do, or the five that cost most."""
    from diaghoi.robustness.sentences import sentences, worst

    if not every:
        return worst(found.profiles)
    return [
        (profile.model.label, line)
        for profile in found.profiles
        for line in sentences(profile).values()
    ]


def _show(
    found: Robustness,
    kind: str,
    errors: bool,
    out: Path | None,
    json: Path | None,
    quiet: bool,
    *,
    verbose: bool,
) -> None:
    """Print tables and sentences, unless they are in a file, and what a reader has to know."""
    if json == outputs.STDOUT:
        typer.echo(to_json(found.to_dict()))
    elif out in (None, outputs.STDOUT):
        if kind != "text":
            typer.echo(_text(found, kind, errors, verbose), nl=False)
        elif not quiet:
            _print(found, errors, verbose)
    if not quiet:
        print_notes([*found.caveats, *found.notes])


def _print(found: Robustness, errors: bool, verbose: bool) -> None:
    """Print the first table and the worst corruptions, or everything."""
    from rich.console import Console

    from diaghoi.report.comparison import print_comparison
    from diaghoi.report.terminal import print_line

    console = Console(highlight=False)
    comparison = found.comparison(errors=errors)
    every, lines = _sentences(found, True), _sentences(found, verbose)
    tables = comparison.tables
    if not verbose:
        growth = (table for table in tables if table.key.startswith("growth_"))
        comparison = replace(comparison, tables=(tables[0], *growth))
    print_comparison(comparison, console, notes=False)
    shown = ""
    for label, line in lines:
        if label != shown:
            console.print()
            print_line(console, f"{label}, mAP under {comparison.protocol}", style="bold")
            shown = label
        print_line(console, line)
    left = len(tables) - len(comparison.tables)
    if left or len(lines) < len(every):
        console.print()
        print_line(
            console,
            f"The corruptions that cost most mAP, {len(lines)} of {len(every)}; --verbose prints "
            f"all, and {number_of('further table', left)}. --json holds them too, and --out the "
            "tables.",
        )

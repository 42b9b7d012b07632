"""``diaghoi robustness`` and ``diaghoi corrupt``: detectors on corrupted pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.comparison_tables import Format, Out, table_format, written_tables
from diaghoi.cli.engines import EngineName, Scheduler, check_engine, started
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.options import FORMATS, argument, named, option, options_class, with_options
from diaghoi.cli.present import print_notes, width_of
from diaghoi.cli.progress import Progress, progress
from diaghoi.data.arrays.threads import cores
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.exceptions import InputError, number_of, some_of
from diaghoi.formats.datasets import vocabulary as vocabulary_named
from diaghoi.formats.output import replacing
from diaghoi.report.json import to_json, write_json
from diaghoi.robustness.corruptions.registry import (
    CORRUPTIONS,
    GROUPS,
    SEVERITIES,
    Corruption,
    find,
)

if TYPE_CHECKING:
    from diaghoi.robustness.evaluation import Robustness
    from diaghoi.robustness.study import RobustnessStudy


ABBREVIATIONS = ", ".join(
    f"{group.abbreviation} ("
    + ", ".join(each.abbreviation for each in CORRUPTIONS.values() if each.group == group.name)
    + ")"
    for group in GROUPS.values()
)

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--corruption",
        help=f"Name or abbreviation of a corruption or of a group: {ABBREVIATIONS}; repeatable "
        "[all].",
    ),
]
Severity = Annotated[
    list[str] | None,
    typer.Option(help="1 (mild) to 5 (strong), or a range like 1-3; repeatable [1-5]."),
]


@options_class
class RobustnessOptions(outputs.ResultOptions):
    """How a study of robustness is evaluated, and what is shown of it."""

    study: options.StudyFile
    metric: str | None = option(
        None,
        metavar="PATH",
        help="Any score of the report: map.full, pairs.recall, soft_map [official mAP, or role AP "
        "of scenario 2].",
    )
    format: Format = None
    out: Out = None
    json: options.Json = None
    figures: Path | None = option(None, help="Draw the figures into this folder.")
    column: options.Column = "double"
    figure_format: str = option(
        "pdf", help=f"Of the figures: one or more of {', '.join(FORMATS)}, separated by commas."
    )
    corruption: list[str] | None = option(
        None,
        metavar="NAME",
        help="A corruption to show in the figures of single corruptions, by name, abbreviation or "
        "group; repeatable [all; by severity the three that cost most].",
    )
    errors: bool = option(False, help="Show how much each error grows.")
    verbose: bool = option(False, help="Print all tables, and a sentence on each corruption.")
    bootstrap: options.Bootstrap = None
    significance: bool = option(
        False, help="Test the highest severity of each corruption against the clean pictures."
    )
    resamples: options.Resamples = 1000
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0
    engine: EngineName = "local"
    scheduler: Scheduler = None
    workers: options.Workers = None
    block: int | None = option(
        None, min=1, max=options.MOST_IMAGES, help="Images per unit of work [a whole run]."
    )
    cache: Path | None = option(None, help="Cache finished runs in this folder, and reuse them.")

    def __post_init__(self) -> None:
        table_format(self.format, self.out)
        changed = {
            "--column": self.column != "double",
            "--figure-format": self.figure_formats != ["pdf"],
            "--corruption": bool(self.corruption),
        }
        for name, is_given in changed.items():
            if is_given and self.figures is None:
                raise InputError(f"{name}: is for figures; add --figures FOLDER")
        check_engine(self.engine, self.scheduler)

    @property
    def kind(self) -> str:
        """How the tables are written."""
        return table_format(self.format, self.out)

    @property
    def figure_formats(self) -> list[str]:
        """The kinds of files of figures."""
        return named("--figure-format", self.figure_format, FORMATS)


@with_options
def robustness(choices: RobustnessOptions) -> None:
    """Evaluate detectors on corrupted pictures: MRI, CRI, and which errors grow."""
    from diaghoi.robustness.evaluation import evaluate_study
    from diaghoi.robustness.store import Store
    from diaghoi.robustness.study import read_robustness_study
    from diaghoi.robustness.work import Asked
    from diaghoi.statistics.bootstrap import check_settings

    exchanges = choices.resamples if choices.significance else None
    for number in (choices.bootstrap, exchanges):
        if number is not None:
            # Images are counted when they are read.
            check_settings(2, number, choices.confidence)
    described = read_robustness_study(choices.study)
    if described.protocol is not None:
        protocol_named(described.protocol)
    shown = _shown(choices.corruption or (), described)
    described, located = _located(described)
    out, json = choices.out, choices.json
    _check_outputs(described, choices.study, [out, json], [choices.figures, choices.cache])
    where = choices.engine, choices.scheduler, choices.workers
    with progress(choices.quiet) as bar, started(*where, bar) as engine:
        found = evaluate_study(
            described,
            engine,
            metric=choices.metric,
            asked=Asked(
                resamples=choices.bootstrap, confidence=choices.confidence, seed=choices.seed
            ),
            exchanges=exchanges,
            block=choices.block,
            store=Store(choices.cache),
            start=lambda task, total: bar.start(task, total=total or None),
            advance=bar.advance,
        )
        found = replace(found, notes=(*located, *found.notes))
    if json not in (None, outputs.STDOUT):
        write_json(json, found.to_dict())
    if out not in (None, outputs.STDOUT):
        with replacing(out) as temporary:
            text = _text(found, choices)
            temporary.write_bytes(text.encode("utf-8", errors="replace"))
    _show(found, choices)
    if choices.figures is not None:
        # Last, so that a failure to draw loses none of the results.
        with progress(choices.quiet) as bar:
            drawn = _draw(found, choices.figures, choices, shown, bar)
        if not choices.quiet:
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
    choices: RobustnessOptions,
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
            figure = plots.figure_of(kind, models, width_of(choices.column))
        except plots.NotApplicable as reason:
            notes.append(f"{kind.name}: not drawn: {reason}")
            continue
        results = [{**result, "label": model["label"]} for model in result["models"]]
        score = f" ({models[0].score})" if models[0].score else ""
        caption = f"{kind.title}{score}: {plots.caption(results)}"
        for ending in choices.figure_formats:
            plots.save(figure, folder / f"{kind.name}.{ending}", caption=caption)
    return notes


def _text(found: Robustness, choices: RobustnessOptions) -> str:
    """Write all tables and notes in one of the formats, and the worst corruptions, or all."""
    if choices.kind == "json":
        return to_json(found.to_dict()) + "\n"
    comparison = found.comparison(errors=choices.errors)
    lines = (f"{label}: {line}" for label, line in _sentences(found, choices.verbose))
    return written_tables(replace(comparison, notes=(*lines, *comparison.notes)), choices.kind)


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


def _show(found: Robustness, choices: RobustnessOptions) -> None:
    """Print tables and sentences, unless they are in a file, and what a reader has to know."""
    if choices.json == outputs.STDOUT:
        typer.echo(to_json(found.to_dict()))
    elif choices.out in (None, outputs.STDOUT):
        if choices.kind != "text":
            typer.echo(_text(found, choices), nl=False)
        elif not choices.quiet:
            _print(found, choices.errors, choices.verbose)
    if not choices.quiet:
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


@options_class
class CorruptOptions:
    """Which pictures are corrupted, and how."""

    images: Path = argument(help="Folder with the pictures.")
    out: Path = argument(help="Folder to write CORRUPTION/SEVERITY/PICTURE to.")
    corruption: Names = None
    severity: Severity = None
    workers: options.Workers = None
    seed: options.Seed = 0
    quiet: options.Quiet = False


@with_options
def corrupt(choices: CorruptOptions) -> None:
    """Apply the 20 corruptions of the RoHOI benchmark to pictures, in 5 severities.

    Files keep their size in pixels, name and type. A result depends only on the name of the picture
    and the seed, and finished pictures are kept: an interrupted run resumes where it stopped.
    """
    from diaghoi.robustness.corrupt import corrupt_folder, picture_names

    images, out = choices.images, choices.out
    chosen = [each.name for each in corruptions_named(choices.corruption)]
    levels = severities_of(choices.severity)
    outputs.check_folder(out)
    with progress(choices.quiet) as bar:
        bar.start("corrupting", total=len(picture_names(images)))
        done = corrupt_folder(
            images,
            out,
            chosen,
            levels,
            seed=choices.seed,
            workers=choices.workers or cores(),
            progress=bar.advance,
        )
    if not choices.quiet:
        ways = "1 corruption" if len(chosen) == 1 else f"{len(chosen)} corruptions"
        steps = "1 severity" if len(levels) == 1 else f"{len(levels)} severities"
        typer.echo(
            f"{out}: {done.written:,} pictures written, {done.kept:,} kept, "
            f"of {done.pictures:,} pictures in {ways} and {steps}"
        )
        print_notes(done.notes)
    if done.damaged:
        named = [f"{name} ({problem})" for name, problem in done.damaged.items()]
        raise InputError(
            f"{images}: {len(named)} of {done.pictures:,} pictures cannot be read and were left "
            f"out: {some_of(named)}; fix or remove them and run the command again"
        )


def corruptions_named(given: list[str] | None) -> tuple[Corruption, ...]:
    """Find corruptions by the names of them or groups; all by default.

    Raises
    ------
    InputError
        For an unknown name.
    """
    return find(name for each in given or CORRUPTIONS for name in each.split(","))


def severities_of(given: list[str] | None) -> list[int]:
    """Read severities: numbers, ranges, and several of them with commas; all by default.

    Raises
    ------
    InputError
        For what is no severity.
    """
    if not given:
        return list(SEVERITIES)
    wanted: set[int] = set()
    for word in (word.strip() for each in given for word in each.split(",")):
        numbers = re.fullmatch(r"([1-5])(?:-([1-5]))?", word, re.ASCII)
        levels = range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1) if numbers else ()
        if not levels:
            raise InputError(f"--severity {word}: give 1, 2, 3, 4, 5 or a range like 1-3")
        wanted.update(levels)
    return sorted(wanted)

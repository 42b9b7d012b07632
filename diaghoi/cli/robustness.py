"""``diaghoi robustness`` and ``robustness corrupt``: detectors on corrupted pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from diaghoi._version import __version__
from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import IntervalOptions
from diaghoi.cli.compare import TableOptions
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.options import Key, argument, option, options_class, with_options, without
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import ProtocolOptions, ReadingOptions
from diaghoi.comparison.selection import names_of
from diaghoi.data.memory import cores
from diaghoi.exceptions import InputError, number_of, some_of
from diaghoi.formats.description import vocabulary as vocabulary_named
from diaghoi.robustness.corruptions import (
    CORRUPTIONS,
    GROUPS,
    SEVERITIES,
    Corruption,
    find,
)

if TYPE_CHECKING:
    from diaghoi.comparison.comparison import Comparison
    from diaghoi.robustness.evaluation import Robustness
    from diaghoi.robustness.study import RobustnessStudy


STEM = "robustness"
FIGURES = ("drops", "groups", "severities", "errors", "costs", "shares")
DRAWN = [f"{name}{ending}" for ending in outputs.FIGURES for name in FIGURES]
KINDS = (".json", *outputs.TABLES, *DRAWN)
ALSO = {
    "errors": Key("increase in the cost of each error under corruption", alone=True, metavar="")
}
ABBREVIATIONS = ", ".join(
    f"{group.abbreviation} ("
    + ", ".join(each.abbreviation for each in CORRUPTIONS.values() if each.group == group.name)
    + ")"
    for group in GROUPS.values()
)


@options_class
class RobustnessOptions(TableOptions):
    """Options for evaluating a study, and for outputs."""

    study: options.StudyFile
    annotations: options.Annotations = None
    reading: ReadingOptions = without(ReadingOptions, "force")
    evaluation: ProtocolOptions = without(ProtocolOptions, "zero_shot", "groups")
    metric: str | None = option(
        None,
        metavar="PATH",
        panel=options.COUNTS,
        help="Any score in a report's JSON, such as map.full, or soft_map of a study with "
        "similarity [official mAP, or role "
        "AP in scenario 2].",
    )
    also: list[str] | None = options.also(ALSO)
    significance: bool = option(
        False,
        panel=options.SURE,
        help="Test the highest severity of each corruption against the clean pictures.",
    )
    resamples: options.Resamples = 1000
    sure: IntervalOptions = without(IntervalOptions, "interval")
    cache: Path | None = option(
        None, panel=options.FILES, help="Cache finished runs in this folder, and reuse them."
    )
    column: options.Column = "double"
    corruption: list[str] | None = option(
        None,
        metavar="NAME",
        panel=options.FILES,
        help="A corruption or group to show in figures; repeatable [all, or the three worst].",
    )
    engines: options.EngineOptions
    block: int | None = option(
        None,
        min=1,
        max=options.MOST_IMAGES,
        panel=options.SHARDS,
        rare=True,
        help="Images per unit of work [a whole run].",
    )

    @property
    def errors(self) -> bool:
        """Whether growth of errors is requested."""
        return "errors" in options.keyed("--also", self.also or (), ALSO)

    def check_settings(self) -> None:
        """Before anything is read, reject options that cannot work."""
        figures = set(DRAWN) & set(self.output_files(KINDS, STEM).values())
        for name in ("column", "corruption"):
            if getattr(self, name) not in ("double", None) and not figures:
                raise InputError(f"--{name}: applies to figures; add --out FOLDER")

    def check_files(self, study: RobustnessStudy) -> None:
        """Reject outputs that cannot be written, or that would overwrite files of the study."""
        inputs = [self.study, study.annotations, study.instances, study.ids]
        for run in study.runs():  # runs with unreadable files are reported at the end
            paths = map(Path, run.files)
            inputs += [path for path in paths if path.is_file() and os.access(path, os.R_OK)]
        self.check(KINDS, [*inputs, *study.tables], STEM)
        outputs.check_folder(self.cache)


@with_options
def robustness(choices: RobustnessOptions) -> None:
    """Evaluate detectors on corrupted pictures: MRI, CRI, and which errors grow."""
    from diaghoi.robustness.evaluation import evaluate_study
    from diaghoi.robustness.study import read_robustness_study
    from diaghoi.robustness.sweep import Store
    from diaghoi.robustness.tables import check_names, sentences, worst

    choices.check_settings()
    # The command line overrides the study.
    given = {"annotations": choices.annotations, "protocol": choices.evaluation.protocol}
    described = read_robustness_study(choices.study)
    described = replace(described, **choices.reading.of_study(**given))
    known = None if described.dataset is None else vocabulary_named(described.dataset)
    replace(choices.evaluation, protocol=described.protocol).check(known)
    check_names(names_of(choices.table or ()), described, errors=choices.errors)
    named = corruptions_named(choices.corruption) if choices.corruption else ()
    shown = [each.name for each in named]
    if others := [name for name in shown if name not in described.corruptions]:
        raise InputError(
            f"--corruption: the study does not have {some_of(others)}; give some of "
            f"{', '.join(described.corruptions)}"
        )
    described, located = _located(described)
    choices.check_files(described)
    sure = choices.sure
    with progress(choices.quiet) as bar:
        with choices.engines.started(bar) as engine:
            found = evaluate_study(
                described,
                engine,
                metric=choices.metric,
                resamples=sure.bootstrap,
                confidence=sure.confidence,
                seed=sure.seed,
                exchanges=choices.resamples if choices.significance else None,
                block=choices.block,
                store=Store(choices.cache),
                start=lambda task, total: bar.start(task, total=total or None),
                advance=bar.advance,
            )
        found = replace(found, notes=(*located, *found.notes))
        comparison = found.comparison(errors=choices.errors)
        told = worst(found.profiles)
        if choices.detail:
            told = [(p.model.label, line) for p in found.profiles for line in sentences(p).values()]
        said = (f"{label}: {line}" for label, line in told)
        texts = choices.texts(replace(comparison, notes=(*said, *comparison.notes)))
        texts |= outputs.as_json(found.to_dict())
        bar.start("writing")
        writers = {
            kind: partial(_draw, choices, found, shown, kind.partition(".")[0]) for kind in DRAWN
        }
        remarks = dict.fromkeys(choices.write(texts, writers, STEM))
    written = choices.output_files(KINDS, STEM)
    choices.show(texts, lambda: _show(choices, found, comparison), remarks, written)
    if found.failed:  # failed runs are reported after everything else is written
        failed = [why if run.file in why else f"{run.file}: {why}" for run, why in found.failed]
        raise InputError(
            f"the numbers leave out {number_of('file', len(failed))} that could not be used: "
            f"{some_of(failed)}"
        )


def _located(study: RobustnessStudy) -> tuple[RobustnessStudy, list[str]]:
    """Find the annotations if the study needs them but does not name the file."""
    from diaghoi.comparison.results import read_result

    files = (Path(run.file) for run in study.runs())
    first = next((file for file in files if file.is_file()), None)
    if study.annotations is None and first is not None and read_result(first) is not None:
        return study, []
    vocabulary = vocabulary_named(study.dataset or "hico-det")
    found = find_annotations(vocabulary, study.annotations)
    return replace(study, annotations=found.path), found.notes


def _draw(
    choices: RobustnessOptions, found: Robustness, shown: Sequence[str], name: str, path: Path
) -> list[str]:
    """Draw a figure; return notes on it."""
    from diaghoi import plots
    from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES, models_of

    kind, result = ROBUSTNESS_FIGURES[f"{STEM}_{name}"], found.to_dict()

    def drawn() -> list[str]:
        try:
            models = models_of(kind, result, shown)
            figure = plots.figure_of(kind, models, outputs.width_of(choices.column))
        except plots.NotApplicable as reason:
            return [f"{kind.name}: not drawn: {reason}"]
        caption = plots.caption([{**result, "label": each["label"]} for each in result["models"]])
        score = f" ({models[0].score})" if models[0].score else ""
        plots.save(figure, path, caption=f"{kind.title}{score}: {caption}")
        return []

    return outputs.noting_letters(drawn)


def _show(choices: RobustnessOptions, found: Robustness, comparison: Comparison) -> None:
    """Print one screen, or the requested tables, or in detail all tables, sentences and notes.

    The screen shows the share of the clean score that detectors keep, and the costliest corruption.
    """
    from rich.console import Console

    from diaghoi.data.protocol import short_signature
    from diaghoi.report.terminal import WIDTH, folded, print_line, print_table, wrapped
    from diaghoi.report.text import GAP, MARKS
    from diaghoi.robustness.tables import sentences, summary, worst

    console = Console(highlight=False)
    if choices.table or choices.columns or choices.detail:
        choices.show_tables(comparison)
        for profile in found.profiles if choices.detail else ():
            console.print()
            head = f"{profile.model.label}, mAP under {comparison.protocol}"
            print_line(console, head, style="bold")
            for line in sentences(profile).values():
                print_line(console, line)
        return
    width = max(console.width, WIDTH)
    overview = found.comparison(errors=choices.errors, overview=True)
    models = number_of("model", len(overview.models))
    where = overview.subject.removesuffix(f", protocol {overview.protocol}")
    print_line(console, f"{models} on {where}, {found.profiles[0].scope.words}", style="bold")
    if kept := summary(found.profiles):
        print_line(console, kept)
    for mark in (*found.caveats, *found.gaps)[:MARKS]:
        for line in folded(f"! {mark}", width, 2):
            print_line(console, line)
    for table in overview.tables:
        console.print()
        print_table(console, table)
    console.print()
    falls = worst(found.profiles, 2 if len(overview.models) < 3 else 1)
    if falls:
        print_line(console, f"Largest drops in mAP under {overview.protocol}", style="bold")
    for label, line in falls:
        print_line(console, f"{label}, {line}")
    signature = f"{short_signature(overview.protocol, overview.signature)}|diaghoi.{__version__}"
    for line in wrapped([signature, "more: --detail, --also errors, --out FOLDER"], width, GAP):
        console.print(line, markup=False, soft_wrap=True)
    outputs.print_number(found.notes)


@options_class
class CorruptOptions:
    """Options for corrupting pictures."""

    images: Path = argument(help="Folder with the pictures.")
    out: Path = argument(help="Folder to write CORRUPTION/SEVERITY/PICTURE to.")
    corruption: list[str] | None = option(
        None,
        help=f"Name or abbreviation of a corruption or group: {ABBREVIATIONS}; repeatable [all].",
    )
    severity: list[str] | None = option(
        None, help="Severity: 1 (mild) to 5 (strong), or a range like 1-3; repeatable [1-5]."
    )
    workers: options.Workers = None
    seed: options.Seed = 0
    quiet: options.Quiet = False


@with_options
def corrupt(choices: CorruptOptions) -> None:
    """Apply the 20 corruptions of the RoHOI benchmark to pictures, in 5 severities.

    Pictures keep their size, name and type. Random numbers depend only on the seed and the names of
    the picture and the corruption, and finished pictures are kept: an interrupted run resumes where
    it stopped.
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
        steps = "1 severity" if len(levels) == 1 else f"{len(levels)} severities"
        typer.echo(
            f"{out}: {done.written:,} pictures written, {done.kept:,} kept, "
            f"of {done.pictures:,} pictures in {number_of('corruption', len(chosen))} and {steps}"
        )
        outputs.print_notes(done.notes)
    if done.damaged:
        named = [f"{name} ({problem})" for name, problem in done.damaged.items()]
        raise InputError(
            f"{images}: {len(named)} of {done.pictures:,} pictures cannot be read and were left "
            f"out: {some_of(named)}; fix or remove them and run the command again"
        )


def corruptions_named(given: list[str] | None) -> tuple[Corruption, ...]:
    """Find corruptions by their names or groups; all by default.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    return find(name for each in given or CORRUPTIONS for name in each.split(","))


def severities_of(given: list[str] | None) -> list[int]:
    """Parse severities: comma-separated numbers and ranges; all by default.

    Raises
    ------
    InputError
        If a value is not a severity.
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

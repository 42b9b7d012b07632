"""``diaghoi similarity``: tables of similarity between words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.options import argument, option, options_class, with_options, without
from diaghoi.cli.present import print_notes, show_tables
from diaghoi.cli.similarity.build import build
from diaghoi.cli.similarity.options import CombinationOptions
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.datasets import vocabulary as vocabulary_named

similarity = typer.Typer(
    no_args_is_help=True, help="Inspect, merge, build and evaluate tables of similarity."
)

Table = Annotated[
    Path, typer.Argument(help="Table: CSV a,b,score or one column per rater; .npz.", readable=False)
]
Scale = Annotated[
    float | None, typer.Option(help="Highest possible score [1 or 4, inferred from the scores].")
]


@similarity.callback()
def _group() -> None:
    """Tables of similarity between verbs, and between objects."""


similarity.command()(build)


@options_class
class AgreementOptions(outputs.ResultOptions):
    """Whose ratings are compared."""

    ratings: Path = argument(
        help="CSV: one item per row and one column per person, or columns annotator and rating."
    )
    again: Path | None = option(
        None,
        help="The same items rated again by the same people, such as with pictures: how many "
        "ratings changed, and by how much.",
    )
    metric: list[str] | None = option(
        None, help="Column with the scores of a metric; repeatable [score, similarity, shoe, ...]."
    )
    scale: int = option(4, min=1, max=1000, help="Highest number of the rating scale.")
    resamples: int = option(
        10_000, min=1, max=options.MOST_RESAMPLES, help="Permutations of the test."
    )
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0
    figure: Path | None = option(
        None, help="Draw distributions and kappa to this .pdf, .png or .svg."
    )


@similarity.command()
@with_options
def agreement(choices: AgreementOptions) -> None:
    """Measure how well people agree with each other, and metrics with people.

    Quadratic weighted kappa, Krippendorff's alpha, agreement as SHOE states it, and Spearman's rank
    correlation of each metric with the mean of the people.
    """
    import numpy as np

    from diaghoi.report.similarity import agreement_tables
    from diaghoi.semantic.tables.agreement import measure_agreement
    from diaghoi.semantic.tables.human_ratings import read_human_ratings
    from diaghoi.semantic.tables.rerating import compare_ratings

    ratings, again, figure = choices.ratings, choices.again, choices.figure
    highest, confidence, seed = choices.scale, choices.confidence, choices.seed
    outputs.check_files([choices.json, figure], [ratings, again])
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: must lie between 0 and 1")
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)
    people = read_human_ratings(ratings, metrics=tuple(choices.metric or ()), highest=highest)
    changes = {}
    if again is not None:
        second = read_human_ratings(again, highest=highest)
        changes["again"] = compare_ratings(people, second, confidence=confidence).to_dict()
    found = measure_agreement(
        people, np.random.default_rng(seed), resamples=choices.resamples, confidence=confidence
    )
    result = found.to_dict() | {"confidence": confidence, "seed": seed, **changes}
    if figure is not None:
        from diaghoi.plots.figures.agreement import agreement_figure
        from diaghoi.plots.style import save

        save(agreement_figure(result), figure, caption=f"Agreement of people in {result['source']}")
    show_tables(result, choices.json, choices.quiet, agreement_tables(result))


@options_class
class InspectOptions(outputs.ResultOptions):
    """Which table is described."""

    table: Table
    dataset: str = option(
        "hico-det", help="The data set whose verbs and objects the table should cover."
    )
    scale: Scale = None
    synsets: Path | None = option(
        None, help="CSV that maps words to their names in the table, such as synsets."
    )


@similarity.command()
@with_options
def inspect(choices: InspectOptions) -> None:
    """Describe a table: coverage, symmetry, diagonal, distribution, raters."""
    from diaghoi.language.words import verb_words
    from diaghoi.report.similarity import table_tables
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.senses import read_senses
    from diaghoi.semantic.tables.table_checks import table_facts

    outputs.check_files([choices.json], [choices.table, choices.synsets])
    vocabulary = vocabulary_named(choices.dataset)
    result = table_facts(
        read_ratings(choices.table, scale=choices.scale),
        {
            f"verbs of {vocabulary.name}": verb_words(vocabulary),
            f"objects of {vocabulary.name}": vocabulary.objects,
        },
        None if choices.synsets is None else read_senses(choices.synsets),
    )
    show_tables(result, choices.json, choices.quiet, table_tables(result))


@options_class
class MergeOptions:
    """Which tables are merged."""

    tables: list[Path] = argument(help="Tables to merge.")
    out: Path = option(help="The .csv or .npz file to write.")
    mean: bool = option(False, help="Write only the mean of the raters.")
    scale: Scale = None
    quiet: options.Quiet = False


@similarity.command()
@with_options
def merge(choices: MergeOptions) -> None:
    """Merge several tables into one with all their raters, scaled to [0, 1]."""
    from diaghoi.semantic.tables.merging import mean_of, merge_ratings, write_ratings
    from diaghoi.semantic.tables.ratings import read_ratings

    tables, out = choices.tables, choices.out
    outputs.check_files([out], tables)
    read = [read_ratings(path, scale=choices.scale) for path in tables]
    merged = merge_ratings(read, name=out.stem)
    written = mean_of(merged, "mean") if choices.mean else merged
    write_ratings(out, written)
    if not choices.quiet:
        typer.echo(
            f"{out}: {len(merged.names):,} words, {len(merged.first):,} pairs, "
            f"{len(merged.raters)} raters: {some_of(merged.raters)}"
        )
        print_notes(merged.notes)


@options_class
class SubsetOptions(outputs.ResultOptions):
    """Which tables and ratings are compared."""

    table: Table
    human: Path = option(help="Ratings by people: CSV of pairs, one column per person.")
    objects: Path | None = option(None, help="Table of objects, if people compared interactions.")
    combination: CombinationOptions = without(
        CombinationOptions, "scale", "verb_synsets", "object_synsets"
    )
    scale: Scale = None
    human_scale: float | None = option(
        None, help="Highest possible rating by people [1 or 4, inferred from the ratings]."
    )


@similarity.command()
@with_options
def subset(choices: SubsetOptions) -> None:
    """Compare every subset of the raters of a table with ratings by people."""
    from diaghoi.report.similarity import subset_tables
    from diaghoi.semantic.tables.human_scores import read_human_scores
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.subsets import rater_subsets

    table, human, objects = choices.table, choices.human, choices.objects
    outputs.check_files([choices.json], [table, human, objects])
    measure = choices.combination.measure()
    found = rater_subsets(
        read_human_scores(human, scale=choices.human_scale),
        read_ratings(table, scale=choices.scale),
        None if objects is None else read_ratings(objects, scale=choices.scale),
        measure=measure,
    )
    result = found.to_dict()
    show_tables(result, choices.json, choices.quiet, subset_tables(result))

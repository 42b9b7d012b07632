"""``diaghoi similarity``: tables of similarity between words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes, show_tables
from diaghoi.cli.similarity.agreement import agreement
from diaghoi.cli.similarity.build import build
from diaghoi.cli.similarity.options import Combine, Weight
from diaghoi.exceptions import some_of
from diaghoi.formats.datasets import vocabulary as vocabulary_named

similarity = typer.Typer(
    no_args_is_help=True, help="Inspect, merge, build and evaluate tables of similarity."
)

Table = Annotated[
    Path, typer.Argument(help="Table: CSV a,b,score or one column per rater; .npz.", readable=False)
]
Tables = Annotated[list[Path], typer.Argument(help="Tables to merge.", readable=False)]
Scale = Annotated[
    float | None, typer.Option(help="Highest possible score [1 or 4, inferred from the scores].")
]
Dataset = Annotated[
    str, typer.Option(help="The data set whose verbs and objects the table should cover.")
]
Synsets = Annotated[
    Path | None,
    typer.Option(
        help="CSV that maps words to their names in the table, such as synsets.", readable=False
    ),
]
Out = Annotated[Path, typer.Option(help="The .csv or .npz file to write.", readable=False)]
Mean = Annotated[bool, typer.Option("--mean", help="Write only the mean of the raters.")]
Human = Annotated[
    Path,
    typer.Option(help="Ratings by people: CSV of pairs, one column per person.", readable=False),
]
HumanScale = Annotated[
    float | None,
    typer.Option(help="Highest possible rating by people [1 or 4, inferred from the ratings]."),
]
Objects = Annotated[
    Path | None,
    typer.Option(help="Table of objects, if people compared interactions.", readable=False),
]


@similarity.callback()
def _group() -> None:
    """Tables of similarity between verbs, and between objects."""


similarity.command()(build)
similarity.command()(agreement)


@similarity.command()
def inspect(
    table: Table,
    dataset: Dataset = "hico-det",
    scale: Scale = None,
    synsets: Synsets = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Describe a table: coverage, symmetry, diagonal, distribution, raters."""
    from diaghoi.language.words import verb_words
    from diaghoi.report.similarity import table_tables
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.senses import read_senses
    from diaghoi.semantic.tables.table_checks import table_facts

    outputs.check_files([json], [table, synsets])
    vocabulary = vocabulary_named(dataset)
    result = table_facts(
        read_ratings(table, scale=scale),
        {
            f"verbs of {vocabulary.name}": verb_words(vocabulary),
            f"objects of {vocabulary.name}": vocabulary.objects,
        },
        None if synsets is None else read_senses(synsets),
    )
    show_tables(result, json, quiet, table_tables(result))


@similarity.command()
def merge(
    tables: Tables,
    out: Out,
    mean: Mean = False,
    scale: Scale = None,
    quiet: options.Quiet = False,
) -> None:
    """Merge several tables into one with all their raters, scaled to [0, 1]."""
    from diaghoi.semantic.tables.merging import mean_of, merge_ratings, write_ratings
    from diaghoi.semantic.tables.ratings import read_ratings

    outputs.check_files([out], tables)
    merged = merge_ratings([read_ratings(path, scale=scale) for path in tables], name=out.stem)
    written = mean_of(merged, "mean") if mean else merged
    write_ratings(out, written)
    if not quiet:
        typer.echo(
            f"{out}: {len(merged.names):,} words, {len(merged.first):,} pairs, "
            f"{len(merged.raters)} raters: {some_of(merged.raters)}"
        )
        print_notes(merged.notes)


@similarity.command()
def subset(
    table: Table,
    human: Human,
    objects: Objects = None,
    weight: Weight = 0.5,
    combine: Combine = "arithmetic",
    scale: Scale = None,
    human_scale: HumanScale = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare every subset of the raters of a table with ratings by people."""
    from diaghoi.report.similarity import subset_tables
    from diaghoi.semantic.measure import Measure
    from diaghoi.semantic.tables.human_scores import read_human_scores
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.subsets import rater_subsets

    outputs.check_files([json], [table, human, objects])
    choices: Any = {"weight": weight, "combine": combine}
    measure = Measure(**choices)
    found = rater_subsets(
        read_human_scores(human, scale=human_scale),
        read_ratings(table, scale=scale),
        None if objects is None else read_ratings(objects, scale=scale),
        measure=measure,
    )
    result = found.to_dict()
    show_tables(result, json, quiet, subset_tables(result))

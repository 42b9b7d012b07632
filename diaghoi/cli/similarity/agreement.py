"""``diaghoi similarity agreement``: how far people agree, and metrics with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import show_tables

Ratings = Annotated[
    Path,
    typer.Argument(
        help="CSV: one item per row and one column per person, or columns annotator and rating.",
        readable=False,
    ),
]
Again = Annotated[
    Path | None,
    typer.Option(
        help="The same items rated again by the same people, such as with pictures: how many "
        "ratings changed, and by how much.",
        readable=False,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        help="Column with the scores of a metric; repeatable [score, similarity, shoe, ...]."
    ),
]
Scale = Annotated[int, typer.Option(min=1, max=1000, help="Highest number of the rating scale.")]
Resamples = Annotated[
    int, typer.Option(min=1, max=options.MOST_RESAMPLES, help="Permutations of the test.")
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw distributions and kappa to this .pdf, .png or .svg.", readable=False),
]


def agreement(
    ratings: Ratings,
    again: Again = None,
    metric: Metric = None,
    scale: Scale = 4,
    resamples: Resamples = 10_000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    figure: Figure = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Measure how well people agree with each other, and metrics with people.

    Quadratic weighted kappa, Krippendorff's alpha, agreement as SHOE states it, and Spearman's rank
    correlation of each metric with the mean of the people.
    """
    import numpy as np

    from diaghoi.exceptions import InputError
    from diaghoi.report.similarity import agreement_tables
    from diaghoi.semantic.tables.agreement import measure_agreement
    from diaghoi.semantic.tables.human_ratings import read_human_ratings
    from diaghoi.semantic.tables.rerating import compare_ratings

    outputs.check_files([json, figure], [ratings, again])
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: must lie between 0 and 1")
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)
    people = read_human_ratings(ratings, metrics=tuple(metric or ()), highest=scale)
    changes = {}
    if again is not None:
        second = read_human_ratings(again, highest=scale)
        changes["again"] = compare_ratings(people, second, confidence=confidence).to_dict()
    found = measure_agreement(
        people, np.random.default_rng(seed), resamples=resamples, confidence=confidence
    )
    result = found.to_dict() | {"confidence": confidence, "seed": seed, **changes}
    if figure is not None:
        from diaghoi.plots.figures.agreement import agreement_figure
        from diaghoi.plots.style import save

        save(agreement_figure(result), figure, caption=f"Agreement of people in {result['source']}")
    show_tables(result, json, quiet, agreement_tables(result))

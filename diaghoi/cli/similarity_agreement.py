"""``diaghoi similarity agreement``: how far people agree, and metrics with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.report.further import Sheet

Ratings = Annotated[
    Path,
    typer.Argument(
        help="CSV: one item a row and one column a person, or columns annotator and rating.",
        readable=False,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(help="A column with the scores of a metric [score, similarity, shoe, ...]."),
]
Scale = Annotated[int, typer.Option(min=1, help="Last number of the scale of the people.")]
Resamples = Annotated[int, typer.Option(min=1, help="Shuffles of the permutation test.")]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw distributions and kappa to this .pdf, .png or .svg.", readable=False),
]


def agreement(
    ratings: Ratings,
    metric: Metric = None,
    scale: Scale = 4,
    resamples: Resamples = 10_000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    figure: Figure = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Say how far people agree with each other, and metrics with them.

    Quadratic weighted kappa, Krippendorff's alpha, agreement as SHOE states it, and Spearman's rank
    correlation of each metric with the mean of the people.
    """
    import numpy as np

    from diaghoi.exceptions import InputError
    from diaghoi.semantic.agreement import agree
    from diaghoi.semantic.people import read_people

    outputs.check_files([json, figure], [ratings])
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: must lie between 0 and 1")
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)
    people = read_people(ratings, metrics=tuple(metric or ()), highest=scale)
    found = agree(people, np.random.default_rng(seed), resamples=resamples, confidence=confidence)
    result = found.to_dict() | {"confidence": confidence, "seed": seed}
    if figure is not None:
        from diaghoi.plots.agreement import agreement_figure
        from diaghoi.plots.style import save

        save(agreement_figure(result), figure, caption=f"Agreement of people in {result['source']}")
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
        return
    if json is not None:
        write_json(json, result)
    if not quiet:
        _print(result)
        print_notes(result["notes"])


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console

    from diaghoi.report.text import print_table, sheet_table

    console = Console(highlight=False)
    for number, sheet in enumerate(_sheets(result)):
        if number:
            console.print()
        print_table(console, sheet_table(sheet))


def _sheets(result: dict[str, Any]) -> list[Sheet]:
    from diaghoi.report.further import Sheet
    from diaghoi.report.text import percent

    kappa, close = result["kappa"], result["agreement"]
    pairs: list[tuple[str, Sequence[str]]] = [
        (f"{one['a']} and {one['b']}", (_number(one["value"]), percent(other["value"])))
        for one, other in zip(kappa["pairs"], close["pairs"], strict=True)
    ]
    pairs.append(("Mean", (_number(kappa["mean"]), percent(close["mean"]))))
    sheets = [
        Sheet(
            "People",
            ("Kappa", "Agreement, %"),
            pairs,
            "Kappa: quadratic weights. Agreement: 1 less the mean absolute difference.\n"
            f"Krippendorff's alpha: {_number(result['alpha_ordinal'])} (ordinal), "
            f"{_number(result['alpha_interval'])} (interval).\n"
            f"{result['items']:,} items, {result['ratings']:,} ratings; deviation within an item "
            f"{_number(result['within_item_deviation'])}, standard error of its mean "
            f"{_number(result['standard_error'])}.",
        ),
        Sheet(
            "Ratings",
            tuple(str(level) for level in range(result["scale"] + 1)),
            [
                (name, tuple(f"{count:,}" for count in counts))
                for name, counts in result["distribution"].items()
            ],
        ),
    ]
    if result["metrics"]:
        rows: list[tuple[str, Sequence[str]]] = [
            (
                one["name"],
                (
                    percent(one["agreement"]),
                    _number(one["rho"]),
                    f"{_number(one['low'])} to {_number(one['high'])}",
                    "–" if one["p_value"] is None else f"{one['p_value']:.4f}",
                ),
            )
            for one in result["metrics"]
        ]
        caption = f"Against the mean of the people; {100 * result['confidence']:g} % interval."
        heads = ("Agreement, %", "Spearman", "Interval", "p")
        sheets.append(Sheet("Metrics", heads, rows, caption))
    return sheets


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")

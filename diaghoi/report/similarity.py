"""Tables about tables of similarity, and about people who judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diaghoi.exceptions import some_of
from diaghoi.report.further import Sheet
from diaghoi.report.numbers import UNDEFINED, shown
from diaghoi.report.text import percent

Result = Mapping[str, Any]
Rows = list[tuple[str, Sequence[str]]]


def table_sheets(result: Result) -> Iterator[Sheet]:
    """Show what a table of similarity holds.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.table_checks.table_facts`.

    Yields
    ------
    Sheet
    """
    yield Sheet(
        result["name"],
        ("",),
        [
            ("Words", (f"{result['words']:,}",)),
            ("Pairs of two words", (f"{result['pairs']:,}",)),
            ("  above 0", (f"{result['above_0']:,}",)),
            ("  in one order alone", (f"{result['one_sided']:,}",)),
            ("  in contradiction", (f"{result['contradictions']:,}",)),
            ("Words not identical to themselves", (f"{result['off_diagonal']:,}",)),
            ("Highest score of the scale", (f"{result['scale']:g}",)),
            ("Mean similarity", (shown(result["mean"], "percent"),)),
        ],
    )
    covered: Rows = [
        (name, (f"{found['covered']:,}", f"{found['words']:,}"))
        for name, found in result["coverage"].items()
    ]
    yield Sheet("Coverage", ("Covered", "Of"), covered, _missing(result["coverage"]))
    pairs = max(result["pairs"], 1)
    distribution: Rows = [
        (
            f"{each['from']:.1f} to {each['to']:.1f}",
            (f"{each['pairs']:,}", percent(each["pairs"] / pairs)),
        )
        for each in result["distribution"]
    ]
    yield Sheet("Distribution of pairs", ("Pairs", "Share, %"), distribution)
    raters: Rows = [
        (each["name"], (f"{each['rated']:,}", percent(each["mean"]))) for each in result["raters"]
    ]
    yield Sheet("Raters", ("Rated", "Mean, %"), raters)
    if result["correlation"]:
        correlation: Rows = [
            (" and ".join(each["raters"]), (f"{each['pairs']:,}", _number(each["pearson"])))
            for each in result["correlation"]
        ]
        yield Sheet("Correlation of raters", ("Pairs", "Pearson"), correlation)


def _missing(coverage: Mapping[str, Any]) -> str:
    """Name the missing words of the lists that the table is about."""
    lines = []
    for name, found in coverage.items():
        if found["missing"] and 2 * found["covered"] >= found["words"]:
            lines.append(f"Missing {name}: {some_of(found['missing'])}.")
        if found["ambiguous"]:
            lines.append(f"Several senses, --synsets tells: {some_of(found['ambiguous'])}.")
    return "\n".join(lines)


def subset_sheets(result: Result) -> Iterator[Sheet]:
    """Show how far subsets of raters agree with people.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.subsets.rater_subsets`, as a dictionary.

    Yields
    ------
    Sheet
    """
    subsets: Rows = [
        (", ".join(each["raters"]), (str(len(each["raters"])), percent(each["agreement"])))
        for each in result["subsets"]
    ]
    yield Sheet(
        "Agreement with people",
        ("Raters", "Agreement, %"),
        subsets,
        f"{result['pairs']:,} pairs; agreement: 1 less the mean absolute difference.",
    )
    sizes: Rows = [
        (str(each["size"]), (percent(each["mean"]), percent(each["deviation"])))
        for each in result["sizes"]
    ]
    yield Sheet("By number of raters", ("Mean, %", "Deviation, %"), sizes)


def agreement_sheets(result: Result) -> Iterator[Sheet]:
    """Show how far people agree, and metrics with them.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.agreement.agree`, as a dictionary, with
        ``confidence``.

    Yields
    ------
    Sheet
    """
    kappa, close = result["kappa"], result["agreement"]
    pairs: Rows = [
        (f"{one['a']} and {one['b']}", (_number(one["value"]), percent(other["value"])))
        for one, other in zip(kappa["pairs"], close["pairs"], strict=True)
    ]
    pairs.append(("Mean", (_number(kappa["mean"]), percent(close["mean"]))))
    yield Sheet(
        "People",
        ("Kappa", "Agreement, %"),
        pairs,
        "Kappa: quadratic weights. Agreement: 1 less the mean absolute difference.\n"
        f"Krippendorff's alpha: {_number(result['alpha_ordinal'])} (ordinal), "
        f"{_number(result['alpha_interval'])} (interval).\n"
        f"{result['items']:,} items, {result['ratings']:,} ratings; deviation within an item "
        f"{_number(result['within_item_deviation'])}, standard error of its mean "
        f"{_number(result['standard_error'])}.",
    )
    ratings: Rows = [
        (name, tuple(f"{count:,}" for count in counts))
        for name, counts in result["distribution"].items()
    ]
    yield Sheet("Ratings", tuple(str(level) for level in range(result["scale"] + 1)), ratings)
    if result["metrics"]:
        metrics: Rows = [
            (
                one["name"],
                (
                    percent(one["agreement"]),
                    _number(one["rho"]),
                    f"{_number(one['low'])} to {_number(one['high'])}",
                    UNDEFINED if one["p_value"] is None else f"{one['p_value']:.4f}",
                ),
            )
            for one in result["metrics"]
        ]
        yield Sheet(
            "Metrics",
            ("Agreement, %", "Spearman", "Interval", "p"),
            metrics,
            f"Against the mean of the people; {100 * result['confidence']:g} % interval.",
        )


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}".replace("-", "−")

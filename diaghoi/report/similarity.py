"""Create tables about similarity tables and about the people who judge similarity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diaghoi.data.table import UNDEFINED, Line, Table, TextTable, percent, shown
from diaghoi.exceptions import some_of

Result = Mapping[str, Any]


def table_tables(result: Result) -> Iterator[Table]:
    """Show the content of a similarity table.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.similarity.table_facts`.

    Yields
    ------
    Table
    """
    pairs = result["pairs"]
    yield TextTable(
        result["name"],
        ("",),
        [
            [
                Line("Words", [f"{result['words']:,}"]),
                Line("Pairs of two words", [f"{pairs:,}"]),
                Line("above 0", [f"{result['above_0']:,}"], indented=True),
                Line("in only one order", [f"{result['one_sided']:,}"], indented=True),
                Line("in contradiction", [f"{result['contradictions']:,}"], indented=True),
                Line(
                    "Words with less than full similarity to themselves",
                    [f"{result['off_diagonal']:,}"],
                ),
                Line("Highest score of the scale", [f"{result['scale']:g}"]),
                Line("Mean similarity", [result["mean"]]),
            ]
        ],
    ).table
    covered = [
        Line(name, [f"{found['covered']:,}", f"{found['words']:,}"])
        for name, found in result["coverage"].items()
    ]
    caption = _missing(result["coverage"])
    yield TextTable("Coverage", ("Covered", "Of"), [covered], caption).table
    distribution = [
        Line(
            f"{each['from']:.1f} to {each['to']:.1f}",
            [f"{each['pairs']:,}", each["pairs"] / max(pairs, 1)],
        )
        for each in result["distribution"]
    ]
    yield TextTable("Distribution of pairs", ("Pairs", "Share, %"), [distribution]).table
    raters = [Line(each["name"], [f"{each['rated']:,}", each["mean"]]) for each in result["raters"]]
    yield TextTable("Raters", ("Rated", "Mean, %"), [raters]).table
    if result["correlation"]:
        correlation = [
            Line(" and ".join(each["raters"]), [f"{each['pairs']:,}", _number(each["pearson"])])
            for each in result["correlation"]
        ]
        yield TextTable("Correlation of raters", ("Pairs", "Pearson"), [correlation]).table


def _missing(coverage: Mapping[str, Any]) -> str:
    """Name the words that a table lacks, and the words with several senses."""
    lines = []
    for name, found in coverage.items():
        if found["missing"] and 2 * found["covered"] >= found["words"]:
            lines.append(f"Missing {name}: {some_of(found['missing'])}.")
        if found["ambiguous"]:
            lines.append(
                "Words with several senses (choose a sense with --synsets): "
                f"{some_of(found['ambiguous'])}."
            )
    return "\n".join(lines)


def subset_tables(result: Result) -> Iterator[Table]:
    """Show how well subsets of raters agree with people.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.subsets.rater_subsets`.

    Yields
    ------
    Table
    """
    subsets = [
        Line(
            ", ".join(each["raters"]),
            [str(len(each["raters"])), *(each[rule] for rule in ("agreement", "majority"))],
        )
        for each in result["subsets"]
    ]
    yield TextTable(
        "Agreement with people, %",
        ("Raters", *RULES.values()),
        [subsets],
        f"{result['pairs']:,} pairs; agreement: 1 minus the mean absolute difference from "
        "people's mean.\nMean: mean of the raters. Majority: most frequent score; in a tie, the "
        f"score of the first rater. Direct match, as in mAP: {percent(result['direct_match'])}.",
    ).table
    sizes = [
        Line(
            str(each["size"]),
            [*(of[key] for of in (each, each["majority"]) for key in ("mean", "deviation"))],
        )
        for each in result["sizes"]
    ]
    heads = [head for rule in RULES.values() for head in (rule, "Deviation")]
    yield TextTable("By number of raters, %", heads, [sizes]).table
    if result["categories"]:
        yield from _category_tables(result["categories"])


RULES = {"mean": "Mean", "majority": "Majority"}
"""Titles of the ways to combine several raters."""
DIFFERS = {"any": "All", "verb": "Verb", "object": "Object", "both": "Both"}
HALVES = {"fitted": "every other pair", "other": "the other half"}


def published_tables(result: Result) -> Iterator[Table]:
    """Show how well similarity tables agree with published levels of similarity.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.published.agreement_with_published`.

    Yields
    ------
    Table
    """
    for half, title in HALVES.items():
        groups = [
            [
                Line(f"{DIFFERS[row['differs']]} ({row['pairs']:,} pairs)", ["", "", ""]),
                *(
                    Line(
                        name,
                        [
                            *(
                                _number(of[key])
                                for key in ("mean_absolute_difference", "correlation")
                            ),
                            of["zero"],
                        ],
                        indented=True,
                    )
                    for name, of in row["tables"].items()
                ),
            ]
            for row in result["rows"]
            if row["half"] == half
        ]
        if not groups:
            continue
        yield TextTable(
            f"What differs, {title}",
            ("Difference", "Pearson", "At 0, %"),
            [*groups],
            "Difference: mean absolute difference from the published level, from 0 to 1. "
            "If verb and object differ, the smaller similarity is compared. The constants in the "
            "ratings of "
            "this package are fitted to every other pair.",
        ).table


def _category_tables(categories: Sequence[Result]) -> Iterator[Table]:
    """Show agreement on pairs that differ in verb or object, and the best weight of the verb."""
    heads = [DIFFERS[each["differs"]] for each in categories]
    rows = [Line(title, [*(each[rule] for each in categories)]) for rule, title in RULES.items()]
    rows += [
        Line(rater, [*(each["raters"][rater] for each in categories)])
        for rater in categories[0]["raters"]
    ]
    rows.append(Line("Pairs", [*(shown(each["pairs"], "count") for each in categories)]))
    caption = (
        "Mean and Majority combine all raters. Verb: pairs of two verbs with the same object; "
        "Object: pairs of two objects with the same verb."
    )
    yield TextTable("Agreement by differing part, %", heads, [rows], caption).table
    swept = [each for each in categories if each["best_weight"] is not None]
    weights = [
        Line(
            DIFFERS[each["differs"]],
            [_number(each["best_weight"]), each["best_agreement"], each["mean"]],
        )
        for each in swept
    ]
    if weights:
        yield TextTable(
            "Weight of the verb",
            ("w*", "Agreement at w*, %", "As given, %"),
            [weights],
            "w*: the weight at which the mean of the raters agrees best with people.",
        ).table


def agreement_tables(result: Result) -> Iterator[Table]:
    """Show how well people agree with each other, and how well metrics agree with people.

    Parameters
    ----------
    result : mapping
        A result of :func:`diaghoi.semantic.tables.agreement.measure_agreement` as a dictionary,
        with ``confidence``.

    Yields
    ------
    Table
    """
    kappa, close = result["kappa"], result["agreement"]
    pairs = [
        Line(f"{one['a']} and {one['b']}", [_number(one["value"]), other["value"]])
        for one, other in zip(kappa["pairs"], close["pairs"], strict=True)
    ]
    pairs.append(Line("Mean", [_number(kappa["mean"]), close["mean"]]))
    yield TextTable(
        "People",
        ("Kappa", "Agreement, %"),
        [pairs],
        "Kappa: quadratic weights. Agreement: 1 minus the mean absolute difference.\n"
        f"Krippendorff's alpha: {_number(result['alpha_ordinal'])} (ordinal), "
        f"{_number(result['alpha_interval'])} (interval).\n"
        f"{result['items']:,} items, {result['ratings']:,} ratings; deviation within an item "
        f"{_number(result['within_item_deviation'])}, standard error of an item's mean "
        f"{_number(result['standard_error'])}.",
    ).table
    ratings = [
        Line(name, [*(f"{count:,}" for count in counts)])
        for name, counts in result["distribution"].items()
    ]
    yield TextTable(
        "Ratings", [str(level) for level in range(result["scale"] + 1)], [ratings]
    ).table
    if result["metrics"]:
        metrics = [
            Line(
                one["name"],
                [
                    one["agreement"],
                    _number(one["rho"]),
                    _interval(one["low"], one["high"], _number),
                    UNDEFINED if one["p_value"] is None else f"{one['p_value']:.4f}",
                ],
            )
            for one in result["metrics"]
        ]
        yield TextTable(
            "Metrics",
            ("Agreement, %", "Spearman", "Interval", "p"),
            [metrics],
            f"Compared with the mean of people's ratings; {100 * result['confidence']:g} % "
            "interval.",
        ).table
    if "again" in result:
        yield _again_table(result["again"], result["confidence"])


def _again_table(again: Result, confidence: float) -> Table:
    """Show how many ratings people changed when they rated again, and by how much."""
    rows = [
        Line(
            title, [write(again[key]), _interval(again[f"{key}_low"], again[f"{key}_high"], write)]
        )
        for key, title, write in (
            ("share", "Changed ratings, %", percent),
            ("size", "Size of a change, points", _number),
        )
    ]
    return TextTable(
        f"Rated again in {again['source']}",
        ("Mean", "Interval"),
        [rows],
        f"{again['changed']:,} of {again['ratings']:,} ratings by {some_of(again['annotators'])} "
        f"changed; {100 * confidence:g} % interval (Wilson's for the share); the mean has no "
        "interval if there are fewer than ten changes or if all changes are equal.",
    ).table


def _interval(low: float | None, high: float | None, write: Callable[[float | None], str]) -> str:
    """Format an interval, or return a dash if there is no interval."""
    return UNDEFINED if low is None or high is None else f"{write(low)} to {write(high)}"


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}".replace("-", "−")

"""Tables about tables of similarity, and about people who judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diaghoi.data.table import UNDEFINED, Table, percent, shown, text_row, text_table
from diaghoi.exceptions import some_of

Result = Mapping[str, Any]


def table_tables(result: Result) -> Iterator[Table]:
    """Show what a table of similarity holds.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.similarity.table_facts`.

    Yields
    ------
    Table
    """
    pairs = result["pairs"]
    yield text_table(
        result["name"],
        ("",),
        [
            text_row("Words", f"{result['words']:,}"),
            text_row("Pairs of two words", f"{pairs:,}"),
            text_row("above 0", f"{result['above_0']:,}", indented=True),
            text_row("in one order alone", f"{result['one_sided']:,}", indented=True),
            text_row("in contradiction", f"{result['contradictions']:,}", indented=True),
            text_row("Words not identical to themselves", f"{result['off_diagonal']:,}"),
            text_row("Highest score of the scale", f"{result['scale']:g}"),
            text_row("Mean similarity", percent(result["mean"])),
        ],
    )
    covered = [
        text_row(name, f"{found['covered']:,}", f"{found['words']:,}")
        for name, found in result["coverage"].items()
    ]
    caption = _missing(result["coverage"])
    yield text_table("Coverage", ("Covered", "Of"), covered, caption=caption)
    distribution = [
        text_row(
            f"{each['from']:.1f} to {each['to']:.1f}",
            f"{each['pairs']:,}",
            percent(each["pairs"] / max(pairs, 1)),
        )
        for each in result["distribution"]
    ]
    yield text_table("Distribution of pairs", ("Pairs", "Share, %"), distribution)
    raters = [
        text_row(each["name"], f"{each['rated']:,}", percent(each["mean"]))
        for each in result["raters"]
    ]
    yield text_table("Raters", ("Rated", "Mean, %"), raters)
    if result["correlation"]:
        correlation = [
            text_row(" and ".join(each["raters"]), f"{each['pairs']:,}", _number(each["pearson"]))
            for each in result["correlation"]
        ]
        yield text_table("Correlation of raters", ("Pairs", "Pearson"), correlation)


def _missing(coverage: Mapping[str, Any]) -> str:
    """Name the missing words of the lists that the table is about."""
    lines = []
    for name, found in coverage.items():
        if found["missing"] and 2 * found["covered"] >= found["words"]:
            lines.append(f"Missing {name}: {some_of(found['missing'])}.")
        if found["ambiguous"]:
            lines.append(f"Several senses, --synsets tells: {some_of(found['ambiguous'])}.")
    return "\n".join(lines)


def subset_tables(result: Result) -> Iterator[Table]:
    """Show how far subsets of raters agree with people.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.subsets.rater_subsets`.

    Yields
    ------
    Table
    """
    subsets = [
        text_row(
            ", ".join(each["raters"]),
            str(len(each["raters"])),
            *(percent(each[rule]) for rule in ("agreement", "majority")),
        )
        for each in result["subsets"]
    ]
    yield text_table(
        "Agreement with people, %",
        ("Raters", *RULES.values()),
        subsets,
        caption=f"{result['pairs']:,} pairs; agreement: 1 less the mean absolute difference to the "
        "mean of the people.\nMean: of the raters. Majority: their most frequent score for two "
        "words; of several, that of the rater listed first. Direct match, as in mAP: "
        f"{percent(result['direct_match'])}.",
    )
    sizes = [
        text_row(
            str(each["size"]),
            *(percent(of[key]) for of in (each, each["majority"]) for key in ("mean", "deviation")),
        )
        for each in result["sizes"]
    ]
    heads = [head for rule in RULES.values() for head in (rule, "Deviation")]
    yield text_table("By number of raters, %", heads, sizes)
    if result["categories"]:
        yield from _category_tables(result["categories"])


RULES = {"mean": "Mean", "majority": "Majority"}
"""How several raters are made one."""
DIFFERS = {"any": "All", "verb": "Verb", "object": "Object", "both": "Both"}
HALVES = {"fitted": "every other pair", "other": "the other half"}


def published_tables(result: Result) -> Iterator[Table]:
    """Show how well tables agree with published levels.

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
                text_row(f"{DIFFERS[row['differs']]} ({row['pairs']:,} pairs)", "", "", ""),
                *(
                    text_row(
                        name,
                        *(_number(of[key]) for key in ("mean_absolute_difference", "correlation")),
                        percent(of["zero"]),
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
        yield text_table(
            f"What differs, {title}",
            ("Difference", "Pearson", "At 0, %"),
            *groups,
            caption="Difference: mean absolute difference to the published level, from 0 to 1. "
            "Where both differ, the smaller similarity is compared. Constants of the ratings of "
            "this package are fitted to every other pair.",
        )


def _category_tables(categories: Sequence[Result]) -> Iterator[Table]:
    """Show agreement by what differs, and the weight of the verb that agrees best."""
    heads = [DIFFERS[each["differs"]] for each in categories]
    rows = [
        text_row(title, *(percent(each[rule]) for each in categories))
        for rule, title in RULES.items()
    ]
    rows += [
        text_row(rater, *(percent(each["raters"][rater]) for each in categories))
        for rater in categories[0]["raters"]
    ]
    rows.append(text_row("Pairs", *(shown(each["pairs"], "count") for each in categories)))
    caption = (
        "Mean, Majority: of all raters. Verb: pairs of two verbs with the same object; Object: the "
        "other way round."
    )
    yield text_table("Agreement by what differs, %", heads, rows, caption=caption)
    swept = [each for each in categories if each["best_weight"] is not None]
    weights = [
        text_row(
            DIFFERS[each["differs"]],
            _number(each["best_weight"]),
            percent(each["best_agreement"]),
            percent(each["mean"]),
        )
        for each in swept
    ]
    if weights:
        yield text_table(
            "Weight of the verb",
            ("w*", "Agreement at w*, %", "As given, %"),
            weights,
            caption="w*: the weight at which the mean of the raters agrees best with people.",
        )


def agreement_tables(result: Result) -> Iterator[Table]:
    """Show how far people agree, and metrics with them.

    Parameters
    ----------
    result : mapping
        As from :func:`diaghoi.semantic.tables.agreement.measure_agreement`, as a dictionary, with
        ``confidence``.

    Yields
    ------
    Table
    """
    kappa, close = result["kappa"], result["agreement"]
    pairs = [
        text_row(f"{one['a']} and {one['b']}", _number(one["value"]), percent(other["value"]))
        for one, other in zip(kappa["pairs"], close["pairs"], strict=True)
    ]
    pairs.append(text_row("Mean", _number(kappa["mean"]), percent(close["mean"])))
    yield text_table(
        "People",
        ("Kappa", "Agreement, %"),
        pairs,
        caption="Kappa: quadratic weights. Agreement: 1 less the mean absolute difference.\n"
        f"Krippendorff's alpha: {_number(result['alpha_ordinal'])} (ordinal), "
        f"{_number(result['alpha_interval'])} (interval).\n"
        f"{result['items']:,} items, {result['ratings']:,} ratings; deviation within an item "
        f"{_number(result['within_item_deviation'])}, standard error of its mean "
        f"{_number(result['standard_error'])}.",
    )
    ratings = [
        text_row(name, *(f"{count:,}" for count in counts))
        for name, counts in result["distribution"].items()
    ]
    yield text_table("Ratings", [str(level) for level in range(result["scale"] + 1)], ratings)
    if result["metrics"]:
        metrics = [
            text_row(
                one["name"],
                percent(one["agreement"]),
                _number(one["rho"]),
                _interval(one["low"], one["high"], _number),
                UNDEFINED if one["p_value"] is None else f"{one['p_value']:.4f}",
            )
            for one in result["metrics"]
        ]
        yield text_table(
            "Metrics",
            ("Agreement, %", "Spearman", "Interval", "p"),
            metrics,
            caption=f"Against the mean of the people; {100 * result['confidence']:g} % interval.",
        )
    if "again" in result:
        yield _again_table(result["again"], result["confidence"])


def _again_table(again: Result, confidence: float) -> Table:
    """Show how many ratings people changed when they rated again."""
    rows = [
        text_row(
            title,
            write(again[key]),
            _interval(again[f"{key}_low"], again[f"{key}_high"], write),
        )
        for key, title, write in (
            ("share", "Changed ratings, %", percent),
            ("size", "Size of a change, points", _number),
        )
    ]
    return text_table(
        f"Rated again in {again['source']}",
        ("Mean", "Interval"),
        rows,
        caption=f"{again['changed']:,} of {again['ratings']:,} ratings by "
        f"{some_of(again['annotators'])} changed; {100 * confidence:g} % interval, of the share "
        "by Wilson; the mean of fewer than ten changes, or of equal ones, has none.",
    )


def _interval(low: float | None, high: float | None, write: Callable[[float | None], str]) -> str:
    """Show an interval; one dash where there is none."""
    return UNDEFINED if low is None or high is None else f"{write(low)} to {write(high)}"


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}".replace("-", "−")

"""Create the tables of further results: variants, other evaluators, intervals, costs.

Variants appear next to the original run, as in tables 5 and 6 of the Diag-HOI paper.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.data.arrays import ratio
from diaghoi.data.table import UNDEFINED, Column, Line, Table, TextTable, has_width, percent, shown
from diaghoi.diagnosis.rosetta import FAMILIES, differences
from diaghoi.diagnosis.variants import variant_title
from diaghoi.exceptions import number_of
from diaghoi.measures import MEASURES, cost
from diaghoi.measures.measure import FULL, SPLIT
from diaghoi.oracles import ERRORS, ORACLES, error_title
from diaghoi.oracles.localised import reading_by_pair
from diaghoi.report.causes import cause_tables
from diaghoi.statistics.bootstrap import TOO_FEW

Result = Mapping[str, Any]
# Columns of the table of variants, by part of a result and key.
VARIANT_COLUMNS = {
    ("pairs", "per_image"): Column(title="Pairs\nper image", unit="number", width=9),
    ("pairs", "recall"): Column(title="Pair\nrecall, %", width=9),
    ("pairs", "precision"): Column(title="Pair\nprecision, %", width=12),
    ("map", "full"): Column(title="\nmAP, %", width=9),
}

# Percentages of the true positives that the listed operating points keep.
KEPT = (25, 50, 75, 90)


def extra_tables(result: Result, splits: Sequence[Column]) -> Iterator[Table]:
    """Create the tables of all requested extras.

    Parameters
    ----------
    result : mapping
        The report; a missing key means no table.
    splits : sequence of Column
        Groups of classes shown in the report.
    """
    yield from (each.table for each in _text_tables(result, splits))
    if "slices" in result:
        yield from slice_tables(result["slices"])


def _text_tables(result: Result, splits: Sequence[Column]) -> Iterator[TextTable]:
    if "detections" in result:
        yield _detections(result["detections"], splits)
    if "unscored" in result:
        yield _bounds(result, splits)
    if (result.get("operating_points") or {}).get("best") is not None:
        yield _operating_points(result["operating_points"])
        yield _best_point(result["operating_points"])
    if "shortcuts" in result:
        yield _shortcuts(result, splits)
    if "variants" in result:
        yield _variants(result)
    if "rosetta" in result:
        yield _rosetta(result, splits)
    if "intervals" in result:
        yield _intervals(result, splits)
    if result.get("attribution", {}).get("map") is not None:
        yield _attribution(result)
    if "annotation_causes" in result:
        yield from cause_tables(result, splits)
    if "calibration" in result:
        yield _calibration(result)


def _of(splits: Sequence[Column], scores: Mapping[str, float | None]) -> list[float | None]:
    """Return the number for each group of classes."""
    return [scores.get(split.key) for split in splits]


def _detections(found: Result, splits: Sequence[Column]) -> TextTable:
    """Show precision, recall and F1 of the predictions above a score threshold."""
    full, threshold, best = found["full"], found["threshold"], found.get("best")
    names = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
    least = "" if threshold is None else f" with a score of at least {threshold:g}"
    caption = (
        f"{number_of('true positive', full['true_positive'])} among "
        f"{number_of('prediction', full['predicted'])}{least}; {full['annotated']:,} annotated. "
        "Pooled over classes"
    )
    caption += "; Full also counts triplets that belong to no class." if threshold is None else "."
    if best is not None:
        caption += (
            f"\nHighest F1, Full: {percent(best['f1'])} at a threshold of {best['threshold']:.3g} "
            f"(precision {percent(best['precision'])}, recall {percent(best['recall'])})."
        )
    lines = [
        Line(title, [found.get(split.key, {}).get(key) for split in splits])
        for key, title in names.items()
    ]
    return TextTable("Triplets with the right class and boxes, %", splits, [lines], caption)


def _operating_points(found: Result) -> TextTable:
    """Show the number and quality of the predictions that each score threshold keeps."""
    curve, best = found["curve"], found["best"]
    keys = ("threshold", "precision", "recall", "f1", "triplets_per_image", "pairs_per_image")

    def line(title: str, threshold: float, *numbers: float | None) -> Line:
        return Line(title, [f"{threshold:.3g}", *numbers])

    def at(place: int) -> list[Any]:
        return [None if curve[key] is None else curve[key][place] for key in keys]

    right = curve["errors"]["true_positive"]
    lines = [
        line(f"{share} % of the right", *at(bisect_left(right, share * right[-1] / 100)))
        for share in KEPT
    ]
    per_image = (Column(title=f"{what}\n/ image", unit="number") for what in ("Triplets", "Pairs"))
    return TextTable(
        "Operating points, %",
        ["Score", "Precision", "Recall", "F1", *per_image],
        [
            [line("Best F1", *(best[key] for key in keys))],
            [*lines, line("All predictions", *at(-1))],
        ],
        caption="All classes are pooled: every triplet has the same weight. Predictions "
        "with at least the "
        "given score are kept. Pairs are taken from the kept triplets, not from a pair file.",
    )


def _best_point(found: Result) -> TextTable:
    """Show the errors at the best threshold."""
    best = found["best"]
    predicted = best["triplets_per_image"] * found["images"]
    calibrated = best["calibration"]
    caption = "Share of the kept predictions; for false negatives, share of the annotated triplets."
    if calibrated is not None:
        caption += (
            f"\nCalibration of these predictions: mean score {percent(calibrated['mean_score'])}, "
            f"share of true positives {percent(calibrated['precision'])}; expected calibration "
            f"error {percent(calibrated['ece'])}."
        )
    lines = []
    for name, count in best["errors"].items():
        whole = found["annotated"] if name == "false_negative" else predicted
        lines.append(Line(error_title(name), [count, count / whole], key=name))
    columns = (Column(title="Count", unit="count"), Column(title="Share, %"))
    return TextTable("Errors at the best F1", columns, [lines], caption)


def _shortcuts(result: Result, splits: Sequence[Column]) -> TextTable:
    """Show the mAP of the detector next to the mAP of priors on the same pairs."""
    found = result["shortcuts"]
    groups = [[Line(f"Protocol {result['protocol']['name']}", _of(splits, result["map"]))]]
    for key, name in (("object", "Verbs by the object"), ("verb", "Verbs by frequency")):
        prior = found[key]
        lift = Line("lift", _of(splits, prior["lift"]), "points", indented=True)
        groups.append([Line(name, _of(splits, prior["map"])), lift])
        if "map_all_images" in prior:
            groups[-1].append(Line("with the image itself", _of(splits, prior["map_all_images"])))
    priors = [found["object"].get(key) for key in ("map", "map_all_images")]
    shares = [percent(ratio(each["full"], result["map"]["full"])) for each in priors if each]
    return TextTable(
        "Priors on the detector's pairs, mAP, %",
        splits,
        groups,
        caption=f"The object alone gives {' to '.join(shares)} % of mAP. Lift: mAP of the detector "
        f"minus mAP of the prior. Verbs are counted in {found['annotations']}; confidence in a "
        "pair: "
        f"{found['confidence']}.",
    )


def _bounds(result: Result, splits: Sequence[Column]) -> TextTable:
    """Show the bounds of mAP over all possible scores."""
    lines = []
    for setting, found in result["unscored"]["bounds"].items():
        name = result["protocol"]["name"] if setting == "protocol" else setting.replace("_", " ")
        start = "Protocol" if setting == "protocol" else "Official,"
        for key in ("worst", "best"):
            scores = found[key]
            if setting.startswith(("agent", "scenario")):
                scores = {"full": scores.get("ap")}
            lines.append(Line(f"{start} {name}: {key}", _of(splits, scores)))
    return TextTable(
        "Bounds of mAP without scores, %",
        splits,
        [lines],
        caption="The bounds are taken over all possible rankings of the predictions. In the other "
        "tables, all "
        "predictions of a class share one rank. With a shared rank, duplicates tie with their "
        "true positive, so mAP can be lower than the worst bound: any ranking puts duplicates "
        "behind their true positive.",
    )


def _variants(result: Result) -> TextTable:
    """Show a run and its variants; the differences are in brackets below each variant."""

    def numbers(figures: Result) -> list[float | None]:
        return [figures[part][key] for part, key in VARIANT_COLUMNS]

    lines = [Line("As given", numbers(result))]
    for name, variant in result["variants"].items():
        title = variant_title(name, [variant])
        lines.append(Line(title[:1].upper() + title[1:], numbers(variant)))
        differences = zip(numbers(variant["difference"]), VARIANT_COLUMNS.values(), strict=True)
        lines.append(
            Line("", [f"({shown(less, column.unit, signed=True)})" for less, column in differences])
        )
    caption = "In brackets: difference from the unmodified run."
    if any(variant.get("of_pair_scores") for variant in result["variants"].values()):
        caption += (
            "\nPair score threshold: the file has no detection scores, so the threshold applies to "
            "the scores of its pairs."
        )
    return TextTable("Variants", list(VARIANT_COLUMNS.values()), [lines], caption)


def _rosetta(result: Result, splits: Sequence[Column]) -> TextTable:
    """Show the mAP by each evaluator, and list how the rules of the evaluators differ."""
    found = result["rosetta"]
    remarks = ["How each code base differs from the official evaluator:"]
    remarks += [f"{name}: {'; '.join(differences(FAMILIES[name])) or 'nothing'}." for name in found]
    scores = {"official": result["official"]["default"], **found}
    official, *others = (Line(name, _of(splits, each), key=name) for name, each in scores.items())
    return TextTable(
        "mAP by the evaluators of code bases, %", splits, [[official], others], "\n".join(remarks)
    )


def _intervals(result: Result, splits: Sequence[Column]) -> TextTable:
    """Show the intervals of the numbers that people quote; the JSON has all intervals."""
    settings, intervals = result["bootstrap"], result["intervals"]
    few = settings.get("few", {})
    lines: list[Line] = []
    printed: list[Sequence[float]] = []

    quoted = [measure for measure in MEASURES.values() if measure.quoted]
    place = [measure.path for measure in quoted].index("map.{}") + 1
    for measure in (*quoted[:place], *map(cost, ORACLES), *quoted[place:]):
        last = measure.path.endswith(SPLIT)  # more numbers would not fit on a line
        paths = [measure.at(split.key) for split in splits] if last else [measure.at(FULL)]
        found = [intervals.get(path) for path in paths]
        if any(bounds is not None for bounds in found) or not few.keys().isdisjoint(paths):
            printed.extend(bounds for bounds in found if bounds is not None)
            cells = [bounds_text(bounds, signed=measure.unit == "points") for bounds in found]
            blank = [""] * (len(splits) - len(cells))
            title = measure.named(measure.title, result).partition(":")[0]
            lines.append(Line(title, [*cells, *blank]))
    others = sum(bounds is not None for bounds in intervals.values()) - len(printed)
    return TextTable(
        f"Intervals, {100 * settings['confidence']:g} %",
        [split.title for split in splits],
        [lines],
        caption=f"From {settings['resamples']:,} resamples of the images, {settings['method']}, "
        f"seed {settings['seed']}. ΔmAP: by the published rule. --json writes "
        f"{number_of('further interval', others)}."
        f"{flat_remark(printed)}" + (f"\n{UNDEFINED}: no interval, as {TOO_FEW}." if few else ""),
    )


def _attribution(result: Result) -> TextTable:
    values = result["attribution"]
    # ΔmAP is defined as for the Shapley values: on found pairs.
    read = result["oracles"] | result["localised"]
    alone = {name: read[name]["delta_map"]["full"] for name in ERRORS}
    lines = [Line(ORACLES[name].title, [alone[name], values[name]], key=name) for name in ERRORS]
    return TextTable(
        "What errors cost",
        [Column(title=title, unit="points") for title in ("ΔmAP on found pairs", "Shapley value")],
        [lines, [Line("Sum", [sum(alone.values()), values["total"]])]],
        caption=f"Shapley values add up: from mAP {percent(values['map'])} to "
        f"{percent(values['map_repaired'])} with all seven errors repaired.\n"
        f"Both columns are on found pairs: {reading_by_pair(values['pairing'])}.",
    )


def _calibration(result: Result) -> TextTable:
    found = result["calibration"]
    largest = "Largest in a bin"
    if found.get("mce_count") is not None:
        largest += f", of {number_of('prediction', found['mce_count'])}"
    names = {"ece": "Expected calibration error", "mce": largest, "brier": "Brier score"}
    lines = [Line(title, [found[key]]) for key, title in names.items() if key in found]
    direction = _direction(found)
    return TextTable(
        "Calibration of triplet scores, %",
        ["All"],
        [[*direction, *lines]],
        caption="The rows of errors and true positives add up to the amount by which scores are "
        "too high or low. "
        "On average: over all predictions, including those with low scores."
        if direction
        else "",
    )


def _direction(calibration: Mapping[str, Any]) -> list[Line]:
    """Describe whether scores are too high or too low on average, and which errors contribute."""
    labels, count = calibration.get("errors", {}), calibration.get("count", 0)
    if not labels or not count:
        return []
    surplus = {
        name: label["count"] * (label["mean_score"] or 0.0) / count
        for name, label in labels.items()
    }
    right = labels["true_positive"]["count"] / count
    mean = sum(surplus.values())
    surplus["true_positive"] -= right
    way = "high" if mean >= right else "low"
    largest = sorted(surplus, key=lambda name: -abs(surplus[name]))
    return [
        Line("Mean score", [mean]),
        Line("Share of true positives", [right]),
        Line(f"Scores too {way} on average", [mean - right], "points"),
        *(Line(error_title(name), [surplus[name]], "points", indented=True) for name in largest),
    ]


def bounds_text(bounds: Sequence[float] | None, *, signed: bool = False) -> str:
    """Format an interval in percent: a dash for None, and a single value if it has no width."""
    if bounds is None:
        return UNDEFINED
    low, high = (percent(bound, signed=signed) for bound in bounds)
    return f"only {low}" if low == high else f"{low} to {high}"


def flat_remark(intervals: Iterable[Sequence[float]]) -> str:
    """Explain intervals of zero width on a separate line; empty if there are none."""
    if all(map(has_width, intervals)):
        return ""
    return (
        "\nOnly: (nearly) all resamples give this value, for example because no image has "
        "the error."
    )

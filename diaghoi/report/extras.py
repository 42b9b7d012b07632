"""Tables of what a report holds beyond the diagnosis: variants, other evaluators, intervals, costs.

Variants stand beside the run itself, as in tables 5 and 6 of the Diag-HOI paper.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.data.arrays import ratio
from diaghoi.data.table import (
    UNDEFINED,
    Row,
    Table,
    Unit,
    has_width,
    percent,
    shown,
    text_row,
    text_table,
)
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
# Part of a result, key in it, heading in two lines, and unit.
VARIANT_COLUMNS: tuple[tuple[str, str, str, Unit], ...] = (
    ("pairs", "per_image", "Pairs\nper image", "number"),
    ("pairs", "recall", "Pair\nrecall, %", "percent"),
    ("pairs", "precision", "Pair\nprecision, %", "percent"),
    ("map", "full", "\nmAP, %", "percent"),
)

# Shares of the true positives, in percent, at which operating points are shown.
KEPT = (25, 50, 75, 90)


def extra_tables(result: Result, titles: Mapping[str, str]) -> Iterator[Table]:
    """Make the tables of all that was asked for.

    Parameters
    ----------
    result : mapping
        The report; keys that are not there give no table.
    titles : mapping
        Title of each split that the report shows, by its key.
    """
    if "detections" in result:
        yield _detections(result["detections"], titles)
    if "unscored" in result:
        yield _bounds(result, titles)
    if (result.get("operating_points") or {}).get("best") is not None:
        yield from _operating_points(result["operating_points"])
    if "shortcuts" in result:
        yield _shortcuts(result, titles)
    if "variants" in result:
        yield _variants(result)
    if "rosetta" in result:
        yield _rosetta(result, titles)
    if "intervals" in result:
        yield _intervals(result, titles)
    if result.get("attribution", {}).get("map") is not None:
        yield _attribution(result)
    if "annotation_causes" in result:
        yield from cause_tables(result, titles)
    if "calibration" in result:
        yield _calibration(result)
    if "slices" in result:
        yield from slice_tables(result["slices"])


def _detections(found: Result, titles: Mapping[str, str]) -> Table:
    """Show precision, recall and F1 of the predictions with at least some score."""
    full, threshold, best = found["full"], found["threshold"], found.get("best")
    names = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
    least = "" if threshold is None else f" with a score of at least {threshold:g}"
    caption = (
        f"{number_of('true positive', full['true_positive'])} among "
        f"{number_of('prediction', full['predicted'])}{least}; {full['annotated']:,} annotated. "
        "Pooled over classes"
    )
    caption += "; Full counts listed triplets of no class, too." if threshold is None else "."
    if best is not None:
        caption += (
            f"\nHighest F1, Full: {percent(best['f1'])} from a score of {best['threshold']:.3g} on "
            f"(precision {percent(best['precision'])}, recall {percent(best['recall'])})."
        )
    return text_table(
        "Triplets right in class and boxes, %",
        list(titles.values()),
        [
            text_row(title, *(percent(found.get(split, {}).get(key)) for split in titles))
            for key, title in names.items()
        ],
        caption=caption,
        widths=[9] * len(titles),
    )


def _operating_points(found: Result) -> Iterator[Table]:
    """Show what some thresholds keep, and the errors at the best of them."""
    curve, best = found["curve"], found["best"]
    numbers = ("triplets_per_image", "pairs_per_image")

    def row(title: str, point: Mapping[str, float | None]) -> Row:
        shares = (percent(point[key]) for key in ("precision", "recall", "f1"))
        kept = (shown(point[key], "number") for key in numbers)
        return text_row(title, f"{point['threshold']:.3g}", *shares, *kept)

    def at(place: int) -> dict[str, float | None]:
        keys = ("threshold", "precision", "recall", "f1", *numbers)
        return {key: None if curve[key] is None else curve[key][place] for key in keys}

    right = curve["errors"]["true_positive"]
    rows = [
        row(f"{share} % of the right", at(bisect_left(right, share * right[-1] / 100)))
        for share in KEPT
    ]
    yield text_table(
        "Operating points, %",
        ("Score", "Precision", "Recall", "F1", "Triplets\n/ image", "Pairs\n/ image"),
        [row("Best F1", best)],
        [*rows, row("All predictions", at(-1))],
        caption="All classes pooled: every triplet counts the same. Predictions with at least the "
        "score are kept. Pairs: those of the kept triplets, not of a pair file.",
    )
    predicted = best["triplets_per_image"] * found["images"]
    calibrated = best["calibration"]
    yield text_table(
        "Errors at the best F1",
        ("Count", "Share, %"),
        [
            text_row(
                error_title(name),
                shown(count, "count"),
                percent(count / (found["annotated"] if name == "false_negative" else predicted)),
                key=name,
            )
            for name, count in best["errors"].items()
        ],
        caption="Share of the predictions kept; of the annotated triplets for false negative."
        + (
            ""
            if calibrated is None
            else f"\nCalibration there: mean score {percent(calibrated['mean_score'])}, share of "
            f"true positives {percent(calibrated['precision'])}; expected calibration error "
            f"{percent(calibrated['ece'])}."
        ),
    )


def _shortcuts(result: Result, titles: Mapping[str, str]) -> Table:
    """Show mAP beside that of priors on the same pairs."""
    found = result["shortcuts"]

    def row(name: str, scores: Mapping[str, float | None], *, lift: bool = False) -> Row:
        unit: Unit = "points" if lift else "percent"
        return text_row(name, *(shown(scores.get(s), unit) for s in titles), indented=lift)

    groups = []
    for key, name in (("object", "Verbs by the object"), ("verb", "Verbs by frequency")):
        prior = found[key]
        groups.append([row(name, prior["map"]), row("lift", prior["lift"], lift=True)])
        if "map_all_images" in prior:
            groups[-1].append(row("with the image itself", prior["map_all_images"]))
    priors = [found["object"].get(key) for key in ("map", "map_all_images")]
    shares = [percent(ratio(each["full"], result["map"]["full"])) for each in priors if each]
    return text_table(
        "Priors on the detector's pairs, mAP, %",
        list(titles.values()),
        [row(f"Protocol {result['protocol']['name']}", result["map"])],
        *groups,
        caption=f"The object alone gives {' to '.join(shares)} % of mAP. Lift: mAP above the "
        f"prior. Verbs counted in {found['annotations']}; confidence in a pair: "
        f"{found['confidence']}.",
        widths=[9] * len(titles),
    )


def _bounds(result: Result, titles: Mapping[str, str]) -> Table:
    """Show between what mAP lies over all ways to score the predictions."""
    rows = []
    for setting, found in result["unscored"]["bounds"].items():
        name = result["protocol"]["name"] if setting == "protocol" else setting.replace("_", " ")
        start = "Protocol" if setting == "protocol" else "Official,"
        for key in ("worst", "best"):
            scores = found[key]
            if setting.startswith(("agent", "scenario")):
                scores = {"full": scores.get("ap")}
            cells = (percent(scores.get(split)) for split in titles)
            rows.append(text_row(f"{start} {name}: {key}", *cells))
    return text_table(
        "Bounds of mAP without scores, %",
        list(titles.values()),
        rows,
        caption="Over all ways to rank the predictions. In the other tables all predictions of a "
        "class share one rank, which can be lower than the worst: duplicates then stand beside the "
        "true positive, behind which any scores would rank them.",
        widths=[9] * len(titles),
    )


def _variants(result: Result) -> Table:
    """Show a run and its variants; below each variant its difference in brackets."""
    rows = [text_row("As given", *_variant_cells(result))]
    for name, variant in result["variants"].items():
        title = variant_title(name, [variant])
        rows.append(text_row(title[:1].upper() + title[1:], *_variant_cells(variant)))
        difference = _variant_cells(variant["difference"], signed=True)
        rows.append(text_row("", *(f"({text})" for text in difference)))
    heads = [head for *_, head, _ in VARIANT_COLUMNS]
    caption = "In brackets the difference from the run as it was given."
    if any(variant.get("of_pair_scores") for variant in result["variants"].values()):
        caption += (
            "\nPair score threshold: no detection scores in the file, so that the scores of its "
            "pairs decide."
        )
    return text_table(
        "Variants",
        heads,
        rows,
        caption=caption,
        widths=[max(9, *map(len, head.splitlines())) for head in heads],
    )


def _variant_cells(figures: Result, *, signed: bool = False) -> list[str]:
    return [
        shown(figures[part][key], unit, signed=signed) for part, key, _, unit in VARIANT_COLUMNS
    ]


def _rosetta(result: Result, titles: Mapping[str, str]) -> Table:
    """Show the mAP of each evaluator, and below what it does in another way."""

    def row(name: str, scores: Mapping[str, float | None]) -> Row:
        return text_row(name, *(percent(scores.get(split)) for split in titles), key=name)

    found = result["rosetta"]
    remarks = ["What each does in another way than the official evaluator:"]
    remarks += [f"{name}: {'; '.join(differences(FAMILIES[name])) or 'nothing'}." for name in found]
    return text_table(
        "Evaluators of code bases, mAP, %",
        list(titles.values()),
        [row("official", result["official"]["default"])],
        [row(name, scores) for name, scores in found.items()],
        caption="\n".join(remarks),
        widths=[9] * len(titles),
    )


def _intervals(result: Result, titles: Mapping[str, str]) -> Table:
    """Bounds of the figures that people quote; all are in the JSON."""
    settings, intervals = result["bootstrap"], result["intervals"]
    few = settings.get("few", {})
    rows: list[Row] = []
    printed: list[Sequence[float]] = []

    quoted = [measure for measure in MEASURES.values() if measure.quoted]
    place = [measure.path for measure in quoted].index("map.{}") + 1
    for measure in (*quoted[:place], *map(cost, ORACLES), *quoted[place:]):
        last = measure.path.endswith(SPLIT)  # the others would not fit into a line
        paths = [measure.at(split) for split in (titles if last else [FULL])]
        found = [intervals.get(path) for path in paths]
        if any(bounds is not None for bounds in found) or not few.keys().isdisjoint(paths):
            printed.extend(bounds for bounds in found if bounds is not None)
            cells = [bounds_text(bounds, signed=measure.unit == "points") for bounds in found]
            blank = [""] * (len(titles) - len(cells))
            title = measure.named(measure.title, result).partition(":")[0]
            rows.append(text_row(title, *cells, *blank))
    others = sum(bounds is not None for bounds in intervals.values()) - len(printed)
    return text_table(
        f"Intervals, {100 * settings['confidence']:g} %",
        list(titles.values()),
        rows,
        caption=f"From {settings['resamples']:,} resamples of the images, {settings['method']}, "
        f"seed {settings['seed']}. ΔmAP: by the published rule. --json writes {others:,} more."
        f"{flat_remark(printed)}" + (f"\n{UNDEFINED}: no interval, as {TOO_FEW}." if few else ""),
    )


def bounds_text(bounds: Sequence[float] | None, *, signed: bool = False) -> str:
    """Show an interval in percent; a dash for None, and one value where it has no width."""
    if bounds is None:
        return UNDEFINED
    low, high = (percent(bound, signed=signed) for bound in bounds)
    return f"{low} to {high}" if has_width(bounds) else f"only {low}"


def flat_remark(intervals: Iterable[Sequence[float]]) -> str:
    """Explain intervals without a width, a line of its own; empty where all have one."""
    if all(map(has_width, intervals)):
        return ""
    return "\nOnly: (nearly) all resamples give this value, as where no image has the error."


def _attribution(result: Result) -> Table:
    values = result["attribution"]
    # By the same reading as the values.
    read = result["oracles"] | result["localised"]
    alone = {name: read[name]["delta_map"]["full"] for name in ERRORS}

    def row(title: str, alone: float | None, value: float | None, key: str = "") -> Row:
        return text_row(title, shown(alone, "points"), shown(value, "points"), key=key)

    return text_table(
        "What errors cost",
        ("ΔmAP on found pairs", "Shapley value"),
        [row(ORACLES[name].title, alone[name], values[name], name) for name in ERRORS],
        [row("Sum", sum(alone.values()), values["total"])],
        caption=f"Shapley values add up: from mAP {percent(values['map'])} to "
        f"{percent(values['map_repaired'])} with all seven errors repaired.\n"
        f"Both columns on found pairs: {reading_by_pair(values['pairing'])}.",
    )


def _calibration(result: Result) -> Table:
    found = result["calibration"]
    largest = "Largest in a bin"
    if found.get("mce_count") is not None:
        largest += f", of {number_of('prediction', found['mce_count'])}"
    names = {"ece": "Expected calibration error", "mce": largest, "brier": "Brier score"}
    rows = [text_row(title, percent(found[key])) for key, title in names.items() if key in found]
    direction = _direction(found)
    return text_table(
        "Calibration of triplet scores, %",
        ("All",),
        [*direction, *rows],
        caption="The errors and true positives add up to how much scores are too high or low. "
        "On average: over all predictions, however low their scores."
        if direction
        else "",
    )


def _direction(calibration: Mapping[str, Any]) -> list[Row]:
    """Say whether scores are too high or too low on average, and which predictions make them so."""
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
        text_row("Mean score", percent(mean)),
        text_row("Share of true positives", percent(right)),
        text_row(f"Scores too {way} on average", percent(mean - right, signed=True)),
        *(
            text_row(error_title(name), percent(surplus[name], signed=True), indented=True)
            for name in largest
        ),
    ]

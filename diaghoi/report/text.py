"""Print the report as text for terminals and log files, at most 80 columns wide and uncoloured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from diaghoi.comparison.results import (
    CHANGED,
    PRECISION,
    actions_remark,
    by_person,
    classes_in,
    coverage_words,
    error_count,
    known_object_remark,
    means_found_classes,
    only_interactions,
)
from diaghoi.data.arrays import ratio
from diaghoi.data.protocol import choices_of, phrases_of, short_signature, title_of
from diaghoi.data.table import Column, Line, Table, TextTable, percent
from diaghoi.data.vocabulary import printed_name
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import number_of
from diaghoi.measures import MEASURES
from diaghoi.oracles import ORACLES, TOTALS
from diaghoi.oracles.localised import LEFT_OUT, ON_FOUND_PAIRS, reading_by_pair
from diaghoi.report.extras import extra_tables
from diaghoi.report.terminal import WIDTH, folded, print_blocks, wrapped
from diaghoi.report.verdict import (
    by_cost,
    headline,
    of_held_images,
    ranks_errors,
    remarks,
    verdict,
)

# Fixed widths of columns with counts or shares and of columns for groups of classes, so that tables
# line up.
COUNT_WIDTH, SPLIT_WIDTH = 10, 9
# Maximum number of lines on the first screen of a report, and of remarks on this screen.
LINES, MARKS = 24, 3
REPAIRED, GAP = "If repaired alone", "   "
TOTAL_WORDS = {
    "false_positive": "all false positives",
    "false_negative": "all false negatives",
}
Result = Mapping[str, Any]


def print_report(result: Result, console: Console | None = None, *, notes: bool = True) -> None:
    """Print the report of one detector.

    Parameters
    ----------
    result : mapping
        A result of :meth:`diaghoi.Diagnosis.to_dict`, possibly read from a JSON file.
    console : rich.console.Console, optional
        Console to print on; by default stdout. Tables keep their 76 columns even on a narrower
        console, so that no number is cut.
    notes : bool
        Whether to print the notes below the tables.
    """
    console = Console(highlight=False) if console is None else console
    protocol = result["protocol"]
    choices = phrases_of(protocol["signature"])
    splits = split_columns(result)
    blocks: tuple[str | Table, ...] = (
        f"{heading(result)} ({protocol['name']})",
        headline(result),
        verdict(result),
        counts_line(result),
        *report_tables(result),
        *pairs_line(result).splitlines(),
        *extra_tables(result, splits),
        "",
        *wrapped([f"Protocol {protocol['name']}: {choices[0]}", *choices[1:]], console.width),
        *(f"Note: {note}" for note in (result["notes"] if notes else [])),
    )
    print_blocks(console, blocks)


def print_screen(result: Result, console: Console | None = None) -> None:
    """Print the first screen of a report, followed by the requested tables.

    Parameters
    ----------
    result : mapping
        As in :func:`print_report`, which prints everything.
    console : rich.console.Console, optional
        As for :func:`print_report`.
    """
    console = Console(highlight=False) if console is None else console
    for row, line in enumerate(screen_lines(result, max(console.width, WIDTH))):
        style = "bold" if row == 0 or line.startswith(REPAIRED) else ""
        console.print(Text(line, style=style), soft_wrap=True)
    asked = dict(result)
    if "unscored" in asked:  # tables on detectors without scores exist even if not requested
        del asked["unscored"], asked["detections"]
    print_blocks(console, extra_tables(asked, split_columns(result)))


def screen_lines(result: Result, width: int = 80) -> list[str]:
    """List the lines of a report's first screen: at most 24 lines of the given width.

    Parameters
    ----------
    result : mapping
        As for :func:`print_report`.
    width : int
        Characters per line, at least 76.

    Returns
    -------
    list of str
        The detector, remarks on its numbers, mAP, the ΔmAP of each error, the results on pairs,
        negatives and actions, and the protocol. Values are in percent and percentage points.
    """
    means, costs, parts = _means(result), _costs(result), _parts_in_words(result)
    meaning = _meaning(result) if "semantic" in result else ""
    said = remarks(result)
    sure = "" if "intervals" in result else ", --bootstrap 1000"
    title = title_lines(result, width)
    below = [
        "",
        *wrapped(means, width, GAP)[:2],
        "",
        *costs,
        *(folded(meaning, width, 2) if meaning else ()),
        "",
        *wrapped(parts, width, " · "),
        *end_lines(result, f"--detail{sure}, --out FOLDER", width),
    ]
    taken = sum(max(1, -(-cell_len(line) // width)) for line in (*title, *below))
    return [*title, *marked(said, width, LINES - taken), *below]


def title_lines(result: Result, width: int) -> list[str]:
    """Return the start of a first screen: the detector, the data set and the amount of data."""
    counts = result["counts"]
    return folded(
        f"{result['label'] or 'Predictions'} · {printed_name(result['dataset'])} · "
        f"{number_of('image', counts['images'])}, {counts['annotated_triplets']:,} annotated and "
        f"{number_of('predicted triplet', counts['predicted_triplets'])}",
        width,
        2,
    )


def end_lines(result: Result, more: str, width: int) -> list[str]:
    """Return the end of a screen: the protocol line to copy, and the options that show more."""
    protocol = result["protocol"]
    signature = short_signature(protocol["name"], protocol["signature"])
    return wrapped([f"{signature}|diaghoi.{result['diaghoi']}", f"more: {more}"], width, "     ")


def marked(said: Sequence[str], width: int, room: int) -> list[str]:
    """Format the first remarks that fit on the screen, and count the others.

    Parameters
    ----------
    said : sequence of str
        Remarks on the numbers, most important first.
    width : int
        Characters per line.
    room : int
        Number of free lines on the screen.

    Returns
    -------
    list of str
        Lines of the screen.
    """
    lines: list[str] = []
    for number, remark in enumerate(said):
        left = len(said) - number - 1
        folds = folded(f"! {remark}", width, max(1, min(2, room - len(lines) - (left > 0))))
        if number == MARKS or len(lines) + len(folds) + (left > 0) > room:
            return [*lines, f"! {number_of('more remark', left + 1)} like these: --detail"]
        lines += folds
    return lines


def _means(result: Result) -> list[str]:
    """List the means that papers report, and the mean by the protocol if it differs."""
    official, means = result["official"], result["map"]
    of = _covered(result.get("coverage", {}))
    if "default" in official:
        number = result["counts"].get("classes_in_official", {}).get("full", "")
        classes = f", {number} interactions".replace("  ", " ") if only_interactions(result) else ""
        means = {f"mAP{classes}{of}": official["default"]["full"]}
        means |= _of_groups(result, official["default"])
        if "known_object" in official:
            means["Known Object"] = official["known_object"]["full"]
    elif "agent" in official:
        means = {
            f"Role AP{of}, scenario 1": official["scenario_1"]["ap"],
            "scenario 2": official["scenario_2"]["ap"],
            "agent": official["agent"]["ap"],
        }
    else:
        means = {f"mAP{of}": means["full"], **_of_groups(result, means)}
    shown_means = {title: percent(value) for title, value in means.items()}
    own = percent(result["map"]["full"])
    first, *others = (f"{title} {value}" for title, value in shown_means.items())
    bounds = result.get("unscored", {}).get("bounds", {})
    bound = bounds.get("default") or bounds.get("protocol")
    if bound:
        low, high = (percent(bound[key]["full"]) for key in ("worst", "best"))
        first += f" ({low} to {high} if scores ranked)"
    if own != next(iter(shown_means.values())):
        classes = choices_of(result["protocol"]["signature"]).get("classes", "")
        left = f", {classes}" if "left out" in classes else ""
        others.append(f"ΔmAP starts from mAP {own} under {title_of(**_named(result))}{left}")
    if "unscored" in result:
        others.append(f"F1 {percent(result['detections']['full']['f1'])}")
    return [first, *others]


def _covered(coverage: Result) -> str:
    """State how many annotated images a mean covers, if the prediction file lacks some of them."""
    if not coverage:
        return ""
    held, annotated = coverage["shared_images"], coverage["annotated_images"]
    if coverage.get("only_predicted_images"):
        return f" on {held:,} of {annotated:,} images"
    return f" ({annotated - held:,} of {annotated:,} images missing)"


def _named(result: Result) -> dict[str, str]:
    return {key: result["protocol"][key] for key in ("name", "signature")}


def _of_groups(result: Result, means: Result) -> dict[str, float | None]:
    return {
        split.title: means.get(split.key) for split in split_columns(result) if split.key != "full"
    }


def _costs(result: Result) -> list[str]:
    """List the cost of each error, largest first, with the cost on found pairs in brackets."""
    oracles = result["oracles"]
    ranked = ranks_errors(result)
    names = [name for name in by_cost(result) if name not in TOTALS]
    room = max(map(len, map(_title, names)))
    size = max(room + 4, len(REPAIRED) + 2)
    shares = {name: _share(result, name) for name in names}
    wide = max(map(len, shares.values()))
    others = {name: _other_cost(result, name) for name in names}
    of = f"of predictions{'' if ranked else ', not ranked'}"
    return [
        f"{REPAIRED:<{size}}{'ΔmAP':>6}   {of}",
        *(
            f"{f'  {_title(name)}':<{size}}{_gain(oracles[name]):>6}   {shares[name]:<{wide}} "
            f"{others[name]}".rstrip()
            for name in names
        ),
        "  " + GAP.join(f"{words} {_gain(oracles[name])}" for name, words in TOTAL_WORDS.items()),
    ]


def _meaning(result: Result) -> str:
    """Describe how much of the loss is due to predictions near in meaning to the annotations."""
    found = result.get("semantic", {}).get("diagnosis", {})
    errors = [name for name in ("action", "object_box") if name in found]
    near, plausible = (
        percent(
            sum(
                kind["delta_map"] or 0.0
                for name in errors
                for kind in found[name]["kinds"]
                if kind["kind"] == wanted
            )
        )
        for wanted in ("near", "plausible")
    )
    tables = dict.fromkeys(
        table["name"] for table in result.get("semantic", {}).get("similarity", {}).values()
    )
    return (
        f"  of the loss to {' and '.join(map(_title, errors))}, {near} points are near in meaning "
        f"and {plausible} plausible, by {' and '.join(tables)}"
    )


def _share(result: Result, name: str) -> str:
    """Describe the share of the predictions or annotations that have an error."""
    counted = error_count(result, name)
    if counted is None:
        return ""
    if name == "missed_gt":
        return f"{counted[0]:,} of {counted[1]:,} annotated"
    return f"{percent(ratio(*counted)):>6} %"


def _other_cost(result: Result, name: str) -> str:
    """Format the cost in predicted images or on found pairs in brackets, if it differs."""
    gain, held = (_gain(each["oracles"][name]) for each in (result, of_held_images(result)))
    if held != gain:
        return f"({held} in predicted images)"
    second = _gain(result.get("localised", {}).get(name, result["oracles"][name]))
    if second == gain:
        return ""
    return f"({second} {ON_FOUND_PAIRS})"


def _gain(outcome: Result) -> str:
    return percent(outcome["delta_map"]["full"], signed=True)


def _parts_in_words(result: Result) -> list[str]:
    """List the results on pairs, negatives and actions."""
    pairs = result["pairs"]
    listed = "Pairs" if pairs["source"] == "pairs" else "Pairs of the triplets"
    per_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} per image"
    return [
        f"{listed}: recall {percent(pairs['recall'])}, precision {percent(pairs['precision'])}"
        f"{per_image}",
        f"rejecting wrong pairs: AP {percent(result['negatives']['ap'])}",
        f"actions on found pairs: mAP {percent(result['actions']['map'])}",
    ]


def heading(result: Result) -> str:
    """Name the detector, the data set and, if only a part of it is evaluated, this part."""
    name = f"{result['label'] or 'Predictions'} on {printed_name(result['dataset'])}"
    return ", ".join(filter(None, (name, coverage_words(result), result.get("other_split"))))


def counts_line(result: Result) -> str:
    """Describe the numbers of images, of classes in the mean, and of triplets."""
    counts = result["counts"]
    own, official = (classes_in(result, f"classes_in_{mean}") for mean in ("mean", "official"))
    other = f" ({official.split()[0]} in the official mAP)" if official not in ("", own) else ""
    mean = f"{own}{other}, " if own else ""
    return (
        f"{number_of('image', counts['images'])}, {mean}{counts['annotated_triplets']:,} annotated "
        f"and {number_of('predicted triplet', counts['predicted_triplets'])}"
    )


def report_tables(result: Result) -> tuple[Table, Table, Table]:
    """Create the three tables of the report: mAP, errors, and results on pairs and actions."""
    known_object = result["official"].get("known_object")
    facts = _Facts(
        {name: error_count(result, name) for name in ("true_positive", *result["oracles"])},
        only_interactions(result),
        by_person(result),
        "" if known_object is None else known_object_remark(known_object["source"]),
        actions_remark([result]),
        means_found_classes(result),
        choices_of(result["protocol"]["signature"]),
    )
    splits = split_columns(result)
    means, parts = _mean_ap(result, facts, splits), _parts(result, facts, splits)
    return means.table, _errors(result, facts, splits).table, parts.table


class _Facts(NamedTuple):
    """Facts that determine rows and captions, such as error counts with their totals."""

    counted: Mapping[str, tuple[float, float] | None]
    only_interactions: bool
    by_person: bool
    known_object: str
    actions: str
    found_classes: bool
    choices: Mapping[str, str]


def split_columns(result: Result) -> list[Column]:
    """Create a column for each group of classes in the result."""
    return [
        Column(key=split, title=TITLES.get(split, split), width=SPLIT_WIDTH)
        for split in result["map"]
    ]


def _mean_ap(result: Result, facts: _Facts, splits: Sequence[Column]) -> TextTable:
    remarks = filter(None, (facts.known_object, *_levels_remark(result, facts)))
    return TextTable("mAP, %", splits, [_lines(result, facts, splits, "map")], "\n".join(remarks))


def _lines(result: Result, facts: _Facts, splits: Sequence[Column], report: str) -> list[Line]:
    """Create a line for each number in a table of the report."""
    lines = []
    for measure in MEASURES.values():
        if measure.report != report or not measure.is_in(result):
            continue
        title = measure.named(measure.title, result)
        if facts.only_interactions and measure.table == "official":
            title += " (interactions)"
        values = [
            measure.value(result, split.key) if measure.has(split.key) else "" for split in splits
        ]
        lines.append(Line(title, values, measure.unit, indented=measure.indented))
    return lines


def _levels_remark(result: Result, facts: _Facts) -> Iterator[str]:
    """Explain why mAP under perfect ranking exceeds the highest recalls, if it does."""
    best, recalls = result.get("ranking", {}).get("map_best_order", {}), result["max_recall"]
    levels = facts.choices.get("AP", "").removesuffix("-point")
    if levels.isdigit() and any(
        recall is not None and (best.get(split) or 0) > recall for split, recall in recalls.items()
    ):
        yield (
            f"If ranked perfectly: can exceed the highest recalls, because AP is read at {levels} "
            f"recall levels, and a recall of 0.5 reaches {int(levels) // 2 + 1} of them."
        )


def _errors(result: Result, facts: _Facts, splits: Sequence[Column]) -> TextTable:
    blank = [""] * len(splits)

    def line(title: str, name: str, *deltas: float | str | None) -> Line:
        counted = facts.counted[name]
        numbers = ("", "") if counted is None else (counted[0], ratio(*counted))
        return Line(title, [*numbers, *deltas], key=name)

    def deltas(outcome: Result) -> list[float | None]:
        return [outcome["delta_map"][split.key] for split in splits]

    groups = [[line("True positive", "true_positive", *blank)]]
    caption = "Share of the predictions; for missed and false negative, of the annotations."
    if "localised" in result:
        caption += (
            f"\n{ON_FOUND_PAIRS.capitalize()}: "
            f"{reading_by_pair('person' if facts.by_person else 'triplet')}."
        )
    for name, outcome in result["oracles"].items():
        if name == "false_positive":
            if "ignored" in result["errors"]:
                groups[-1].append(Line("Ignored", [result["errors"]["ignored"], "", *blank]))
                caption += (
                    "\nIgnored: triplets on people without annotated actions; not counted as "
                    "predictions."
                )
            groups.append([])
        groups[-1].append(line(_title(name), name, *deltas(outcome)))
        if name in result.get("localised", {}):
            found: list[Any] = ["", ""]
            if name == "missed_gt":
                lost = result["lost"]["triplets"]
                found = [lost, ratio(lost, result["counts"]["annotated_triplets"])]
            found += deltas(result["localised"][name])
            groups[-1].append(Line(ON_FOUND_PAIRS, found, indented=True))
    leave, also = (result["counts"].get(f"leave_mean{by}", {}) for by in ("", "_by_pair"))
    named = [
        f"{title} {_classes(left[name], splits)}"
        for name in result["oracles"]
        for title, left in (
            (_title(name), leave),
            (f"{_title(name)} {ON_FOUND_PAIRS}" if name in also else "", also),
        )
        if name in left
    ]
    if named:
        caption += (
            "\nClasses that a repair leaves without annotated triplets drop out of the mean, "
            f"which explains part of the gain: {', '.join(named)}."
        )
    if facts.found_classes:
        caption += f"\n{CHANGED}"
    columns = (
        Column(title="Count", unit="count", width=COUNT_WIDTH),
        Column(title="Share, %", width=COUNT_WIDTH),
        *(replace(split, title=f"ΔmAP\n{split.title}", unit="points") for split in splits),
    )
    return TextTable("Errors", columns, groups, caption)


def _classes(left: Mapping[str, int], splits: Sequence[Column]) -> str:
    """Count the classes in total and by split: ``3 classes (1 rare, 2 non-rare)``."""
    parts = {
        split.title.lower(): left[split.key]
        for split in splits
        if split.key != "full" and left.get(split.key)
    }
    if list(parts.values()) == [left["full"]]:
        return number_of(f"{next(iter(parts))} class", left["full"])
    more = ", ".join(f"{number} {title}" for title, number in parts.items())
    return number_of("class", left["full"]) + (f" ({more})" if more else "")


def _title(oracle: str) -> str:
    return ORACLES[oracle].title if oracle in ORACLES else oracle


def _parts(result: Result, facts: _Facts, splits: Sequence[Column]) -> TextTable:
    remarks = [PRECISION if len(splits) > 1 else "", facts.actions]
    if facts.by_person:
        remarks.append(f"Actions: {LEFT_OUT}.")
    return TextTable(
        "Pairs, negatives, actions, %",
        splits,
        [_lines(result, facts, splits, "parts")],
        "\n".join(filter(None, remarks)),
    )


def pairs_line(result: Result) -> str:
    """Describe the numbers of predicted, negative and credited pairs, and their source."""
    pairs = result["pairs"]
    per_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} per image"
    source = "as listed" if pairs["source"] == "pairs" else "taken from the triplets"
    number = number_of("predicted pair", result["counts"]["predicted_pairs"])
    negatives = result["negatives"]["negatives"]
    line = f"{number}{per_image}, {source}; {negatives:,} are negatives."
    if pairs["precision"] is None:
        return line
    predicted = result["counts"]["predicted_pairs"]
    credited = round(pairs["precision"] * predicted)
    return (
        f"{line}\nPredicted pairs that find annotated pairs: {predicted - negatives:,}. Only "
        f"the first match of each annotated pair counts as correct in precision: {credited:,}."
    )

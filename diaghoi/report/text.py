"""The report that a terminal shows and a log file keeps: at most 80 columns, no colour needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from diaghoi.data.table import Row, Table, percent, shown, text_row, text_table
from diaghoi.data.vocabulary import printed_name
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import number_of
from diaghoi.measures import MEASURES
from diaghoi.oracles import LOCALISED, ORACLES, TOTALS
from diaghoi.oracles.localised import LEFT_OUT, OWN_ATTEMPT, OWN_OBJECT
from diaghoi.report.extras import extra_tables
from diaghoi.report.terminal import WIDTH, folded, print_line, print_table, wrapped
from diaghoi.report.verdict import (
    headline,
    of_held_images,
    ranks_errors,
    remarks,
    verdict,
)

# Letters that counts and means take at least, so that the splits of all tables line up.
COUNT, SPLIT = 10, 9
# What the first screen of a report takes, and how many remarks stand on it.
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
        As from :meth:`diaghoi.Diagnosis.to_dict`, or read from a JSON file.
    console : rich.console.Console, optional
        Where to print; by default on stdout. Tables keep their 76 columns on a narrower one, so
        that no number is cut.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    protocol = result["protocol"]
    print_line(console, f"{heading(result)} ({protocol['name']})", style="bold")
    print_line(console, headline(result))
    print_line(console, verdict(result))
    print_line(console, counts_line(result))
    for table in report_tables(result):
        console.print()
        print_table(console, table)
    for line in pairs_line(result).splitlines():
        print_line(console, line)
    for table in extra_tables(result, split_titles(result)):
        console.print()
        print_table(console, table)
    console.print()
    choices = phrases_of(protocol["signature"])
    for line in wrapped(
        [f"Protocol {protocol['name']}: {choices[0]}", *choices[1:]], console.width
    ):
        print_line(console, line)
    for note in result["notes"] if notes else []:
        print_line(console, f"Note: {note}")


def print_screen(result: Result, console: Console | None = None) -> None:
    """Print what a report comes to on one screen, and after it the tables that were asked for.

    Parameters
    ----------
    result : mapping
        As for :func:`print_report`, which prints all.
    console : rich.console.Console, optional
        As for :func:`print_report`.
    """
    console = Console(highlight=False) if console is None else console
    for row, line in enumerate(screen_lines(result, max(console.width, WIDTH))):
        style = "bold" if row == 0 or line.startswith(REPAIRED) else ""
        console.print(Text(line, style=style), soft_wrap=True)
    asked = dict(result)
    if "unscored" in asked:  # which always has these tables
        del asked["unscored"], asked["detections"]
    for table in extra_tables(asked, split_titles(result)):
        console.print()
        print_table(console, table)


def screen_lines(result: Result, width: int = 80) -> list[str]:
    """List the lines of the first screen of a report: at most 24 of a width.

    Parameters
    ----------
    result : mapping
        As for :func:`print_report`.
    width : int
        Letters of a line, at least 76.

    Returns
    -------
    list of str
        The detector, what changes how its numbers must be read, mAP, what each error costs by its
        ΔmAP, pairs, negatives and actions, and the protocol. Percent and points of percent.
    """
    title = title_lines(result, width)
    sure = "" if "intervals" in result else ", --bootstrap 1000"
    below = [
        "",
        *wrapped(_means(result), width, GAP)[:2],
        "",
        *_costs(result),
        *(folded(_meaning(result), width, 2) if "semantic" in result else ()),
        "",
        *wrapped(_parts_in_words(result), width, " · "),
        *end_lines(result, f"--detail{sure}, --out FOLDER", width),
    ]
    taken = sum(max(1, -(-cell_len(line) // width)) for line in (*title, *below))
    return [*title, *marked(remarks(result), width, LINES - taken), *below]


def title_lines(result: Result, width: int) -> list[str]:
    """Name the detector, the data set and how much is evaluated, as a first screen begins."""
    counts = result["counts"]
    return folded(
        f"{result['label'] or 'Predictions'} · {printed_name(result['dataset'])} · "
        f"{number_of('image', counts['images'])}, {counts['annotated_triplets']:,} annotated and "
        f"{number_of('predicted triplet', counts['predicted_triplets'])}",
        width,
        2,
    )


def end_lines(result: Result, more: str, width: int) -> list[str]:
    """Give the protocol in a line to copy, and the options that show more, as a screen ends."""
    protocol = result["protocol"]
    signature = short_signature(protocol["name"], protocol["signature"])
    return wrapped([f"{signature}|diaghoi.{result['diaghoi']}", f"more: {more}"], width, "     ")


def marked(said: Sequence[str], width: int, room: int) -> list[str]:
    """Mark the first remarks that find room, and count the others.

    Parameters
    ----------
    said : sequence of str
        What changes how the numbers must be read, the most important first.
    width : int
        Letters of a line.
    room : int
        Lines that are free on the screen.

    Returns
    -------
    list of str
        The lines.
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
    """Name the means that papers print, and that of the protocol where it is another."""
    official, means = result["official"], result["map"]
    held = result.get("coverage", {})
    of = f" ({held['shared_images']:,} of {held['annotated_images']:,} images)" if held else ""
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
        others.append(f"{title_of(**_named(result))} {own}")
    if "unscored" in result:
        others.append(f"F1 {percent(result['detections']['full']['f1'])}")
    return [first, *others]


def _named(result: Result) -> dict[str, str]:
    return {key: result["protocol"][key] for key in ("name", "signature")}


def _of_groups(result: Result, means: Result) -> dict[str, float | None]:
    return {
        title: means.get(split) for split, title in split_titles(result).items() if split != "full"
    }


def _costs(result: Result) -> list[str]:
    """Set what each error costs, the dearest first, the second reading in brackets."""
    result = of_held_images(result) | {"whole": result["oracles"]}
    oracles = result["oracles"]
    ranked = ranks_errors(result)
    names = [name for name in oracles if name not in TOTALS]
    if ranked:
        names.sort(key=lambda name: -(oracles[name]["delta_map"]["full"] or 0.0))
    room = max(map(len, map(_title, names)))
    size = max(room + 4, len(REPAIRED) + 2)
    shares = {name: _share(result, name) for name in names}
    wide = max(map(len, shares.values()))
    others = {name: _other_cost(result, name) for name in names}
    of = f"of predictions{'' if ranked else ', not ranked'}"
    second = any(others.values()) and result["oracles"] == result["whole"]
    head = f"{of:<{wide}} {'(second reading)' if second else ''}".rstrip()
    return [
        f"{REPAIRED:<{size}}{'ΔmAP':>6}   {head}",
        *(
            f"{f'  {_title(name)}':<{size}}{_gain(oracles[name]):>6}   {shares[name]:<{wide}} "
            f"{others[name]}".rstrip()
            for name in names
        ),
        "  " + GAP.join(f"{words} {_gain(oracles[name])}" for name, words in TOTAL_WORDS.items()),
    ]


def _meaning(result: Result) -> str:
    """Say how much of the loss is near in meaning."""
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
    """Say how many of the predictions, or of the annotations, an error takes."""
    counted = error_count(result, name)
    if counted is None:
        return ""
    if name == "missed_gt":
        return f"{counted[0]:,} of {counted[1]:,} annotated"
    return f"{percent(ratio(*counted)):>6} %"


def _other_cost(result: Result, name: str) -> str:
    """Set the cost by the second reading, or with all images, where it is another."""
    gain, whole = (_gain(result[key][name]) for key in ("oracles", "whole"))
    if whole != gain:
        return f"({whole} in all images)"
    second = _gain(result.get("localised", {}).get(name, result["oracles"][name]))
    if second == gain:
        return ""
    how = LOCALISED[name].title
    return f"({second} {how if how.startswith('with') else f'on {how}'})"


def _gain(outcome: Result) -> str:
    return percent(outcome["delta_map"]["full"], signed=True)


def _parts_in_words(result: Result) -> list[str]:
    """Say how the halves of the detector do alone."""
    pairs = result["pairs"]
    listed = "Pairs" if pairs["source"] == "pairs" else "Pairs of the triplets"
    per_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} per image"
    return [
        f"{listed}: recall {percent(pairs['recall'])}, precision {percent(pairs['precision'])}"
        f"{per_image}",
        f"rejecting other pairs: AP {percent(result['negatives']['ap'])}",
        f"actions on found pairs: mAP {percent(result['actions']['map'])}",
    ]


def heading(result: Result) -> str:
    """Name the detector and the data set, and what it was evaluated on where not on all of it."""
    name = f"{result['label'] or 'Predictions'} on {printed_name(result['dataset'])}"
    return ", ".join(filter(None, (name, coverage_words(result), result.get("other_split"))))


def counts_line(result: Result) -> str:
    """Say how many images and triplets count, and over how many classes mAP is the mean."""
    counts = result["counts"]
    own, official = (classes_in(result, f"classes_in_{mean}") for mean in ("mean", "official"))
    other = f" ({official.split()[0]} in the official mAP)" if official not in ("", own) else ""
    mean = f"{own}{other}, " if own else ""
    return (
        f"{number_of('image', counts['images'])}, {mean}{counts['annotated_triplets']:,} annotated "
        f"and {number_of('predicted triplet', counts['predicted_triplets'])}"
    )


def report_tables(result: Result) -> tuple[Table, Table, Table]:
    """Make the tables of the report: mAP, errors, and the parts of the detector alone."""
    return _mean_ap(result), _errors(result), _parts(result)


def split_titles(result: Result) -> dict[str, str]:
    """Titles of the groups of classes that the result holds, by their keys."""
    return {split: TITLES.get(split, split) for split in result["map"]}


def _mean_ap(result: Result) -> Table:
    splits = split_titles(result)
    known_object = result["official"].get("known_object")
    remarks = [known_object_remark(known_object["source"])] if known_object is not None else []
    return text_table(
        "mAP, %",
        list(splits.values()),
        _rows(result, "map"),
        caption="\n".join((*remarks, *_levels_remark(result))),
        widths=[SPLIT] * len(splits),
    )


def _rows(result: Result, report: str) -> list[Row]:
    """Make a row of each number that a table of the report shows."""
    splits, interactions = split_titles(result), only_interactions(result)
    rows = []
    for measure in MEASURES.values():
        if measure.report != report or not measure.is_in(result):
            continue
        title = measure.named(measure.title, result)
        if interactions and measure.table == "official":
            title += " (interactions)"
        with_number = measure.splits(splits)
        cells = (
            shown(measure.value(result, split), measure.unit) if split in with_number else ""
            for split in splits
        )
        rows.append(text_row(title, *cells, indented=measure.indented))
    return rows


def _levels_remark(result: Result) -> Iterator[str]:
    """Say why mAP, ranked perfectly, exceeds the highest recalls, where it does."""
    best, recalls = result.get("ranking", {}).get("map_best_order", {}), result["max_recall"]
    kind = choices_of(result["protocol"]["signature"]).get("AP", "")
    levels = kind.removesuffix("-point")
    if levels.isdigit() and any(
        recall is not None and (best.get(split) or 0) > recall for split, recall in recalls.items()
    ):
        yield (
            f"If ranked perfectly: can exceed the highest recalls, as AP reads {levels} levels of "
            f"recall, of which a recall of 0.5 reaches {int(levels) // 2 + 1}."
        )


def _errors(result: Result) -> Table:
    splits = split_titles(result)
    blank = [""] * len(splits)
    found = _count(result, "true_positive")
    groups = [[text_row("True positive", *found, *blank, key="true_positive")]]
    caption = "Share of the predictions; of the annotations for missed and false negative."
    if "localised" in result:
        caption += (
            f"\nAttempts, found pairs, lost pairs: a second reading, in which {OWN_ATTEMPT}, and "
            "an annotated triplet whose pair no prediction localises is missed, not a wrong action."
        )
        if by_person(result):
            caption += f"\nThere {OWN_OBJECT}."
    for name, outcome in result["oracles"].items():
        if name == "false_positive":
            if "ignored" in result["errors"]:
                ignored = shown(result["errors"]["ignored"], "count")
                groups[-1].append(text_row("Ignored", ignored, "", *blank))
                caption += (
                    "\nIgnored: of people without annotated actions; not among the predictions."
                )
            groups.append([])
        title = _title(name)
        delta = (percent(outcome["delta_map"][split], signed=True) for split in splits)
        groups[-1].append(text_row(title, *_count(result, name), *delta, key=name))
        if name in result.get("localised", {}):
            other = result["localised"][name]["delta_map"]
            delta = (percent(other[split], signed=True) for split in splits)
            found = _lost(result) if name == "missed_gt" else ("", "")
            groups[-1].append(text_row(LOCALISED[name].title, *found, *delta, indented=True))
    leave, also = (result["counts"].get(f"leave_mean{by}", {}) for by in ("", "_by_pair"))
    named = [
        f"{title} {_classes(left[name], splits)}"
        for name in result["oracles"]
        for title, left in (
            (_title(name), leave),
            (f"{_title(name)} {LOCALISED[name].title}" if name in also else "", also),
        )
        if name in left
    ]
    if named:
        caption += (
            "\nClasses that a repair leaves without annotated triplets leave the mean, which is "
            f"part of the gain: {', '.join(named)}."
        )
    if means_found_classes(result):
        caption += f"\n{CHANGED}"
    return text_table(
        "Errors",
        ["Count", "Share, %", *(f"ΔmAP\n{title}" for title in splits.values())],
        *groups,
        caption=caption,
        widths=[COUNT, COUNT, *[SPLIT] * len(splits)],
    )


def _classes(left: Mapping[str, int], splits: Mapping[str, str]) -> str:
    """Say how many classes there are, and of which splits: ``3 classes (1 rare, 2 non-rare)``."""
    parts = {
        title.lower(): left[split]
        for split, title in splits.items()
        if split != "full" and left.get(split)
    }
    if list(parts.values()) == [left["full"]]:
        return number_of(f"{next(iter(parts))} class", left["full"])
    more = ", ".join(f"{number} {title}" for title, number in parts.items())
    return number_of("class", left["full"]) + (f" ({more})" if more else "")


def _title(oracle: str) -> str:
    return ORACLES[oracle].title if oracle in ORACLES else oracle


def _count(result: Result, name: str) -> tuple[str, str]:
    """Show how many there are of an error, and their share; nothing for a user's own oracle."""
    counted = error_count(result, name)
    return ("", "") if counted is None else (shown(counted[0], "count"), percent(ratio(*counted)))


def _lost(result: Result) -> tuple[str, str]:
    """Show how many triplets the second reading calls missed, and their share."""
    lost, annotated = result["lost"]["triplets"], result["counts"]["annotated_triplets"]
    return shown(lost, "count"), percent(ratio(lost, annotated))


def _parts(result: Result) -> Table:
    splits = split_titles(result)
    remarks = [PRECISION] if len(splits) > 1 else []
    remarks.append(actions_remark([result]))
    if by_person(result):
        remarks.append(f"Actions: {LEFT_OUT}.")
    return text_table(
        "Pairs, negatives, actions, %",
        list(splits.values()),
        _rows(result, "parts"),
        caption="\n".join(filter(None, remarks)),
        widths=[SPLIT] * len(splits),
    )


def pairs_line(result: Result) -> str:
    """Say how many pairs there are, and where they come from."""
    pairs = result["pairs"]
    per_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} per image"
    source = "as listed" if pairs["source"] == "pairs" else "those of the triplets"
    number = number_of("predicted pair", result["counts"]["predicted_pairs"])
    negatives = result["negatives"]["negatives"]
    line = f"{number}{per_image}, {source}; {negatives:,} are negatives."
    if pairs["precision"] is None:
        return line
    predicted = result["counts"]["predicted_pairs"]
    credited = round(pairs["precision"] * predicted)
    return (
        f"{line}\nThe other {predicted - negatives:,} localise annotated pairs. Each annotated "
        f"pair credits the first: {credited:,} are credited, and count in precision."
    )

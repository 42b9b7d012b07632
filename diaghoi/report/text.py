"""The report that a terminal shows and a log file keeps: at most 80 columns, no colour needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

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
    publishes_negatives,
)
from diaghoi.data.arrays.division import ratio
from diaghoi.data.protocol import choices_of, phrases_of
from diaghoi.data.table import Row, Table, percent, shown, text_row, text_table
from diaghoi.data.vocabulary import printed_name
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import number_of
from diaghoi.oracles import LOCALISED, ORACLES
from diaghoi.oracles.localised import LEFT_OUT, OWN_ATTEMPT, OWN_OBJECT
from diaghoi.report.extras import extra_tables
from diaghoi.report.terminal import print_line, print_table, wrapped
from diaghoi.report.verdict import headline, verdict

# Letters that counts and means take at least, so that the splits of all tables line up.
COUNT, SPLIT = 10, 9
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
    for line in wrapped([f"Protocol {protocol['name']}: {choices[0]}", *choices[1:]], console):
        print_line(console, line)
    for note in result["notes"] if notes else []:
        print_line(console, f"Note: {note}")


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

    def row(name: str, scores: Mapping[str, float | None], *, indented: bool = False) -> Row:
        return text_row(name, *(percent(scores.get(split)) for split in splits), indented=indented)

    rows = [row(name, scores, indented=inside) for name, scores, inside in _official(result)]
    rows.append(row(f"Protocol {result['protocol']['name']}", result["map"]))
    rows.append(row("mean of the highest recalls", result["max_recall"], indented=True))
    if "ranking" in result:
        rows.append(row("if ranked perfectly", result["ranking"]["map_best_order"], indented=True))
    known_object = result["official"].get("known_object")
    remarks = [known_object_remark(known_object["source"])] if known_object is not None else []
    return text_table(
        "mAP, %",
        list(splits.values()),
        rows,
        caption="\n".join((*remarks, *_levels_remark(result))),
        widths=[SPLIT] * len(splits),
    )


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


def _official(result: Result) -> Iterator[tuple[str, Mapping[str, float | None], bool]]:
    """Name the figures of the benchmark, of HICO-DET's two settings or of V-COCO.

    With each, whether it belongs to the one before.
    """
    official = result["official"]
    classes = " (interactions)" if only_interactions(result) else ""
    for key, name in (("default", "Default"), ("known_object", "Known Object")):
        if key in official:
            yield f"Official, {name}{classes}", official[key], False
    if "agent" in official:
        yield "Official, agent", {"full": official["agent"]["ap"]}, False
    for key in ("scenario_1", "scenario_2"):
        if key in official:
            scores, roles = official[key], len(official[key]["classes"])
            name = key.replace("_", " ")
            yield f"Official, {name} ({roles} roles)", {"full": scores["ap"]}, False
            without = {"full": scores["ap_without_point"]}
            yield f"without point ({roles - 1} roles)", without, True


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
    pairs, negatives, actions = result["pairs"], result["negatives"], result["actions"]

    def by_split(name: str, part: Mapping[str, Any], key: str) -> Row:
        others = (part.get(split, {}).get(key) for split in splits if split != "full")
        return text_row(name, percent(part[key]), *map(percent, others))

    def single(name: str, value: float | None, *, indented: bool = False) -> Row:
        blank = [""] * (len(splits) - 1)
        return text_row(name, percent(value), *blank, indented=indented)

    per_category = []
    # Results that were saved before this number was there do not have it.
    if "mean_object_recall" in pairs:
        name = "mean over object categories"
        per_category.append(single(name, pairs["mean_object_recall"], indented=True))
    remarks = [PRECISION] if len(splits) > 1 else []
    remarks.append(actions_remark([result]))
    if by_person(result):
        remarks.append(f"Actions: {LEFT_OUT}.")
    published = []
    if publishes_negatives(result):
        name = "as published (at most 91.82)"
        published.append(single(name, negatives["ap_published"], indented=True))
    return text_table(
        "Pairs, negatives, actions, %",
        list(splits.values()),
        [
            by_split("Pair recall", pairs, "recall"),
            by_split("Pair precision", pairs, "precision"),
            single("recall of human boxes", pairs["human_recall"], indented=True),
            single("recall of object boxes", pairs["object_recall"], indented=True),
            *per_category,
            single("Negatives: AP of rejecting other pairs", negatives["ap"]),
            *published,
            by_split("Actions: mAP on localised pairs", actions, "map"),
        ],
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
